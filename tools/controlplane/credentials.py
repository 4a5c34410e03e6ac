"""Credentials for the API server: static tokens, the key that signs service account tokens, kubeconfigs."""

import base64
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

# DER around the 32 bytes of a P-256 private key: ECPrivateKey { 1, key, prime256v1 } (RFC 5915).
_BEFORE_KEY = bytes.fromhex("30310201010420")
_AFTER_KEY = bytes.fromhex("a00a06082a8648ce3d030107")
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@dataclass(frozen=True, slots=True)
class User:
    """An account that proves itself by a static token."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)


def signing_key() -> str:
    """A fresh P-256 private key in PEM, as kube-apiserver takes it for service accounts. Needs no openssl."""
    key = secrets.randbelow(_P256_ORDER - 1) + 1
    text = base64.encodebytes(_BEFORE_KEY + key.to_bytes(32, "big") + _AFTER_KEY).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{text}-----END EC PRIVATE KEY-----\n"


def token_file(users: Iterable[User]) -> str:
    """The content of kube-apiserver's --token-auth-file."""
    return "".join(f'{user.token},{user.name},{user.name},"{",".join(user.groups)}"\n' for user in users)


def kubeconfig(server: str, ca: Path, token: str) -> str:
    """A kubeconfig that stands alone: it carries the CA. JSON, which every YAML reader reads."""
    authority = base64.b64encode(ca.read_bytes()).decode()
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "test", "cluster": {"server": server, "certificate-authority-data": authority}}
            ],
            "users": [{"name": "test", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        },
        indent=2,
    )


def write_secret(file: Path, content: str) -> Path:
    """Write a file that only the current user can read."""
    file.touch(mode=0o600)
    file.write_text(content)
    return file
