"""All agents, read page by page: of a large cluster nobody holds all Leases at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from nodemend.api.agent_lease import AgentReport, Marker, PeerProposal
from nodemend.api.group_versions import LEASE, NODE, SELF_REMEDIATION, Resource
from nodemend.api.keys import AGENT_NAMESPACE, CONTROL_PLANE_ROLES
from nodemend.api.lease import Lease
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire
from nodemend.controllers.fresh_reads import Reader
from nodemend.decide.peer_proposals import AgentSeen
from nodemend.decide.peer_sampling import Peer
from nodemend.kube.agent_lease import AgentLease, Found, read_lease
from nodemend.kube.api_request import EVERYTHING, Precondition, Selection
from nodemend.kube.paged_list import Page, Restarted, pages

W = TypeVar("W", bound=Wire)
T = TypeVar("T")

READ_WITHIN: Final = 120.0
"""Seconds for one whole list: it may have a hundred thousand entries, and nobody waits for it."""
ZONE: Final = "topology.kubernetes.io/zone"


class _Named(Wire):
    """Of a Node or of a remediation nothing else is wanted."""

    metadata: ObjectMeta = ObjectMeta()


@dataclass(frozen=True, slots=True)
class Enrolled:
    """One Lease, as far as it matters here."""

    known: Precondition
    node: str
    report: AgentReport | None
    proposal: PeerProposal | None
    marker: Marker | None


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

    async def nodes(self, domain: str) -> dict[str, NodeMark] | None:
        """By name. `domain` is the label by which failure domains are told apart."""

        def mark(node: _Named) -> tuple[str, NodeMark]:
            metadata = node.metadata
            in_control = not CONTROL_PLANE_ROLES.isdisjoint(metadata.labels)
            return metadata.name, NodeMark(metadata.uid, metadata.labels.get(domain, ""), in_control)

        found = await self._all(NODE, _Named, mark)
        return None if found is None else dict(found)

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
