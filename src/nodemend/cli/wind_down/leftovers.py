"""What of ours is left in the cluster. Pure: facts in, findings out; the words are in explanations.py."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.node import Node
from nodemend.api.timestamps import parse_time
from nodemend.cli.agents import read_agent
from nodemend.cli.leaders import LeaderState, LeaderView
from nodemend.cli.remediations import Remediation
from nodemend.cli.wind_down.facts import WindDownFacts
from nodemend.controllers.remediating.locks import LOCK_PREFIX
from nodemend.decide.facts import Present, Unreadable

_LEADERLESS = (LeaderState.SILENT, LeaderState.NOBODY, LeaderState.NEVER)


@dataclass(frozen=True, slots=True)
class StillOpen:
    """A remediation that has not come to its end."""

    remediation: Remediation
    refused: str
    """Why it was not even told to end; empty if it was."""
    anew: bool
    """Somebody asked for it after the winding down had begun."""
    leader: LeaderView

    @property
    def unattended(self) -> bool:
        return is_leaderless(self.leader)


@dataclass(frozen=True, slots=True)
class HeldHost:
    """A host that our hold keeps off. `holder` is None when its remediation is gone."""

    host: BareMetalHost
    key: str
    holder: Remediation | None
    tainted: tuple[str, ...]
    """Nodes with our taint: none of them may get its power back before that is off."""


@dataclass(frozen=True, slots=True)
class TaintedNode:
    """`holder` is None when no remediation is left that would take our taint off."""

    node: str
    holder: Remediation | None


@dataclass(frozen=True, slots=True)
class MarkerOnLease:
    """A marker on the Lease that a node has with us. `holder` is None when its remediation is gone.

    The boot that it names resets itself, and every later one keeps its kubelet from starting.
    """

    node: str
    holder: Remediation | None
    doubt: str
    """Why it cannot be read; empty where it can."""
    tainted: bool
    """Our taint is on the node: its boot gate must not open before that is off."""


@dataclass(frozen=True, slots=True)
class VoidMark:
    """A release was called off on this node, and the mark of that is still there."""

    node: str


@dataclass(frozen=True, slots=True)
class StrayLock:
    """A lock whose remediation is gone. It is in our own namespace, and keeps nobody from anything."""

    name: str


@dataclass(frozen=True, slots=True)
class HostNotBack:
    """A host that one of the remediations had to do with. Nothing of ours holds it, and it is off."""

    host: str
    node: str
    wanted: bool
    """Its owner wants it on, so that metal3 goes on trying."""


@dataclass(frozen=True, slots=True)
class NotSeen:
    """What could not be read is not nothing."""

    what: str
    why: str


Leftover = StillOpen | HeldHost | TaintedNode | MarkerOnLease | VoidMark | StrayLock | HostNotBack | NotSeen


def is_leaderless(leader: LeaderView) -> bool:
    """Certainly so: a Lease that cannot be read proves nothing."""
    return leader.state in _LEADERLESS


def find_leftovers(facts: WindDownFacts) -> tuple[Leftover, ...]:
    """All of it, what keeps a machine off first."""
    return (
        *_held_hosts(facts),
        *_marked_nodes(facts),
        *_marked_leases(facts),
        *_open(facts),
        *_hosts_not_back(facts),
        *_stray_locks(facts),
        *_not_seen(facts),
    )


def is_in_the_way(leftover: Leftover) -> bool:
    """Whether Nodemend must not be uninstalled for it. What is not ours, or hinders nobody, is only told."""
    return not isinstance(leftover, StrayLock | HostNotBack)


def may_pass(leftover: Leftover) -> bool:
    """Whether it makes sense to wait for its end. What we have no right to see stays so."""
    match leftover:
        case NotSeen() | StrayLock():
            return False
        case HostNotBack(wanted=wanted):
            return wanted
        case MarkerOnLease(doubt=doubt):
            return doubt == ""
        case StillOpen() | HeldHost() | TaintedNode() | VoidMark():
            return True
        case _:
            assert_never(leftover)


def _held_hosts(facts: WindDownFacts) -> Iterator[HeldHost]:
    living = {found.metadata.uid: found for found in facts.open.remediations}
    tainted = tuple(node.metadata.name for node in _nodes(facts) if _is_tainted(node))
    for host in _hosts(facts):
        for key in _our_holds(host):
            yield HeldHost(host, key, living.get(key.removeprefix(keys.OUR_HOLD_PREFIX)), tainted)


def _hosts_not_back(facts: WindDownFacts) -> Iterator[HostNotBack]:
    for host in _hosts(facts):
        name = f"{host.metadata.namespace}/{host.metadata.name}"
        if name in facts.known.switched and host.status.powered_on is False and not _our_holds(host):
            yield HostNotBack(name, facts.known.switched[name], wanted=host.spec.online)


def _marked_nodes(facts: WindDownFacts) -> Iterator[TaintedNode | VoidMark]:
    cared_for = {found.status.node_uid: found for found in facts.open.remediations if found.status.node_uid}
    for node in _nodes(facts):
        if _is_tainted(node):
            yield TaintedNode(node.metadata.name, cared_for.get(node.metadata.uid))
        if keys.RELEASE_VOIDED in node.metadata.annotations:
            yield VoidMark(node.metadata.name)


def _marked_leases(facts: WindDownFacts) -> Iterator[MarkerOnLease]:
    living = {found.metadata.uid: found for found in facts.open.remediations}
    tainted = {node.metadata.name for node in _nodes(facts) if _is_tainted(node)}
    for lease in facts.agents.value if isinstance(facts.agents, Present) else ():
        agent = read_agent(lease, facts.known.begun)
        if agent.marked:
            holder = living.get(agent.marker.remediation_uid) if agent.marker is not None else None
            doubt = agent.doubt if agent.marker is None else ""
            yield MarkerOnLease(agent.node, holder, doubt, tainted=agent.node in tainted)


def _open(facts: WindDownFacts) -> Iterator[StillOpen]:
    for found in facts.open.remediations:
        yield StillOpen(
            found,
            refused=facts.known.refused.get(found.metadata.uid, ""),
            anew=parse_time(found.metadata.creation_timestamp) > facts.known.begun,
            leader=facts.open.leader,
        )


def _stray_locks(facts: WindDownFacts) -> Iterator[StrayLock]:
    living = {found.metadata.uid for found in facts.open.remediations}
    for lock in facts.locks.value if isinstance(facts.locks, Present) else ():
        if lock.metadata.name.startswith(LOCK_PREFIX) and lock.spec.holder_identity not in living:
            yield StrayLock(lock.metadata.name)


def _not_seen(facts: WindDownFacts) -> Iterator[NotSeen]:
    looked_at = {
        "ManualRemediations": facts.open.listed.manual,
        "Metal3Remediations": facts.open.listed.power,
        "SelfRemediations": facts.open.listed.by_itself,
        "Nodes": facts.nodes,
        "BareMetalHosts": facts.hosts,
        "locks on nodes": facts.locks,
        "Leases in nodemend-agents": facts.agents,
    }
    for what, seen in looked_at.items():
        if isinstance(seen, Unreadable):
            yield NotSeen(what, seen.why)


def _hosts(facts: WindDownFacts) -> list[BareMetalHost]:
    return facts.hosts.value if isinstance(facts.hosts, Present) else []


def _our_holds(host: BareMetalHost) -> list[str]:
    return [key for key in host.holds if key.startswith(keys.OUR_HOLD_PREFIX)]


def _nodes(facts: WindDownFacts) -> list[Node]:
    return facts.nodes.value if isinstance(facts.nodes, Present) else []


def _is_tainted(node: Node) -> bool:
    return any(
        taint.key == keys.OUT_OF_SERVICE and taint.value == keys.OUR_TAINT_VALUE for taint in node.spec.taints
    )
