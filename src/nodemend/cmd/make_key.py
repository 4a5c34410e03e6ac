"""`python -m nodemend.cmd.make_key NAME`: a new P-256 key and a request for NAME, both as PEM.

A separate program that the agent runs for a moment, so that the agent, which runs as long as its node, need
not load the libraries that create keys.
"""

import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def make(name: str) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.DNSName(name)])
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([]))
        .add_extension(names, critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return secret + request.public_bytes(Encoding.PEM)


if __name__ == "__main__":
    sys.stdout.buffer.write(make(sys.argv[1]))
