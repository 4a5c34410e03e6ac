"""Reads the facts of `kubectl mend wind-down`, and finds Nodemend's leftovers in the cluster.

Reading writes nothing. The search for leftovers is pure. The texts are in view.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, assert_never

from nodemend.api import well_known
from nodemend.api.meta import parse_time
from nodemend.api.resources import BARE_METAL_HOST, LEASE, NODE
from nodemend.api.upstream_types import BareMetalHost, Lease, Node
from nodemend.cli.agents import read_agent
from nodemend.cli.cluster import Cluster, LeaderView, ServedResources, ask_served, read_leaders, unread_of
from nodemend.cli.listing import AnyRemediation, Listing, list_remediations
from nodemend.kube.request import Selection
from nodemend.records.live_reads import value_of
from nodemend.remediation.writes import LOCK_PREFIX
from nodemend.safety.facts import Absent, ReadResult, Unreadable


@dataclass(frozen=True, slots=True)
class OpenFacts:
    """All of Nodemend's remediations, ended or not: each has a finalizer that only the remediator removes."""

    listed: Listing
    leader: LeaderView
    """The remediator's leader. Without one, no remediation ends."""

    @property
    def remediations(self) -> tuple[AnyRemediation, ...]:
        """The remediations that could be read."""
        return tuple(self.listed.visible)

    @property
    def by_uid(self) -> Mapping[str, AnyRemediation]:
        return {found.metadata.uid: found for found in self.listed.visible}


@dataclass(frozen=True, slots=True)
class Known:
    """Facts that the wind-down collected while it ran."""

    begun: datetime
    """Start of the wind-down, by the API server's clock."""
    refused: Mapping[str, str]
    """Remediations that could not be deleted: the reason by UID."""
    switched: Mapping[str, str]
    """Nodes of the remediations' hosts, by NAMESPACE/NAME of the host."""


@dataclass(frozen=True, slots=True)
class WindDownFacts:
    """All facts.

    Hosts, nodes, locks and agent Leases are read before the remediations, so nothing found on them can belong
    to a remediation that was created after the list of remediations.
    """

    hosts: ReadResult[list[BareMetalHost]]
    nodes: ReadResult[list[Node]]
    locks: ReadResult[list[Lease]]
    agents: ReadResult[list[Lease]]
    open: OpenFacts
    known: Known


async def read_open(cluster: Cluster) -> OpenFacts:
    """Read the facts that are polled. They are few, even in a large cluster."""
    leaders = await read_leaders(cluster)
    (remediator,) = (leader for leader in leaders if leader.component == "remediator")
    return OpenFacts(listed=await list_remediations(cluster), leader=remediator)


async def read_everything(cluster: Cluster, known: Known) -> WindDownFacts:
    return WindDownFacts(
        hosts=await _read_hosts(cluster),
        nodes=await cluster.all(NODE, Node),
        locks=await cluster.all(LEASE, Lease, Selection(namespace=cluster.system_namespace)),
        agents=await cluster.all(LEASE, Lease, Selection(namespace=well_known.AGENT_NAMESPACE)),
        open=await read_open(cluster),
        known=known,
    )


async def _read_hosts(cluster: Cluster) -> ReadResult[list[BareMetalHost]]:
    """List hosts. Absent if metal3 is not installed, even if the caller may not list hosts."""
    hosts = await cluster.all(BARE_METAL_HOST, BareMetalHost)
    if not isinstance(hosts, Unreadable):
        return hosts
    served = await cluster.ask(ask_served(BARE_METAL_HOST), ServedResources)
    return Absent() if isinstance(served, Absent) else hosts


@dataclass(frozen=True, slots=True)
class StillOpen:
    """A remediation that has not ended."""

    kind: ClassVar[str] = "StillOpen"
    remediation: AnyRemediation
    refused: str
    """Reason of a failed deletion; empty if it was deleted."""
    anew: bool
    """True if it was created after the wind-down had started."""
    leader: LeaderView


@dataclass(frozen=True, slots=True)
class PowerOffRequestOnHost:
    """A host that Nodemend's power-off request keeps off. `holder` is None if its remediation is gone."""

    kind: ClassVar[str] = "PowerOffRequestOnHost"
    host: BareMetalHost
    key: str
    holder: AnyRemediation | None
    tainted: tuple[str, ...]
    """Nodes with Nodemend's taint. Power must not return to any of them before the taint is removed."""


@dataclass(frozen=True, slots=True)
class TaintedNode:
    """A node with Nodemend's taint. `holder` is None if no remediation is left that would remove it."""

    kind: ClassVar[str] = "TaintedNode"
    node: str
    holder: AnyRemediation | None


@dataclass(frozen=True, slots=True)
class MarkerOnLease:
    """A marker on an agent Lease. `holder` is None if its remediation is gone.

    The boot that the marker names resets itself, and in every later boot the kubelet does not start.
    """

    kind: ClassVar[str] = "MarkerOnLease"
    node: str
    holder: AnyRemediation | None
    problem: str
    """Reason of a parse error; empty if the marker is valid."""
    tainted: bool
    """True if the node has Nodemend's taint. Its boot gate must not open before the taint is removed."""


@dataclass(frozen=True, slots=True)
class Revocation:
    """The annotation of a revoked release, still on the node."""

    kind: ClassVar[str] = "Revocation"
    node: str


@dataclass(frozen=True, slots=True)
class StrayLock:
    """A lock whose remediation is gone. It is in Nodemend's namespace and blocks nothing."""

    kind: ClassVar[str] = "StrayLock"
    name: str


@dataclass(frozen=True, slots=True)
class PowerNotRestored:
    """A host of one of the remediations that is off although Nodemend does not request it."""

    kind: ClassVar[str] = "PowerNotRestored"
    host: str
    node: str
    wanted: bool
    """True if its owner wants it on, so metal3 keeps trying."""


@dataclass(frozen=True, slots=True)
class NotRead:
    """A kind that could not be read. It may have leftovers."""

    kind: ClassVar[str] = "NotRead"
    what: str
    why: str


Leftover = (
    StillOpen
    | PowerOffRequestOnHost
    | TaintedNode
    | MarkerOnLease
    | Revocation
    | StrayLock
    | PowerNotRestored
    | NotRead
)


def find_leftovers(facts: WindDownFacts) -> tuple[Leftover, ...]:
    """Return all leftovers, those that keep a machine off first."""
    return (
        *_held_hosts(facts),
        *_marked_nodes(facts),
        *_marked_leases(facts),
        *_find_open(facts),
        *_hosts_not_back(facts),
        *_stray_locks(facts),
        *_not_seen(facts),
    )


def is_in_the_way(leftover: Leftover) -> bool:
    """Return whether the leftover forbids an uninstall.

    Leftovers that are not Nodemend's, or that block nothing, are only reported.
    """
    return not isinstance(leftover, StrayLock | PowerNotRestored)


def may_pass(leftover: Leftover) -> bool:
    """Return whether the leftover may end without the user.

    An object that the caller may not read stays unreadable.
    """
    match leftover:
        case NotRead() | StrayLock():
            return False
        case PowerNotRestored(wanted=wanted):
            return wanted
        case MarkerOnLease(problem=problem):
            return problem == ""
        case StillOpen() | PowerOffRequestOnHost() | TaintedNode() | Revocation():
            return True
        case _:
            assert_never(leftover)


def _held_hosts(facts: WindDownFacts) -> Iterator[PowerOffRequestOnHost]:
    living = facts.open.by_uid
    tainted = tuple(node.metadata.name for node in value_of(facts.nodes) or () if _is_tainted(node))
    for host in value_of(facts.hosts) or ():
        for key in _power_off_requests(host):
            holder = living.get(key.removeprefix(well_known.POWER_OFF_REQUEST_PREFIX))
            yield PowerOffRequestOnHost(host, key, holder, tainted)


def _hosts_not_back(facts: WindDownFacts) -> Iterator[PowerNotRestored]:
    for host in value_of(facts.hosts) or ():
        name = f"{host.metadata.namespace}/{host.metadata.name}"
        if name in facts.known.switched and host.status.powered_on is False and not _power_off_requests(host):
            yield PowerNotRestored(name, facts.known.switched[name], wanted=host.spec.online)


def _marked_nodes(facts: WindDownFacts) -> Iterator[TaintedNode | Revocation]:
    cared_for = {found.status.node_uid: found for found in facts.open.remediations if found.status.node_uid}
    for node in value_of(facts.nodes) or ():
        if _is_tainted(node):
            yield TaintedNode(node.metadata.name, cared_for.get(node.metadata.uid))
        if well_known.RELEASE_REVOKED in node.metadata.annotations:
            yield Revocation(node.metadata.name)


def _marked_leases(facts: WindDownFacts) -> Iterator[MarkerOnLease]:
    living = facts.open.by_uid
    tainted = {node.metadata.name for node in value_of(facts.nodes) or () if _is_tainted(node)}
    for lease in value_of(facts.agents) or ():
        agent = read_agent(lease, facts.known.begun)
        if agent.marked:
            holder = living.get(agent.marker.remediation_uid) if agent.marker is not None else None
            problem = agent.problem if agent.marker is None else ""
            yield MarkerOnLease(agent.node, holder, problem, tainted=agent.node in tainted)


def _find_open(facts: WindDownFacts) -> Iterator[StillOpen]:
    for found in facts.open.remediations:
        yield StillOpen(
            found,
            refused=facts.known.refused.get(found.metadata.uid, ""),
            anew=parse_time(found.metadata.creation_timestamp) > facts.known.begun,
            leader=facts.open.leader,
        )


def _stray_locks(facts: WindDownFacts) -> Iterator[StrayLock]:
    living = facts.open.by_uid
    for lock in value_of(facts.locks) or ():
        if lock.metadata.name.startswith(LOCK_PREFIX) and lock.spec.holder_identity not in living:
            yield StrayLock(lock.metadata.name)


def _not_seen(facts: WindDownFacts) -> Iterator[NotRead]:
    looked_at = {
        **facts.open.listed.by_kind,
        "Nodes": facts.nodes,
        "BareMetalHosts": facts.hosts,
        "locks on nodes": facts.locks,
        "Leases in nodemend-agents": facts.agents,
    }
    for what, why in unread_of(looked_at).items():
        yield NotRead(what, why)


def _power_off_requests(host: BareMetalHost) -> list[str]:
    return [key for key in host.holds if key.startswith(well_known.POWER_OFF_REQUEST_PREFIX)]


def _is_tainted(node: Node) -> bool:
    return any(
        taint.key == well_known.OUT_OF_SERVICE and taint.value == well_known.OUR_TAINT_VALUE
        for taint in node.spec.taints
    )
