"""A kubeconfig from a Secret: the fields that are used, and what a Secret must not cause."""

import base64
import json
from typing import Any

import pytest

from nodemend.kube.credentials import (
    ClientCertificate,
    Connection,
    CredentialsError,
    Endpoint,
    InlinePem,
    StaticToken,
)
from nodemend.kube.kubeconfig import LONGEST, read_foreign_kubeconfig

_PEM = base64.b64encode(b"PEM").decode()
_HIDDEN = "s3cret"


def a_kubeconfig(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": "https://c:6443", **(cluster or {})}}],
            "users": [{"name": "u", "user": {"token": _HIDDEN} if user is None else user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    )


def test_a_token_and_an_authority_in_the_text_are_taken() -> None:
    connection = read_foreign_kubeconfig(a_kubeconfig(cluster={"certificate-authority-data": _PEM}))

    assert connection == Connection(Endpoint("https://c:6443", InlinePem(b"PEM")), StaticToken(_HIDDEN))


def test_a_client_certificate_in_the_text_is_taken() -> None:
    user = {"client-certificate-data": _PEM, "client-key-data": _PEM}

    connection = read_foreign_kubeconfig(a_kubeconfig(user))

    assert connection.client == ClientCertificate(InlinePem(b"PEM"), InlinePem(b"PEM"))


@pytest.mark.parametrize(
    ("user", "cluster", "why"),
    [
        ({"exec": {"command": "/bin/sh", "apiVersion": "any"}}, {}, "a program"),
        ({"exec": {"command": "/bin/sh"}, "token": _HIDDEN}, {}, "a program"),
        ({"auth-provider": {"name": "gcp"}}, {}, "a program"),
        ({"tokenFile": "/var/run/secrets/token"}, {}, "names files"),
        ({"client-certificate": "/a.crt", "client-key-data": _PEM}, {}, "names files"),
        ({"client-certificate-data": _PEM, "client-key": "/a.key"}, {}, "names files"),
        (None, {"certificate-authority": "/etc/ca.crt"}, "names files"),
        (None, {"certificate-authority": "/ca", "certificate-authority-data": _PEM}, "names files"),
        (None, {"proxy-url": f"http://me:{_HIDDEN}@proxy"}, "a proxy"),
        (None, {"insecure-skip-tls-verify": True}, "verification"),
        (None, {"server": "http://127.0.0.1:8080"}, "without encryption"),
        (None, {"server": f"https://me:{_HIDDEN}@c"}, "a password"),
        (None, {"server": ""}, "without encryption"),
        ({"token": _HIDDEN, "as": "root"}, {}, "impersonation"),
        ({"username": "me", "password": _HIDDEN}, {}, "username"),
        (None, {"certificate-authority-data": f"{_HIDDEN}!"}, "not base64"),
    ],
)
def test_a_secret_with_dangerous_settings_is_refused(
    user: dict[str, Any] | None, cluster: dict[str, Any], why: str
) -> None:
    with pytest.raises(CredentialsError, match=why) as refused:
        read_foreign_kubeconfig(a_kubeconfig(user, cluster))

    assert _HIDDEN not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no context"),
        ("just words", "no kubeconfig"),
        (f"token: {_HIDDEN}: [", "no YAML"),
        (f"a: 2024-13-45 # {_HIDDEN}", "no YAML"),
        ("a: " + "1" * 5000, "no YAML"),
        ("clusters: 3", "no kubeconfig"),
        ("\0", "no YAML"),
        ("current-context: x", "context"),
        ("a: &a [1]\nb: *a", "aliases"),
        ("- " * 30_000, "deeper"),
        ("[" * 30_000, "deeper"),
        ("x" * (LONGEST + 1), "longer"),
    ],
)
def test_an_invalid_kubeconfig_is_refused_without_showing_its_content(text: str, why: str) -> None:
    with pytest.raises(CredentialsError, match=why) as refused:
        read_foreign_kubeconfig(text)

    assert _HIDDEN not in str(refused.value)
