"""The signer's keys and certificates, with the library `cryptography`.

No other module of the controllers imports that library: it is an extra of the package
(`nodemend[certificates]`).
"""

from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from nodemend.api.agent import KeyPair, certified_name
from nodemend.signer.decide import Authority, RequestContent, UnreadableRequest, Window


def _key_usage(*, digital_signature: bool = False, key_cert_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


_DECODE_ERRORS: Final = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""Exceptions that the library raises for an invalid request."""
_KINDS: Final[tuple[tuple[type[x509.GeneralName], str], ...]] = (
    (x509.DNSName, "DNS"),
    (x509.IPAddress, "IP"),
    (x509.RFC822Name, "email"),
    (x509.UniformResourceIdentifier, "URI"),
    (x509.DirectoryName, "directory"),
    (x509.RegisteredID, "ID"),
    (x509.OtherName, "other"),
)
_CURVES: Final = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
_PURPOSES: Final = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH])
_EXTENSION_REQUEST: Final = x509.ObjectIdentifier("1.2.840.113549.1.9.14")
"""The attribute that holds the extensions."""
_SIGNED_OVER: Final = _key_usage(digital_signature=True)
_SIGNS_CERTIFICATES: Final = _key_usage(key_cert_sign=True)


class CryptographySigner:
    """Makes keys from its own randomness. It reads no clock: times are seconds since 1970, passed in."""

    def make_authority(self, window: Window) -> KeyPair:
        """Make a CA that can certify agents' names only, and no CA below itself."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject_key = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        # Two CAs may be trusted together, so each has its own name.
        words = f"Nodemend agents {subject_key.digest.hex()[:12]}"
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, words)])
        agents = x509.NameConstraints([x509.DNSName(certified_name("").removeprefix("."))], None)
        made = (
            _begin(name, window)
            .issuer_name(name)
            .public_key(key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_SIGNS_CERTIFICATES, critical=True)
            .add_extension(agents, critical=True)
            .add_extension(subject_key, critical=False)
            .sign(key, hashes.SHA256())
        )
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return KeyPair(certificate=_text(made), key=secret.decode())

    def describe(self, certificate: str) -> Authority:
        """Return the certificate's fingerprint and validity. Raises ValueError if it is not a certificate."""
        found = x509.load_pem_x509_certificate(certificate.encode())
        begins, ends = found.not_valid_before_utc, found.not_valid_after_utc
        return Authority(found.fingerprint(hashes.SHA256()).hex(), begins.timestamp(), ends.timestamp())

    def fingerprints(self, bundle: str) -> frozenset[str]:
        """Return the fingerprints of all certificates in a PEM text. Raises ValueError for other content."""
        found = x509.load_pem_x509_certificates(bundle.encode()) if bundle else []
        # The parser skips text between certificates; encoding them again reveals it.
        if "".join(_text(one) for one in found) != bundle:
            raise ValueError("the bundle contains something that is not a certificate")
        return frozenset(one.fingerprint(hashes.SHA256()).hex() for one in found)

    def read(self, request: bytes) -> RequestContent | UnreadableRequest:
        """Return what a PEM-encoded PKCS#10 request asks for."""
        try:
            found = x509.load_pem_x509_csr(request)
            return RequestContent(
                names=_names(found),
                subject=found.subject.rfc4514_string(),
                key=_kind_of_key(found),
                proven=found.is_signature_valid,
                also=_also(found),
            )
        except _DECODE_ERRORS as error:
            return UnreadableRequest(f"{type(error).__name__}: {str(error).partition('. ')[0][:200]}")

    def certify(self, request: bytes, name: str, window: Window, by: KeyPair) -> str:
        """Return a certificate for the key of this request and for this name; all else in it is ignored.

        Raises ValueError if `read` returns UnreadableRequest for it.
        """
        authority = x509.load_pem_x509_certificate(by.certificate.encode())
        key = load_pem_private_key(by.key.encode(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the authority's key is not an EC key, the only type that Nodemend makes")  # noqa: TRY004 - a bad value, not a bad type
        issuer_key = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        made = (
            _begin(x509.Name([]), window)
            .issuer_name(authority.subject)
            .public_key(x509.load_pem_x509_csr(request).public_key())
            # The subject is empty, so the SAN is the only name and must be critical.
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_SIGNED_OVER, critical=True)
            .add_extension(_PURPOSES, critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_key), critical=False
            )
            .sign(key, hashes.SHA256())
        )
        return _text(made)


def _begin(subject: x509.Name, window: Window) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.fromtimestamp(window.begins, UTC))
        .not_valid_after(datetime.fromtimestamp(window.ends, UTC))
    )


def _text(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _names(request: x509.CertificateSigningRequest) -> tuple[tuple[str, str], ...]:
    found = [one.value for one in request.extensions if isinstance(one.value, x509.SubjectAlternativeName)]
    return tuple((_kind_of_name(name), str(name.value)) for names in found for name in names)


def _kind_of_name(name: x509.GeneralName) -> str:
    return next((token for kind, token in _KINDS if isinstance(name, kind)), type(name).__name__)


def _also(request: x509.CertificateSigningRequest) -> tuple[str, ...]:
    """Return all extensions and attributes except the names, by OID."""
    extensions = [
        f"extension {one.oid.dotted_string}"
        for one in request.extensions
        if not isinstance(one.value, x509.SubjectAlternativeName)
    ]
    attributes = [
        f"attribute {one.oid.dotted_string}" for one in request.attributes if one.oid != _EXTENSION_REQUEST
    ]
    return (*extensions, *attributes)


def _kind_of_key(request: x509.CertificateSigningRequest) -> str:
    match request.public_key():
        case ec.EllipticCurvePublicKey(curve=curve):
            return _CURVES.get(curve.name, curve.name)
        case rsa.RSAPublicKey(key_size=size):
            return f"RSA {size}"
        case dsa.DSAPublicKey(key_size=size):
            return f"DSA {size}"
        case ed25519.Ed25519PublicKey():
            return "Ed25519"
        case ed448.Ed448PublicKey():
            return "Ed448"
        case other:
            return type(other).__name__
