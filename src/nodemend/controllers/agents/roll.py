"""All agents, read page by page: of a large cluster nobody holds all Leases at once.

While a sweep goes on, 1.4 KB are kept of each, of the 5 KB that a Lease with 15 peers says.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from nodemend.api.agent_lease import AgentReport, Marker, PeerEntry, PeerProposal
from nodemend.api.group_versions import ENDPOINT_SLICE, LEASE, SELF_REMEDIATION, Resource
from nodemend.api.keys import AGENT_NAMESPACE, CONTROL_PLANE_ROLES
from nodemend.api.lease import Lease
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire
from nodemend.controllers.checking.guarding import VIEW_GOOD_FOR
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.decide.peer_proposals import AgentSeen
from nodemend.decide.peer_sampling import Peer
from nodemend.kube.agent_lease import AgentLease, Found, read_lease
from nodemend.kube.api_outcome import Ok
from nodemend.kube.api_request import EVERYTHING, Precondition, Selection
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.object_cache import ObjectCache
from nodemend.kube.paged_list import take_all

W = TypeVar("W", bound=Wire)
T = TypeVar("T")

READ_WITHIN: Final = 120.0
"""Seconds for one whole list: it may have a hundred thousand entries, and nobody waits for it."""
API_SERVICE: Final = "kubernetes"
API_NAMESPACE: Final = "default"
"""Every API server publishes its address there, unless it is told not to."""
ZONE: Final = "topology.kubernetes.io/zone"


class _Named(Wire):
    """Of a remediation nothing else is wanted."""

    metadata: ObjectMeta = ObjectMeta()


class _Endpoint(Wire):
    addresses: tuple[str, ...] = ()


class _Endpoints(Wire):
    """Behind which addresses API servers say that they are."""

    endpoints: tuple[_Endpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class Enrolled:
    """One Lease, as far as it matters here."""

    known: Precondition
    node: str
    report: AgentReport | None
    """Without the names of its peers: they are most of it."""
    proposal: PeerProposal | None
    marker: Marker | None

    @property
    def node_uid(self) -> str:
        """As its agent says; empty where none does."""
        return "" if self.report is None else self.report.node_uid


@dataclass(frozen=True, slots=True)
class NodeMark:
    uid: str
    domain: str
    control_plane: bool


class Roll:
    """Reads it. None wherever a list could not be read to its end: half a roll is none."""

    def __init__(self, reader: Reader, nodes: ObjectCache[NodeRecord]) -> None:
        """`nodes` are all that there are, kept by a watch, with their IP addresses."""
        self._reader = reader
        self._nodes = nodes

    async def leases(self) -> list[Enrolled] | None:
        shared: dict[PeerEntry, PeerEntry] = {}
        take = partial(_enrolled, shared=shared)
        return await self._all(LEASE, Lease, take, Selection(namespace=AGENT_NAMESPACE))

    async def lease(self, node: str) -> Enrolled | None:
        """As it is now. None where it is gone or cannot be read."""
        outcome = await self._reader.get(LEASE, node, Lease, AGENT_NAMESPACE)
        return _enrolled(outcome.value, {}) if isinstance(outcome, Ok) else None

    async def nodes(self, names: Iterable[str], domain: str) -> dict[str, NodeMark] | None:
        """Those of these that are there. `domain` is the label by which failure domains are told apart."""
        serving = await self._api_servers()
        if serving is None or self._nodes.age(self._reader.runtime.monotonic()) > VIEW_GOOD_FOR:
            return None
        found = {name: node for name in names if (node := self._nodes.get(name)) is not None}
        return {name: _mark(node, serving, domain) for name, node in found.items()}

    async def _api_servers(self) -> frozenset[str] | None:
        """Their addresses: on a node without a label these alone tell that one runs there."""
        match seen(await self._reader.get(ENDPOINT_SLICE, API_SERVICE, _Endpoints, API_NAMESPACE)):
            case Present(found):
                return frozenset(address for one in found.endpoints for address in one.addresses)
            case Absent():  # API servers may be told to publish none.
                return frozenset()
            case Unreadable():
                return None

    async def remediations(self) -> set[str] | None:
        """The UIDs of all SelfRemediations."""
        found = await self._all(SELF_REMEDIATION, _Named, lambda one: one.metadata.uid)
        return None if found is None else set(found)

    async def _all(
        self, resource: Resource, kind: type[W], take: Callable[[W], T | None], of: Selection = EVERYTHING
    ) -> list[T] | None:
        deadline = self._reader.runtime.monotonic() + READ_WITHIN
        outcome = await take_all(self._reader.client, resource, kind, take, of=of, deadline=deadline)
        return outcome.value if isinstance(outcome, Ok) else None


def _enrolled(lease: Lease, shared: dict[PeerEntry, PeerEntry]) -> Enrolled | None:
    """None for one that cannot be read: nothing is done to it.

    `shared` are the entries of all proposals so far: each node is in those of many others.
    """
    news = read_lease(lease)
    if not isinstance(news, Found):
        return None
    found: AgentLease = news.lease
    report = found.report.but(peers=()) if isinstance(found.report, AgentReport) else None
    proposal = found.proposal if isinstance(found.proposal, PeerProposal) else None
    if proposal is not None:
        proposal = proposal.but(peers=tuple(shared.setdefault(one, one) for one in proposal.peers))
    known = Precondition(found.uid, found.version)
    return Enrolled(known, lease.metadata.name, report, proposal, found.marker)


def _mark(node: NodeRecord, serving: frozenset[str], domain: str) -> NodeMark:
    labels = node.labels
    in_control = not (serving.isdisjoint(node.ips) and CONTROL_PLANE_ROLES.isdisjoint(labels))
    return NodeMark(node.uid, labels.get(domain, ""), in_control)


def agent_seen(enrolled: Enrolled, node: NodeMark | None, *, silent: bool) -> AgentSeen | None:
    """None for a Lease whose node is gone, or has another UID by now: it is nobody's peer."""
    report = enrolled.report
    if report is None or node is None or node.uid != report.node_uid:
        return None
    peer = Peer(enrolled.node, node.uid, report.address, node.domain)
    return AgentSeen(
        peer,
        enrolled.proposal,
        silent=silent,
        marked=enrolled.marker is not None,
        gated=report.acknowledged == 0,
        control_plane=node.control_plane,
    )
