"""Keys and requests as agents make them, and as they must not be made."""

from base64 import b64encode
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

AGENT_USAGES = ("digital signature", "client auth", "server auth")

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def make_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def pkcs10(
    *names: x509.GeneralName | str,
    key: Key | None = None,
    subject: x509.Name | None = None,
    also: tuple[x509.ExtensionType, ...] = (),
) -> bytes:
    """For these names; a plain string is a DNS name."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject or x509.Name([]))
    if names:
        named = [x509.DNSName(name) if isinstance(name, str) else name for name in names]
        builder = builder.add_extension(x509.SubjectAlternativeName(named), critical=False)
    for extension in also:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(key or make_key(), hashes.SHA256()).public_bytes(Encoding.PEM)


def signing_request(name: str, content: bytes, **spec: Any) -> dict[str, Any]:
    """The object that an agent creates."""
    wanted = {
        "request": b64encode(content).decode(),
        "signerName": "nodemend.io/agent",
        "usages": list(AGENT_USAGES),
    }
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": wanted | spec,
    }
