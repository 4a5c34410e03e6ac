"""All agents, read page by page: of a large cluster nobody holds all Leases at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from nodemend.api.agent_lease import AgentReport, Marker, PeerProposal
from nodemend.api.group_versions import ENDPOINT_SLICE, LEASE, NODE, SELF_REMEDIATION, Resource
from nodemend.api.keys import AGENT_NAMESPACE, CONTROL_PLANE_ROLES
from nodemend.api.lease import Lease
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.decide.peer_proposals import AgentSeen
from nodemend.decide.peer_sampling import Peer
from nodemend.kube.agent_lease import AgentLease, Found, read_lease
from nodemend.kube.api_outcome import Ok
from nodemend.kube.api_request import EVERYTHING, Precondition, Selection
from nodemend.kube.paged_list import Page, Restarted, pages

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


class _Address(Wire):
    address: str = ""


class _Addresses(Wire):
    addresses: tuple[_Address, ...] = ()


class _PlacedNode(Wire):
    """Of a Node: where it stands, and where it is reached."""

    metadata: ObjectMeta = ObjectMeta()
    status: _Addresses = _Addresses()


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

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def leases(self) -> list[Enrolled] | None:
        return await self._all(LEASE, Lease, _enrolled, Selection(namespace=AGENT_NAMESPACE))

    async def lease(self, node: str) -> Enrolled | None:
        """As it is now. None where it is gone or cannot be read."""
        outcome = await self._reader.get(LEASE, node, Lease, AGENT_NAMESPACE)
        return _enrolled(outcome.value) if isinstance(outcome, Ok) else None

    async def nodes(self, domain: str) -> dict[str, NodeMark] | None:
        """By name. `domain` is the label by which failure domains are told apart."""
        serving = await self._api_servers()
        if serving is None:
            return None

        def mark(node: _PlacedNode) -> tuple[str, NodeMark]:
            metadata = node.metadata
            serves = any(one.address in serving for one in node.status.addresses)
            in_control = serves or not CONTROL_PLANE_ROLES.isdisjoint(metadata.labels)
            return metadata.name, NodeMark(metadata.uid, metadata.labels.get(domain, ""), in_control)

        found = await self._all(NODE, _PlacedNode, mark)
        return None if found is None else dict(found)

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
        """What is taken of each, page by page."""
        found: list[T] = []
        async for step in pages(self._reader.client, resource, kind, of=of, deadline=self._deadline):
            match step:
                case Page(items):
                    found += [taken for one in items if (taken := take(one)) is not None]
                case Restarted():
                    found.clear()
                case _:
                    return None
        return found

    @property
    def _deadline(self) -> float:
        return self._reader.runtime.monotonic() + READ_WITHIN


def _enrolled(lease: Lease) -> Enrolled | None:
    """None for one that cannot be read: nothing is done to it."""
    news = read_lease(lease)
    if not isinstance(news, Found):
        return None
    found: AgentLease = news.lease
    report = found.report if isinstance(found.report, AgentReport) else None
    proposal = found.proposal if isinstance(found.proposal, PeerProposal) else None
    known = Precondition(found.uid, found.version)
    return Enrolled(known, lease.metadata.name, report, proposal, found.marker)


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
        control_plane=node.control_plane,
    )
