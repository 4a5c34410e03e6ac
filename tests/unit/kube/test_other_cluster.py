"""A connection to another cluster is made from a kubeconfig in memory, or refused with a reason."""

import base64
import json
from typing import Any

import pytest

from nodemend.kube.asyncio_runtime import AsyncioRuntime, run
from nodemend.kube.http_transport import HttpConnector
from nodemend.kube.outcome import Unsent
from nodemend.kube.ports import CannotConnect
from nodemend.kube.request import Method, Request


def a_kubeconfig(user: dict[str, Any], cluster: dict[str, Any]) -> str:
    # No process listens on port 1 of this machine.
    server = {"server": "https://127.0.0.1:1", **cluster}
    return json.dumps(
        {
            "clusters": [{"name": "c", "cluster": server}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    )


async def _ask(kubeconfig: str) -> object:
    runtime = AsyncioRuntime()
    transport = await HttpConnector(runtime).connect(kubeconfig)
    if isinstance(transport, CannotConnect):
        return transport
    try:
        return await transport.send(Request(Method.GET, "/version"), runtime.monotonic() + 5.0)
    finally:
        await transport.close()


def test_what_can_be_used_is_used() -> None:
    assert isinstance(run(_ask(a_kubeconfig({"token": "t"}, {}))), Unsent)


@pytest.mark.parametrize(
    ("user", "cluster", "why"),
    [
        ({"token": "t"}, {"certificate-authority-data": "not a certificate"}, "credentials"),
        ({"client-certificate-data": "no", "client-key-data": "no"}, {}, "credentials"),
        ({"token": "two words"}, {}, "token"),
        ({"exec": {"command": "/bin/true"}}, {}, "a program"),
    ],
)
def test_an_unusable_kubeconfig_is_reported_before_any_request(
    user: dict[str, str], cluster: dict[str, str], why: str
) -> None:
    def coded(said: dict[str, str]) -> dict[str, str]:
        return {
            key: base64.b64encode(value.encode()).decode() if key.endswith("-data") else value
            for key, value in said.items()
        }

    answer = run(_ask(a_kubeconfig(coded(user), coded(cluster))))

    assert isinstance(answer, CannotConnect)
    assert why in answer.why


HOSTILE = {
    "an open bracket": "https://[",
    "a port that is none": "https://c:port",
    "a port out of range": "https://c:99999",
    "a line break": "https://c\n:6443",
    "a NUL": "https://c\x00",
    "no end": "https://" + "a" * 5000,
    "a zone": "https://[fe80::1%25]:1",
    "a name that is no IDNA": "https://xn--a\u00df..b",
}


@pytest.mark.attack("S5")
@pytest.mark.parametrize("server", HOSTILE.values(), ids=HOSTILE)
def test_an_address_of_any_form_is_that_clusters_trouble_alone(server: str) -> None:
    answer = run(_ask(a_kubeconfig({"token": "t"}, {"server": server})))

    assert isinstance(answer, CannotConnect | Unsent)


@pytest.mark.attack("S5")
@pytest.mark.parametrize(
    "more",
    ["extra: !!timestamp x", "extra: !!int x", "extra: !!float []", "!!set {a}: b", "extra: !!binary '!'"],
)
def test_a_tag_is_refused_with_words(more: str) -> None:
    answer = run(_ask(f"{a_kubeconfig({'token': 't'}, {})[:-1]}, {more}}}"))

    assert isinstance(answer, CannotConnect)
    assert "tag" in answer.why or "no YAML" in answer.why


@pytest.mark.attack("S5")
def test_any_exception_from_reading_a_kubeconfig_is_reported() -> None:
    class Odd(str):
        __slots__ = ()

        def __len__(self) -> int:
            raise ArithmeticError

    answer = run(_ask(Odd("x")))

    assert answer == CannotConnect("it cannot be read (ArithmeticError)")
