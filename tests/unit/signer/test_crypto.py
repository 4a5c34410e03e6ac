"""Parsing of untrusted requests, and the certificates that the signer makes from them."""

import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from nodemend.signer.crypto import CryptographySigner
from nodemend.signer.decide import RequestContent, UnreadableRequest, Window
from tests.unit.signer.requests import make_key, pkcs10

CERTIFICATE_SIGNER = CryptographySigner()
OWN = "node-1.agent.nodemend.io"
WINDOW = Window(1_800_000_000, 1_800_086_400)


def test_a_plain_request_is_read_as_it_is() -> None:
    assert CERTIFICATE_SIGNER.read(pkcs10(OWN)) == RequestContent(
        names=(("DNS", OWN),), subject="", key="P-256", proven=True
    )


def test_names_of_every_kind_are_seen() -> None:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
    others = (
        x509.UniformResourceIdentifier("spiffe://x"),
        x509.RFC822Name("a@example.com"),
        x509.DirectoryName(name),
        x509.RegisteredID(x509.ObjectIdentifier("1.2.3")),
        x509.OtherName(x509.ObjectIdentifier("1.2.3"), b"\x0c\x01x"),
    )
    asked = CERTIFICATE_SIGNER.read(pkcs10(OWN, *others, subject=name))
    assert isinstance(asked, RequestContent)
    assert [kind for kind, _ in asked.names] == ["DNS", "URI", "email", "directory", "ID", "other"]
    assert asked.subject == "CN=x"


@pytest.mark.parametrize(
    ("key", "kind"),
    [(ec.generate_private_key(ec.SECP384R1()), "P-384"), (rsa.generate_private_key(65537, 2048), "RSA 2048")],
)
def test_keys_are_called_by_their_names(
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, kind: str
) -> None:
    asked = CERTIFICATE_SIGNER.read(pkcs10(OWN, key=key))
    assert isinstance(asked, RequestContent)
    assert asked.key == kind


def test_additional_extensions_and_attributes_are_reported() -> None:
    authority = x509.BasicConstraints(ca=True, path_length=None)
    asked = CERTIFICATE_SIGNER.read(pkcs10(OWN, also=(authority,)))
    assert isinstance(asked, RequestContent)
    assert asked.also == ("extension 2.5.29.19",)


def test_a_challenge_password_is_an_attribute_that_is_reported(tmp_path: Path) -> None:
    """The request is made by openssl, since programs other than the agent make requests, too."""
    config = tmp_path / "request.cnf"
    config.write_text(
        "[req]\nprompt=no\ndistinguished_name=dn\nattributes=attrs\n[dn]\nCN=x\n[attrs]\nchallengePassword=secret\n"
    )
    words = "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out request.pem"
    command = ["openssl", *words.split(), "-config", str(config)]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    asked = CERTIFICATE_SIGNER.read((tmp_path / "request.pem").read_bytes())
    assert isinstance(asked, RequestContent)
    assert asked.also == ("attribute 1.2.840.113549.1.9.7",)


def test_a_request_for_anothers_key_is_not_proven() -> None:
    content = bytearray(x509.load_pem_x509_csr(pkcs10(OWN)).public_bytes(Encoding.DER))
    content[-1] ^= 1
    asked = CERTIFICATE_SIGNER.read(x509.load_der_x509_csr(bytes(content)).public_bytes(Encoding.PEM))
    assert isinstance(asked, RequestContent)
    assert not asked.proven


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a poem",
        b"-----BEGIN CERTIFICATE REQUEST-----\nroses\n-----END CERTIFICATE REQUEST-----\n",
        b"\xff",
    ],
)
def test_what_is_no_request_is_garbled(content: bytes) -> None:
    assert isinstance(CERTIFICATE_SIGNER.read(content), UnreadableRequest)


def test_only_the_key_of_a_request_goes_into_the_certificate() -> None:
    key = make_key()
    subject = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "system:masters")])
    authority = x509.BasicConstraints(ca=True, path_length=None)
    request = pkcs10("other.example.com", key=key, subject=subject, also=(authority,))
    made = CERTIFICATE_SIGNER.certify(request, OWN, WINDOW, CERTIFICATE_SIGNER.make_authority(WINDOW))
    certificate = x509.load_pem_x509_certificate(made.encode())
    assert certificate.public_key() == key.public_key()
    assert not certificate.subject
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert (names.critical, list(names.value)) == (True, [x509.DNSName(OWN)])
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert not constraints.ca
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature
    assert not usage.key_cert_sign
    assert certificate.not_valid_after_utc.timestamp() == WINDOW.ends


def test_an_authority_certifies_agents_and_nothing_else() -> None:
    pair = CERTIFICATE_SIGNER.make_authority(WINDOW)
    certificate = x509.load_pem_x509_certificate(pair.certificate.encode())
    limits = certificate.extensions.get_extension_for_class(x509.NameConstraints)
    assert limits.critical
    assert limits.value.permitted_subtrees == [x509.DNSName("agent.nodemend.io")]
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert (constraints.ca, constraints.path_length) == (True, 0)
    assert pair.key not in repr(pair)


def test_a_bundle_is_certificates_and_nothing_else() -> None:
    one, other = (CERTIFICATE_SIGNER.make_authority(WINDOW).certificate for _ in range(2))
    assert CERTIFICATE_SIGNER.fingerprints("") == frozenset()
    assert len(CERTIFICATE_SIGNER.fingerprints(one + other)) == 2
    for text in ("x", one + "x", "x" + one, one[:-1], one[:200]):
        with pytest.raises(ValueError, match=r".+"):
            CERTIFICATE_SIGNER.fingerprints(text)
