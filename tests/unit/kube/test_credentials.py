"""Connections that would leak or cannot work are refused; doubtful ones come with a caution."""

import pytest

from nodemend.kube.credentials import (
    Connection,
    CredentialsError,
    Endpoint,
    PemFile,
    StaticToken,
    TokenFile,
    checked,
    in_cluster,
)


def test_a_pod_finds_its_cluster_and_its_account() -> None:
    connection = in_cluster("10.0.0.1", "443", "/run/account")

    assert connection == Connection(
        Endpoint("https://10.0.0.1:443", PemFile("/run/account/ca.crt")), TokenFile("/run/account/token")
    )
    assert in_cluster("fd00::1", "443").endpoint.server == "https://[fd00::1]:443"


def test_outside_a_pod_that_is_said() -> None:
    with pytest.raises(CredentialsError, match="not in a cluster"):
        in_cluster("", "")


def test_an_unverified_server_comes_with_a_loud_caution() -> None:
    (caution,) = checked(Connection(Endpoint("https://c", verified=False))).cautions

    assert "insecure-skip-tls-verify" in caution
    assert "https://c" in caution


def test_a_verified_server_needs_no_caution() -> None:
    assert checked(Connection(Endpoint("https://c"))).cautions == ()


def test_plain_http_is_for_loopback_only() -> None:
    checked(Connection(Endpoint("http://127.0.0.1:8001")))
    with pytest.raises(CredentialsError, match="not encrypted"):
        checked(Connection(Endpoint("http://10.0.0.1:8001"), StaticToken("t")))


@pytest.mark.parametrize("server", ["", "10.0.0.1:443", "ftp://c", "https://"])
def test_an_invalid_address_is_refused(server: str) -> None:
    with pytest.raises(CredentialsError, match="is not an http or https address"):
        checked(Connection(Endpoint(server)))


def test_a_token_is_not_printed() -> None:
    assert "hush" not in repr(Connection(Endpoint("https://c"), StaticToken("hush")))
