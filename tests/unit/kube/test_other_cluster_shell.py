"""A way to another cluster is made from a kubeconfig in memory, or it is said why not."""

import base64
import json
from typing import Any

import pytest

from nodemend.kube.api_reply import Unsent
from nodemend.kube.api_request import Method, Request
from nodemend.kube.asyncio_shell import AsyncioRuntime, run
from nodemend.kube.other_cluster_shell import HttpConnector
from nodemend.kube.ports import CannotConnect


def a_kubeconfig(user: dict[str, Any], cluster: dict[str, Any]) -> str:
    # Nobody listens on the first port of this machine.
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
def test_what_cannot_be_used_is_told_before_anything_is_sent(
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
