"""What an explanation rests on: live objects, and the very code that decides on them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Final, TypeVar

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.api.group_versions import (
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
    SELF_REMEDIATION,
)
from nodemend.api.manual_remediation import ManualRemediation, Phase
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.remediation_order import RemediationOrder
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.self_remediation import SelfRemediation
from nodemend.api.timestamps import parse_time
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.etcd_hosts import EtcdHosts, look_for_etcd
from nodemend.cli.leaders import LeaderView, look_at_leaders, unread_leaders
from nodemend.cli.listed_objects import as_cache
from nodemend.cli.listed_remedies import look_at_remedies
from nodemend.cli.remediations import is_open, node_of
from nodemend.cli.written_ages import written_age
from nodemend.controllers.checking.ward import Busy, Ward
from nodemend.controllers.manual_remediation.gather import Gatherer
from nodemend.controllers.node_health_check.gather import View
from nodemend.controllers.remediating.at_work import AtWork
from nodemend.controllers.remediating.surroundings import Surroundings
from nodemend.controllers.remediating.switch_guard import SwitchGuard
from nodemend.decide.facts import Absent, LeaseFacts, Present, Seen, Unreadable
from nodemend.decide.guard_facts import Sight
from nodemend.decide.manual_remediation import ManualFacts
from nodemend.decide.node_health import ConditionSeen
from nodemend.decide.remediation_life import Tenure
from nodemend.decide.remediation_steps import Left
from nodemend.kube.node_record import NodeRecord, NodeWire, node_records
from nodemend.kube.object_cache import ObjectCache
from nodemend.kube.projection import whole

R = TypeVar("R", Metal3Remediation, SelfRemediation)

_NO_ETCD: Final = EtcdHosts()


@dataclass(frozen=True, slots=True)
class ExplainFacts:
    """`open_` is the remediation that is asked about, `elsewhere` names others of the same node."""

    node: NodeRecord
    view: View
    conditions: tuple[ConditionSeen, ...]
    open_: ManualFacts | None
    elsewhere: tuple[str, ...]
    leaders: tuple[LeaderView, ...]
    now: datetime
    etcd_hosts: EtcdHosts = _NO_ETCD
    power_cycle: Metal3Remediation | None = None
    """The one that is open for the node."""
    by_itself: SelfRemediation | None = None
    """Likewise."""
    unseen: tuple[str, ...] = ()
    """Which remediations could not be read, as sentences."""
    unread: tuple[str, ...] = ()
    """Likewise what else could not be: the answer is without it."""


async def gather(cluster: Cluster, name: str) -> ExplainFacts:
    """Reads everything that the controllers would read. Writes nothing."""
    nodes = node_records(annotations=(keys.EXCLUDE,))
    wire = must_have(await cluster.find(NODE, name, NodeWire), f"node {name}")
    # The guard counts all of them, so all of them are read.
    wires = must_have(await cluster.all(NODE, NodeWire), "list of nodes")
    checks = must_have(await cluster.health_checks(), "list of health checks")
    remediations = must_have(await cluster.all(MANUAL_REMEDIATION, ManualRemediation), "list of remediations")
    policy = await cluster.find(REMEDIATION_POLICY, keys.POLICY_NAME, RemediationPolicy)
    policies = [] if isinstance(policy, Absent) else [must_have(policy, "RemediationPolicy")]
    view = View(
        nodes=as_cache(nodes, wires),
        checks=as_cache(whole(NODE_HEALTH_CHECK, NodeHealthCheck), checks),
        remedies=await look_at_remedies(cluster, checks),
        policies=as_cache(whole(REMEDIATION_POLICY, RemediationPolicy), policies),
        orders=as_cache(whole(REMEDIATION_ORDER, RemediationOrder), await _orders(cluster)),
    )
    node = nodes.project(wire, None)
    power = await cluster.all(METAL3_REMEDIATION, Metal3Remediation)
    by_itself = await cluster.all(SELF_REMEDIATION, SelfRemediation)
    leaders = await look_at_leaders(cluster)
    mine = sorted(
        (found for found in remediations if found.metadata.name == name),
        key=lambda found: (found.status.phase is Phase.SUCCEEDED, found.metadata.namespace),
    )
    open_ = await _open(cluster, mine[0], view) if mine else None
    return ExplainFacts(
        node=node,
        view=view,
        conditions=conditions_by_writing(node, cluster.now),
        open_=open_,
        elsewhere=tuple(f"{found.metadata.namespace}/{name}" for found in mine[1:]),
        leaders=leaders,
        now=cluster.now,
        etcd_hosts=await look_for_etcd(cluster),
        power_cycle=_open_of(power, name),
        by_itself=_open_of(by_itself, name),
        unseen=tuple(_unread({"Metal3Remediations": power, "SelfRemediations": by_itself})),
        unread=(*_unread(_around(open_)), *unread_leaders(leaders)),
    )


def _open_of(found: Seen[list[R]], node: str) -> R | None:
    mine = found.value if isinstance(found, Present) else []
    return next((one for one in mine if node_of(one) == node and is_open(one)), None)


def _around(open_: ManualFacts | None) -> Mapping[str, object]:
    if open_ is None:
        return {}
    return {"The kubelet's Lease": open_.lease, "The lock on the node": open_.lock}


def _unread(looked_at: Mapping[str, object]) -> Iterator[str]:
    for what, fact in looked_at.items():
        if isinstance(fact, Unreadable):
            yield f"{what} cannot be read: {fact.why}."


async def _orders(cluster: Cluster) -> list[RemediationOrder]:
    orders = await cluster.all(REMEDIATION_ORDER, RemediationOrder)
    return [] if isinstance(orders, Absent) else must_have(orders, "list of orders")


def conditions_by_writing(node: NodeRecord, now: datetime) -> tuple[ConditionSeen, ...]:
    """By the times written in them: a command has not watched, so it has seen nothing for long."""
    return tuple(
        ConditionSeen(
            type=condition.type,
            status=ConditionStatus(condition.status)
            if condition.status in ("True", "False")
            else ConditionStatus.UNKNOWN,
            seen_for=written_age(condition.last_transition_time, now),
        )
        for condition in node.conditions
    )


def lease_by_writing(lease: LeaseFacts, now: datetime) -> LeaseFacts:
    """Likewise. A renewal time that cannot be read leaves the kubelet unsilent."""
    try:
        renewed = parse_time(lease.renew_time)
    except ValueError:
        return lease
    return replace(lease, unchanged_for=max((now - renewed).total_seconds(), 0.0))


@dataclass(frozen=True, slots=True)
class _Listed:
    """The cluster at large as the guard of the remediator asks about it, from lists of just now."""

    nodes: ObjectCache[NodeRecord]
    checks: ObjectCache[NodeHealthCheck]
    policies: ObjectCache[RemediationPolicy]
    synced: bool = True

    def not_ready_for(self, _uid: str) -> float:
        return 0.0

    def sight(self, _ward: Ward, _now: float) -> Sight:
        return Sight(age=0.0, age_limit=inf, calm_for=inf, calm_needed=0.0)

    def busy(self, _ward: Ward, _now: float) -> Busy:
        return Busy()

    def control_plane(self, _ward: Ward, _busy: Busy) -> None:
        return None


async def _open(cluster: Cluster, remediation: ManualRemediation, view: View) -> ManualFacts:
    """As the leader that last wrote here would see it."""
    at_work, listed = AtWork(cluster.reader), _Listed(view.nodes, view.checks, view.policies)
    switch = SwitchGuard(listed, cluster.reader.runtime, at_work, last_start=-inf)
    gatherer = Gatherer(
        cluster.reader, Surroundings(cluster.reader, at_work), switch, cluster.system_namespace
    )
    status = remediation.status
    gathered = await gatherer.gather(remediation, cluster.now.timestamp(), Tenure(status.epoch, 0, -inf))
    facts = gathered.facts
    if isinstance(facts.lease, Present):
        facts = replace(facts, lease=Present(lease_by_writing(facts.lease.value, cluster.now)))
    if isinstance(facts.left, Unreadable):
        # Who asks may see less than the remediator. It has told what it saw.
        facts = replace(facts, left=Present(Left(status.pods_left, status.attachments_left)))
    return facts
