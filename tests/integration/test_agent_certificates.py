"""Two agents on a real API server, from their first key to TLS between them."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from controlplane import credentials
from nodemend.agent.certificates import CertificateHeld, NoBundle
from nodemend.agent.certificates_io import CertificateFiles, CertificateLoop, make_key_in_child, shake_hands
from nodemend.api.agent import certified_name
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.kube.credentials_io import LiveCredentials, find_connection
from nodemend.kube.http_transport import HttpTransport
from tests.e2e.refusals.agent_cluster import NODES, TRUST, AgentCluster, agent_cluster

pytestmark = pytest.mark.real

WITHIN = 60.0


@asynccontextmanager
async def agent(cluster: AgentCluster, node: str, folder: Path) -> AsyncIterator[CertificateFiles]:
    """Yield the agent's files while its loop runs with the token of its pod."""
    runtime = AsyncioRuntime()
    kubeconfig = folder / f"{node}.kubeconfig"
    token = cluster.tokens[node]
    credentials.write_secret(kubeconfig, credentials.kubeconfig(cluster.plane.url, cluster.plane.ca, token))
    transport = HttpTransport(LiveCredentials(find_connection({}, str(kubeconfig), ""), runtime), runtime)
    files = CertificateFiles(
        node, str(folder / f"{node}.pem"), str(folder / "ca.crt"), runtime.monotonic, time.time
    )
    loop = CertificateLoop(
        node=node, runtime=runtime, transport=transport, files=files, make_key=make_key_in_child
    )
    task = asyncio.create_task(loop.run())
    try:
        yield files
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await transport.close()


async def held(files: CertificateFiles) -> CertificateHeld:
    async with asyncio.timeout(WITHIN):
        while not isinstance(found := files.read_status(), CertificateHeld):  # noqa: ASYNC110 - a file cannot notify
            await asyncio.sleep(0.2)
    return found


def test_two_agents_get_their_own_names_and_accept_each_other(tmp_path: Path) -> None:
    async def story(cluster: AgentCluster) -> None:
        first, second = NODES
        async with agent(cluster, first, tmp_path) as one, agent(cluster, second, tmp_path) as other:
            assert one.read_status() == NoBundle()
            # The kubelet does this with the ConfigMap.
            (tmp_path / "ca.crt").write_text(cluster.plane.api.get(TRUST)["data"]["ca.crt"])
            for files in (one, other):
                assert (await held(files)).life <= 86400
            for asks, answers, name in ((one, other, second), (other, one, first)):
                shown = shake_hands(answers.server_tls(), asks.client_tls(), certified_name(name))
                assert shown["subjectAltName"] == (("DNS", certified_name(name)),)

    with agent_cluster() as cluster:
        asyncio.run(story(cluster))
