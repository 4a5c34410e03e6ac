"""What an explanation rests on: live objects, and the very code that decides on them."""

from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import TypeVar

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
    Resource,
)
from nodemend.api.manual_remediation import ManualRemediation, Phase
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.remediation_order import RemediationOrder
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.self_remediation import SelfRemediation
from nodemend.api.timestamps import parse_time
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.etcd_hosts import look_for_etcd
from nodemend.cli.leaders import LeaderView, look_at_leaders
from nodemend.cli.listed_objects import as_cache
from nodemend.cli.listed_remedies import look_at_remedies
from nodemend.cli.remediations import is_open, node_of
from nodemend.cli.written_ages import written_age
from nodemend.controllers.checking.ward import Ward
from nodemend.controllers.manual_remediation.gather import Gatherer
from nodemend.controllers.node_health_check.gather import View
from nodemend.controllers.remediating.at_work import AtWork
from nodemend.controllers.remediating.surroundings import Surroundings
from nodemend.controllers.remediating.switch_guard import SwitchGuard
from nodemend.decide.facts import Absent, LeaseFacts, Present, Unreadable
from nodemend.decide.guard_facts import Sight
from nodemend.decide.manual_remediation import ManualFacts
from nodemend.decide.node_health import ConditionSeen
from nodemend.decide.remediation_life import Tenure
from nodemend.decide.remediation_steps import Left
from nodemend.kube.node_record import NodeRecord, NodeWire, node_records
from nodemend.kube.object_cache import ObjectCache
from nodemend.kube.projection import whole

R = TypeVar("R", Metal3Remediation, SelfRemediation)


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
    etcd_hosts: frozenset[str] = frozenset()
    power_cycle: Metal3Remediation | None = None
    """The one that is open for the node."""
    by_itself: SelfRemediation | None = None
    """Likewise."""


async def gather(cluster: Cluster, name: str) -> ExplainFacts:
    """Reads everything that the controllers would read. Writes nothing."""
    nodes = node_records(annotations=(keys.EXCLUDE,))
    wire = must_have(await cluster.find(NODE, name, NodeWire), f"node {name}")
    # The guard counts all of them, so all of them are read.
    wires = must_have(await cluster.all(NODE, NodeWire), "list of nodes")
    checks = must_have(await cluster.all(NODE_HEALTH_CHECK, NodeHealthCheck), "list of health checks")
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
    mine = sorted(
        (found for found in remediations if found.metadata.name == name),
        key=lambda found: (found.status.phase is Phase.SUCCEEDED, found.metadata.namespace),
    )
    return ExplainFacts(
        node=node,
        view=view,
        conditions=conditions_by_writing(node, cluster.now),
        open_=await _open(cluster, mine[0], view) if mine else None,
        elsewhere=tuple(f"{found.metadata.namespace}/{name}" for found in mine[1:]),
        leaders=await look_at_leaders(cluster),
        now=cluster.now,
        etcd_hosts=await look_for_etcd(cluster),
        power_cycle=await _open_of(cluster, METAL3_REMEDIATION, Metal3Remediation, name),
        by_itself=await _open_of(cluster, SELF_REMEDIATION, SelfRemediation, name),
    )


async def _open_of(cluster: Cluster, resource: Resource, kind: type[R], node: str) -> R | None:
    """Who may not see them, or has none, is told of the others all the same."""
    found = await cluster.all(resource, kind)
    mine = found.value if isinstance(found, Present) else []
    return next((one for one in mine if node_of(one) == node and is_open(one)), None)


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

    def busy(self, _ward: Ward, _now: float) -> frozenset[str]:
        return frozenset()

    def control_plane(self, _ward: Ward, _busy: frozenset[str]) -> None:
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
