"""`python -m bench.agent_footprint [SECONDS]`: the running agent and feeder as shipped, and their cost.

Real agents on the real API server, with lists of 15 peers and queries from them. The limit applies to
resident memory (RSS): on a node no other process shares the agent's pages, so pages that are shared here
would be private there. Its traffic is counted on the wire, including TLS.
"""

import asyncio
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench.process_costs import cpu_of, memory_of
from controlplane.api import Object
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from host_program.footprint import measure, pythons
from nodemend.agent.peer_http import TlsPeerClient, client_tls
from nodemend.api.agent import PeerEntry, certified_name
from nodemend.api.well_known import AGENT_REPORT, KUBELET_LEASE_NAMESPACE
from nodemend.cmd.agent import PAIR
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.protocol.peers import CertificateTrust, PeerReply
from tests.e2e.agent_nodes.agent_node import AgentNode, annotations_of, furnish
from tests.e2e.agent_nodes.counting_proxy import CountingProxy
from tests.unit.agent.certificates import Authority

MOST_MEGABYTES: Final = 45
MOST_FEEDER_MEGABYTES: Final = 10
SECONDS: Final = 60.0
AGENTS: Final = 3
PEERS: Final = 15
QUESTIONS: Final = 20
KUBELET_EVERY: Final = 10.0
"""Default seconds between a kubelet's renewals of its Lease."""


def main(arguments: list[str]) -> int:
    seconds = float(arguments[0]) if arguments else SECONDS
    with tempfile.TemporaryDirectory(prefix="nodemend-agents-") as name, ExitStack() as owned:
        plane = owned.enter_context(ControlPlane(Settings(controller_manager=False, scheduler=False)))
        furnish(plane)
        authority = Authority(Path(name))
        proxy = owned.enter_context(CountingProxy(plane.port))
        nodes = [
            AgentNode(plane, f"n{number}", Path(name) / f"n{number}", authority) for number in range(AGENTS)
        ]
        nodes[0].environment = {"KUBERNETES_SERVICE_PORT": str(proxy.port)}
        for node in nodes:
            owned.callback(node.end)
            node.start()
        introduce(nodes)
        resident = observe(nodes, proxy, seconds)
    # One after another: the result is the larger of those for each Python.
    feeder = max(kibibytes for kibibytes, _ in map(measure, pythons())) * 1024
    agent, feeds = resident / 1e6, feeder / 1e6
    print(
        f"agent-footprint: agent {agent:.1f} MB resident (at most {MOST_MEGABYTES}),"
        f" feeder {feeds:.1f} MB (at most {MOST_FEEDER_MEGABYTES})"
    )
    return 0 if agent <= MOST_MEGABYTES and feeds <= MOST_FEEDER_MEGABYTES else 1


def introduce(nodes: list[AgentNode]) -> None:
    """Each gets a list of 15: the existing ones, and names without a listener."""
    for node in nodes:
        wait_until(f"{node.name} is published", lambda node=node: node.lease() is not None, within=60)  # type: ignore[misc]
    known = [PeerEntry(name=node.name, address=node.address) for node in nodes]
    for node in nodes:
        listed = [{"name": one.name, "address": one.address} for one in known if one.name != node.name]
        missing = PEERS - len(listed)
        listed += [
            {"name": f"worker-{number:04}", "address": f"198.18.0.{number}:9771"} for number in range(missing)
        ]
        node.propose(json.dumps({"peers": listed}))
    for node in nodes:
        wait_until(f"{node.name} has its peers", lambda node=node: "worker-0001" in reported(node), within=60)  # type: ignore[misc]


def reported(node: AgentNode) -> str:
    return str(annotations_of(node.lease()).get(AGENT_REPORT, ""))


def observe(nodes: list[AgentNode], proxy: CountingProxy, seconds: float) -> int:
    """The resident bytes of the first one after it has run for a while."""
    first = nodes[0]
    assert first.process is not None
    pid = first.process.pid
    asyncio.run(ask(first, nodes[1], first.address))
    renewals, began, cpu = sequence(first), time.monotonic(), cpu_of(pid)
    before = proxy.counts
    time.sleep(seconds)
    passed = time.monotonic() - began
    sent, received = (after - was for after, was in zip(proxy.counts, before, strict=True))
    made = sequence(first) - renewals
    tell_cost(first, made, passed, (sent, received))
    print(f"CPU: {(cpu_of(pid) - cpu) / passed * 1000:.2f} ms a second")
    resident, peak = memory_of(pid)
    print(f"agent: RSS {resident / 1e6:.1f} MB, at most {peak / 1e6:.1f} MB, PSS {pss_of(pid) / 1e6:.1f} MB")
    return resident


async def ask(node: AgentNode, asker: AgentNode, address: str) -> None:
    """Query as a peer does that has lost the API server."""
    pair = str(asker.folder / "agent" / "tls" / PAIR)
    context = client_tls(pair, pair, str(asker.folder / "trust.crt"))
    runtime = AsyncioRuntime()
    peers = TlsPeerClient(asker.uid, asker.boot_id, runtime, lambda: context, lambda _: CertificateTrust.FULL)
    try:
        said = []
        for _ in range(QUESTIONS):
            entry = PeerEntry(name=node.name, address=address)
            said += [answer async for _, answer in peers.ask((entry,), runtime.monotonic() + 3.0)]
            await asyncio.sleep(1.0)
    finally:
        await peers.close()
    healthy = said.count(PeerReply.HEALTHY)
    print(f"asked {QUESTIONS} times by {certified_name(asker.name)}: {healthy} looked for it and said so")
    if healthy < QUESTIONS // 2:
        raise SystemExit("a peer that asks once a second is answered")


def sequence(node: AgentNode) -> int:
    return int(json.loads(reported(node))["sequence"])


def tell_cost(node: AgentNode, renewals: int, passed: float, counted: tuple[int, int]) -> None:
    """Compare with a kubelet's own Lease: an object as it writes one."""
    sent, received = (count / passed * 60 / 1e3 for count in counted)
    print(
        f"API: {renewals / passed * 60:.1f} renewals a minute, {sent:.1f} kB sent, {received:.1f} kB received"
        f" a minute; the Lease is {len(json.dumps(node.lease()))} bytes of JSON with {PEERS} peers"
    )
    theirs = len(json.dumps(kubelet_lease(node)))
    print(
        f"     a kubelet renews its own {60 / KUBELET_EVERY:.0f} times a minute; it is {theirs} bytes of JSON"
    )


def kubelet_lease(node: AgentNode) -> Object:
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
    renewed = "2026-01-01T00:00:00.000000Z"
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node.name, "namespace": KUBELET_LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {"holderIdentity": node.name, "leaseDurationSeconds": 40, "renewTime": renewed},
    }
    if node.plane.api.find(f"/api/v1/namespaces/{KUBELET_LEASE_NAMESPACE}") is None:
        namespace = {"name": KUBELET_LEASE_NAMESPACE}
        node.plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace})
    return node.plane.api.create(lease)


def pss_of(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
