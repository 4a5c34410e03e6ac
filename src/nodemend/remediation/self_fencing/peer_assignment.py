"""Sweeps all agents periodically: proposes peers, and removes orphaned markers.

Agents are read page by page, so that not all Leases of a large cluster are in memory together. During a sweep
1.4 KB are kept per agent, of the 5 KB of a Lease with 15 peers.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from nodemend.api.agent import UNSUPPORTED, AgentReport, Marker, PeerEntry, PeerProposal
from nodemend.api.meta import KubernetesObject, Wire
from nodemend.api.resources import ENDPOINT_SLICE, LEASE, SELF_REMEDIATION, Resource
from nodemend.api.upstream_types import Lease
from nodemend.api.well_known import AGENT_NAMESPACE, CONTROL_PLANE_ROLES
from nodemend.guard.evaluator import VIEW_GOOD_FOR
from nodemend.guard.state import is_ready
from nodemend.kube.client import ApiClient, take_all
from nodemend.kube.outcome import Acknowledged, LeaseFound, Ok, Reason, Refused, WriteOutcome
from nodemend.kube.ports import Runtime
from nodemend.kube.request import EVERYTHING, Precondition, Request, Selection
from nodemend.kube.store import Store
from nodemend.protocol.peers import Peer, PeerCandidate, propose_peers
from nodemend.protocol.timing import pace_for
from nodemend.records.agent_lease import AgentLease, read_lease, revision_of, write_marker, write_proposal
from nodemend.records.live_reads import LiveReader, UnchangedTimer, node_facts
from nodemend.records.node import NodeRecord
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.lifecycle import OUR_TAINT
from nodemend.safety.time_proof import is_pinned

W = TypeVar("W", bound=Wire)
T = TypeVar("T")

READ_WITHIN: Final = 120.0
"""Seconds for one whole list: it may have 100,000 entries, and nothing waits for it."""
API_SERVICE: Final = "kubernetes"
API_NAMESPACE: Final = "default"
"""Every API server publishes its address there, unless it is configured not to."""
ZONE: Final = "topology.kubernetes.io/zone"


class _Endpoint(Wire):
    addresses: tuple[str, ...] = ()


class _Endpoints(Wire):
    """The addresses at which API servers are published."""

    endpoints: tuple[_Endpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """One agent's Lease, reduced to what a sweep needs."""

    known: Precondition
    node: str
    report: AgentReport | None
    """Without the names of its peers, which are most of it."""
    proposal: PeerProposal | None
    marker: Marker | None

    @property
    def node_uid(self) -> str:
        """The Node UID in its report; empty if there is no report."""
        return "" if self.report is None else self.report.node_uid


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    uid: str
    domain: str
    control_plane: bool


class AgentRegistry:
    """Reads the agents. Every method returns None if its list could not be read completely."""

    def __init__(self, reader: LiveReader, nodes: Store[NodeRecord]) -> None:
        """`nodes` is the watched cache of all Nodes, with their IP addresses."""
        self._reader = reader
        self._nodes = nodes

    async def leases(self) -> list[AgentEntry] | None:
        shared: dict[PeerEntry, PeerEntry] = {}
        take = partial(_agent_entry, shared=shared)
        return await self._all(LEASE, Lease, take, Selection(namespace=AGENT_NAMESPACE))

    async def lease(self, node: str) -> AgentEntry | None:
        """Read the Lease live; None if it is gone or cannot be read."""
        outcome = await self._reader.get(LEASE, node, Lease, AGENT_NAMESPACE)
        return _agent_entry(outcome.value, {}) if isinstance(outcome, Ok) else None

    async def nodes(self, names: Iterable[str], domain: str) -> dict[str, NodeIdentity] | None:
        """Return those of these nodes that exist. `domain` is the label key of failure domains.

        None if the cache is stale or the API server addresses cannot be read.
        """
        serving = await self._api_servers()
        if serving is None or self._nodes.age(self._reader.runtime.monotonic()) > VIEW_GOOD_FOR:
            return None
        found = {name: node for name in names if (node := self._nodes.get(name)) is not None}
        return {name: _mark(node, serving, domain) for name, node in found.items()}

    async def _api_servers(self) -> frozenset[str] | None:
        """Return the addresses of the API servers.

        They alone identify a node that runs an API server without a control plane label.
        """
        match await self._reader.read(ENDPOINT_SLICE, API_SERVICE, _Endpoints, API_NAMESPACE):
            case Present(found):
                return frozenset(address for one in found.endpoints for address in one.addresses)
            case Absent():  # API servers may be configured to publish none.
                return frozenset()
            case Unreadable():
                return None

    async def remediations(self) -> set[str] | None:
        """Return the UIDs of all SelfRemediations."""
        found = await self._all(SELF_REMEDIATION, KubernetesObject, lambda one: one.metadata.uid)
        return None if found is None else set(found)

    async def _all(
        self, resource: Resource, kind: type[W], take: Callable[[W], T | None], of: Selection = EVERYTHING
    ) -> list[T] | None:
        deadline = self._reader.runtime.monotonic() + READ_WITHIN
        outcome = await take_all(self._reader.client, resource, kind, take, of=of, deadline=deadline)
        return outcome.value if isinstance(outcome, Ok) else None


def _agent_entry(lease: Lease, shared: dict[PeerEntry, PeerEntry]) -> AgentEntry | None:
    """Return the entry of a Lease; None if it cannot be decoded, so that it is left untouched.

    `shared` interns the entries of all proposals so far: each node occurs in those of many others.
    """
    news = read_lease(lease)
    if not isinstance(news, LeaseFound):
        return None
    found: AgentLease = news.lease
    report = found.report.but(peers=()) if isinstance(found.report, AgentReport) else None
    proposal = found.proposal if isinstance(found.proposal, PeerProposal) else None
    if proposal is not None:
        proposal = proposal.but(peers=tuple(shared.setdefault(one, one) for one in proposal.peers))
    known = Precondition(found.uid, found.version)
    return AgentEntry(known, lease.metadata.name, report, proposal, found.marker)


def _mark(node: NodeRecord, serving: frozenset[str], domain: str) -> NodeIdentity:
    labels = node.labels
    in_control = not (serving.isdisjoint(node.ips) and CONTROL_PLANE_ROLES.isdisjoint(labels))
    return NodeIdentity(node.uid, labels.get(domain, ""), in_control)


def peer_candidate(entry: AgentEntry, node: NodeIdentity | None, *, silent: bool) -> PeerCandidate | None:
    """Return the agent as a peer; None if its node is gone or has another UID."""
    report = entry.report
    if report is None or node is None or node.uid != report.node_uid:
        return None
    peer = Peer(entry.node, node.uid, report.address, node.domain)
    return PeerCandidate(
        peer,
        entry.proposal,
        silent=silent,
        marked=entry.marker is not None,
        gated=report.acknowledged == 0,
        control_plane=node.control_plane,
    )


SWEEP_EVERY: Final = 20.0
LONGEST: Final = 600.0
SECONDS_A_NODE: Final = 0.01
"""Pause between two sweeps, per node: a large cluster is swept less often, at the same cost."""
PROPOSES_FOR: Final = 300.0
"""Seconds per sweep. The next sweep handles the rest, on newer data."""
LEFT_BY_SWEEPS: Final = 50
"""Of the burst of requests that the client allows, the number that sweeps leave to remediations."""
WRITE_WITHIN: Final = 30.0
"""Seconds, including the wait for the rate limit."""
SILENT_AFTER: Final = 60.0
ORPHANED_FOR: Final = 60.0
"""Seconds. A release write of a deleted remediation may be applied this late after it was sent."""
_RENEWALS_MISSED: Final = 4
_BREATHE_EVERY: Final = 50


class AgentSweep:
    """Serves one leader term. `client` must refuse writes after the term ends.

    A failed read or write is retried in the next sweep: a late proposal costs nothing.
    """

    def __init__(
        self,
        client: ApiClient,
        runtime: Runtime,
        nodes: Store[NodeRecord],
        reports_from: Callable[[], int | None] = lambda: 0,
        agents_seen: Callable[[int, int], None] = lambda _reporting, _silent: None,
    ) -> None:
        """`reports_from` is as for a LiveReader: Leases that another agent could have written are left alone.

        `agents_seen` receives the number of agents that report, and of those silent though their nodes are
        Ready.
        """
        self._nodes = nodes
        self._agents_seen = agents_seen
        self._runtime = runtime
        self._reports_from = reports_from
        self._client = client.leaving(LEFT_BY_SWEEPS, queues=True)
        self._reader = LiveReader(self._client, runtime)
        self._registry = AgentRegistry(self._reader, nodes)
        self._heard: dict[str, tuple[tuple[str, int], float]] = {}
        """By node: the last report of its agent, and the time since which it has been unchanged."""
        self._orphans = UnchangedTimer()

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            await self._runtime.sleep(await self.sweep())

    async def sweep(self) -> float:
        """Sweep once. Returns the seconds until the next sweep."""
        read_at = self._runtime.monotonic()
        entries = await self._registry.leases()
        if entries is None:
            return SWEEP_EVERY
        since = self._reports_from()
        entries = [one for one in entries if is_pinned(revision_of(one.known.version), since)]
        await self._take_off_orphans(entries)
        finished = await self._propose_all(entries, read_at)
        return min(LONGEST, max(SWEEP_EVERY, len(entries) * SECONDS_A_NODE)) if finished else SWEEP_EVERY

    async def _propose_all(self, entries: list[AgentEntry], read_at: float) -> bool:
        """Propose peers to all agents. Returns False if the sweep ended before the last one."""
        agents = await self._agents(entries)
        if agents is None:
            return False
        by_name = {one.node: one for one in entries}
        for number, (agent, proposal) in enumerate(propose_peers(agents)):
            age = self._runtime.monotonic() - read_at
            if age > PROPOSES_FOR:
                return False
            await self._propose(by_name[agent.peer.name], proposal, outdated=age > proposal.every)
            if number % _BREATHE_EVERY == 0:
                await self._runtime.sleep(0.0)
        return True

    async def _propose(self, one: AgentEntry, proposal: PeerProposal, *, outdated: bool) -> None:
        """Write a proposal on the listed version, or on a live one after a conflict.

        Agents renew all the time. Without the live read, an agent whose renewals keep step with the sweeps
        would never get a proposal.
        """
        if not outdated:
            written = await self._write(write_proposal(one.node, one.known, proposal))
            outdated = isinstance(written, Refused) and written.reason is Reason.CONFLICT
        if not outdated:
            return
        now = await self._registry.lease(one.node)
        if now is not None and now.marker is None and now.node_uid == one.node_uid:
            await self._write(write_proposal(now.node, now.known, proposal))

    async def _agents(self, entries: list[AgentEntry]) -> list[PeerCandidate] | None:
        """Return all agents with an existing node; None if the Nodes cannot be read now."""
        policy = await self._reader.policy()
        domains = policy.value.domains if isinstance(policy, Present) else None
        names = [one.node for one in entries]
        nodes = await self._registry.nodes(names, domains.key if domains else ZONE)
        if nodes is None:
            return None
        patience = max(SILENT_AFTER, _RENEWALS_MISSED * pace_for(len(entries)).every)
        silent = self._silent(entries, patience)
        here = [one for one in entries if one.node in nodes and one.report is not None]
        amiss = sum(one.node in silent and _is_missed(one) and self._is_ready(one.node) for one in here)
        self._agents_seen(sum(one.node not in silent for one in here), amiss)
        found = (peer_candidate(one, nodes.get(one.node), silent=one.node in silent) for one in entries)
        return [one for one in found if one is not None]

    def _silent(self, entries: list[AgentEntry], patience: float) -> set[str]:
        """Return the nodes with silent agents, by this process's clock: an agent's clock may be wrong."""
        now, heard = self._runtime.monotonic(), {}
        for one in entries:
            if one.report is not None:
                says = (one.report.boot_id, one.report.sequence)
                before = self._heard.get(one.node)
                heard[one.node] = before if before is not None and before[0] == says else (says, now)
        self._heard = heard
        return {node for node, (_, since) in heard.items() if now - since >= patience}

    def _is_ready(self, name: str) -> bool:
        """Return whether the node is Ready: the agent of one that is not may be down with it."""
        node = self._nodes.get(name)
        return node is not None and is_ready(node)

    async def _take_off_orphans(self, entries: list[AgentEntry]) -> None:
        """Remove markers whose remediation is gone.

        A marker that was written late outlives its remediation, and would keep the boot gate closed forever.
        The remediations are read after the Leases, so the remediation of every marker that is wanted is in
        the list.
        """
        marked = [one for one in entries if one.marker is not None]
        if not marked:
            return
        living = await self._registry.remediations()
        if living is None:
            return
        for one in marked:
            if one.marker is None or one.marker.remediation_uid in living:
                continue
            now = self._runtime.monotonic()
            unwanted_for = self._orphans.unchanged_for(one.node, one.marker, asked_at=now, answered_at=now)
            if unwanted_for >= ORPHANED_FOR and await self._is_untainted(one.node):
                await self._write(write_marker(one.node, one.known, None))

    async def _is_untainted(self, name: str) -> bool:
        """Return whether the Node certainly lacks Nodemend's out-of-service taint.

        Under that taint its pods are removed by force, so the boot gate must stay closed until the taint is
        gone.
        """
        match await self._reader.node(name):
            case Present(node):
                return OUR_TAINT not in node_facts(node).taints
            case Absent():
                return True
            case Unreadable():
                return False

    async def _write(self, request: Request) -> WriteOutcome[Acknowledged]:
        deadline = self._runtime.monotonic() + WRITE_WITHIN
        return await self._client.write(request, Acknowledged, deadline=deadline)


def _is_missed(one: AgentEntry) -> bool:
    """Return whether the silence of this agent matters.

    Releases do not depend on an agent whose report says that nothing resets its node, and a stopped agent's
    does.
    """
    return one.report is not None and one.report.watchdog.class_ != UNSUPPORTED
