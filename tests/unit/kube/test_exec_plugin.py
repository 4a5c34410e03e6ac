"""The input of credential plugins, and what is used of their output."""

from datetime import UTC, datetime

import msgspec
import pytest

from nodemend.kube.credentials import (
    Endpoint,
    ExecPlugin,
    PluginCredential,
    PluginFailure,
    read_output,
    written_input,
)

V1 = "client.authentication.k8s.io/v1"
PLUGIN = ExecPlugin(V1, "get-token")
ENDPOINT = Endpoint("https://c", server_name="name", verified=False)


def _output(api_version: str = V1, kind: str = "ExecCredential", **status: object) -> bytes:
    return msgspec.json.encode({"apiVersion": api_version, "kind": kind, "status": status})


def test_a_plugin_gets_the_information_that_there_is_no_terminal() -> None:
    reported = msgspec.json.decode(written_input(PLUGIN, ENDPOINT, b"ca"))

    assert reported == {"apiVersion": V1, "kind": "ExecCredential", "spec": {"interactive": False}}


def test_a_plugin_that_requests_cluster_info_gets_it() -> None:
    config = msgspec.Raw(b'{"region":"x"}')
    plugin = ExecPlugin(V1, "p", provide_cluster_info=True, cluster_config=config)
    reported = msgspec.json.decode(written_input(plugin, ENDPOINT, b"ca"))

    assert reported["spec"]["cluster"] == {
        "server": "https://c",
        "tls-server-name": "name",
        "certificate-authority-data": "Y2E=",
        "insecure-skip-tls-verify": True,
        "config": {"region": "x"},
    }


def test_a_token_with_its_expiry_is_taken() -> None:
    output = _output(token="t", expirationTimestamp="2026-11-15T04:00:00Z")  # noqa: S106

    assert read_output(PLUGIN, output) == PluginCredential(
        token="t",  # noqa: S106
        expires=datetime(2026, 11, 15, 4, tzinfo=UTC),
    )


def test_a_client_certificate_is_taken() -> None:
    output = _output(clientCertificateData="CERT", clientKeyData="KEY")

    assert read_output(PLUGIN, output) == PluginCredential(certificate=b"CERT", key=b"KEY")


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (b"Logged in!", "printed no ExecCredential"),
        (_output(api_version="client.authentication.k8s.io/v1beta1", token="t"), "v1beta1"),  # noqa: S106
        (_output(kind="Secret", token="t"), "Secret"),  # noqa: S106
        (_output(), "neither a token nor a client certificate"),
        (_output(clientCertificateData="C"), "without its key"),
        (_output(token="t", expirationTimestamp="2026-11-15T04:00:00"), "time zone"),  # noqa: S106
        (_output(token="t", expirationTimestamp="tomorrow"), "printed no ExecCredential"),  # noqa: S106
    ],
)
def test_anything_else_is_a_failure_that_names_the_plugin(output: bytes, why: str) -> None:
    failure = read_output(PLUGIN, output)

    assert isinstance(failure, PluginFailure)
    assert "get-token" in failure.why
    assert why in failure.why


def test_secrets_are_not_printed() -> None:
    assert "hush" not in repr(read_output(PLUGIN, _output(token="hush")))  # noqa: S106
    assert "hush" not in str(read_output(PLUGIN, _output(api_version="x", token="hush")))  # noqa: S106
