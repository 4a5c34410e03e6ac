"""Reads the facts of a node's explanation live, and computes the guard's facts from all nodes.

The same code that decides in the controllers evaluates the facts. For the guard, it evaluates every node.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Final, TypeVar

from nodemend.api import well_known
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationPhase
from nodemend.api.meta import written_moment
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationOrder, RemediationPolicy
from nodemend.api.resources import (
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
    SELF_REMEDIATION,
)
from nodemend.api.self_remediation import SelfRemediation
from nodemend.cli.cluster import (
    Cluster,
    EtcdHosts,
    LeaderView,
    find_etcd_hosts,
    may_have,
    must_have,
    read_leaders,
    spell_unread,
    unread_leaders,
)
from nodemend.cli.listing import is_open, node_of, written_age
from nodemend.cli.listing_caches import NOW_IN_VIEW, as_cache, list_remedies
from nodemend.guard.evaluator import Clocks, GuardEvaluator
from nodemend.guard.state import (
    HEALTHY,
    Busy,
    ControlPlaneIndex,
    CountScope,
    GuardTarget,
    TargetState,
    TargetStatus,
)
from nodemend.health.conditions import read_status
from nodemend.health.node import targets
from nodemend.health.node.targets import NodeGuardInputs, NodeTarget, NodeView, guard_target_of
from nodemend.kube.store import Store, whole
from nodemend.records.node import NodeRecord, NodeWire, node_records
from nodemend.remediation.manual.controller import ManualDriver
from nodemend.remediation.manual.decide import ManualFacts
from nodemend.remediation.node_state import ConcurrencyTracker, NodeReader
from nodemend.remediation.switch_guard import RemediatorGuard
from nodemend.rules.node import ConditionSeen, Healthy, evaluate_health
from nodemend.safety.facts import Absent, LeaseFacts, Present, ReadResult, Unreadable
from nodemend.safety.guard import CacheFreshness, GuardFacts
from nodemend.safety.lifecycle import LeaderTerm, RemainingWorkloads

R = TypeVar("R", Metal3Remediation, SelfRemediation)

_NO_ETCD: Final = EtcdHosts()


@dataclass(frozen=True, slots=True)
class ExplainFacts:
    """Facts of one node.

    `open_` is its remediation that is explained, `elsewhere` names its other remediations.
    """

    node: NodeRecord
    view: NodeView
    open_: ManualFacts | None
    elsewhere: tuple[str, ...]
    leaders: tuple[LeaderView, ...]
    now: datetime
    etcd_hosts: EtcdHosts = _NO_ETCD
    power_cycle: Metal3Remediation | None = None
    """The open Metal3Remediation of the node."""
    by_itself: SelfRemediation | None = None
    """The open SelfRemediation of the node."""
    unseen: tuple[str, ...] = ()
    """Remediations that could not be read, as sentences."""
    unread: tuple[str, ...] = ()
    """Other objects that could not be read, as sentences. The answer does not include them."""


async def gather_node(cluster: Cluster, name: str) -> ExplainFacts:
    """Read everything that the controllers would read. Writes nothing."""
    nodes = node_records(annotations=(well_known.EXCLUDE,))
    wire = must_have(await cluster.find(NODE, name, NodeWire), f"node {name}")
    # The guard counts every node, so every node is read.
    wires = must_have(await cluster.all(NODE, NodeWire), "list of nodes")
    checks = must_have(await cluster.health_checks(), "list of health checks")
    remediations = must_have(await cluster.all(MANUAL_REMEDIATION, ManualRemediation), "list of remediations")
    policy = await cluster.policy()
    policies = [] if isinstance(policy, Absent) else [must_have(policy, "RemediationPolicy")]
    remedies = await list_remedies(cluster, checks)
    orders = may_have(await cluster.all(REMEDIATION_ORDER, RemediationOrder), "list of orders")
    view = NodeView(
        nodes=as_cache(nodes, wires),
        checks=as_cache(whole(NODE_HEALTH_CHECK, NodeHealthCheck), checks),
        remedies=remedies,
        policies=as_cache(whole(REMEDIATION_POLICY, RemediationPolicy), policies),
        orders=as_cache(whole(REMEDIATION_ORDER, RemediationOrder), orders or []),
    )
    node = nodes.project(wire, None)
    power = await cluster.all(METAL3_REMEDIATION, Metal3Remediation)
    by_itself = await cluster.all(SELF_REMEDIATION, SelfRemediation)
    leaders = await read_leaders(cluster)
    mine = sorted(
        (found for found in remediations if found.metadata.name == name),
        key=lambda found: (found.status.phase is ManualRemediationPhase.SUCCEEDED, found.metadata.namespace),
    )
    open_ = await _read_open(cluster, mine[0], view) if mine else None
    return ExplainFacts(
        node=node,
        view=view,
        open_=open_,
        elsewhere=tuple(f"{found.metadata.namespace}/{name}" for found in mine[1:]),
        leaders=leaders,
        now=cluster.now,
        etcd_hosts=await find_etcd_hosts(cluster),
        power_cycle=_open_of(power, name),
        by_itself=_open_of(by_itself, name),
        unseen=spell_unread({"Metal3Remediations": power, "SelfRemediations": by_itself}),
        unread=(*spell_unread(_around(open_)), *unread_leaders(leaders)),
    )


def _open_of(found: ReadResult[list[R]], node: str) -> R | None:
    mine = found.value if isinstance(found, Present) else []
    return next((one for one in mine if node_of(one) == node and is_open(one)), None)


def _around(open_: ManualFacts | None) -> Mapping[str, object]:
    if open_ is None:
        return {}
    return {"The kubelet's Lease": open_.lease, "The lock on the node": open_.lock}


def conditions_by_writing(node: NodeRecord, now: datetime) -> tuple[ConditionSeen, ...]:
    """Convert conditions, with ages from their transition times.

    A command has not watched the node, so it has no observation times.
    """
    return tuple(
        ConditionSeen(
            type=condition.type,
            status=read_status(condition.status),
            seen_for=written_age(condition.last_transition_time, now),
        )
        for condition in node.conditions
    )


def lease_by_writing(lease: LeaseFacts, now: datetime) -> LeaseFacts:
    """Return the Lease with its silence computed from its renew time.

    With an invalid renew time the Lease is returned unchanged, so the kubelet does not count as silent.
    """
    renewed = written_moment(lease.renew_time)
    if renewed is None:
        return lease
    return replace(lease, unchanged_for=max((now - renewed).total_seconds(), 0.0))


@dataclass(frozen=True, slots=True)
class _Listed:
    """The cluster-wide inputs of the remediator's guard, from fresh lists."""

    nodes: Store[NodeRecord]
    checks: Store[NodeHealthCheck]
    policies: Store[RemediationPolicy]
    synced: bool = True

    def not_ready_for(self, _uid: str) -> float:
        return 0.0

    def freshness(self, _guard_target: GuardTarget, _now: float) -> CacheFreshness:
        return CacheFreshness(age=0.0, age_limit=inf, error_free_for=inf, calm_needed=0.0)

    def busy(self, _guard_target: GuardTarget, _now: float) -> Busy:
        return Busy()

    def control_plane(self, _guard_target: GuardTarget, _busy: Busy) -> None:
        return None


async def _read_open(cluster: Cluster, remediation: ManualRemediation, view: NodeView) -> ManualFacts:
    """Gather the facts of a remediation as the leader that last wrote its status would."""
    in_progress, listed = ConcurrencyTracker(cluster.reader), _Listed(view.nodes, view.checks, view.policies)
    switch = RemediatorGuard(listed, cluster.reader.runtime, in_progress, last_start=-inf)
    status = remediation.status
    around, tenure = NodeReader(cluster.reader), LeaderTerm(status.epoch, 0, -inf)
    driver = ManualDriver(cluster.reader, around, switch, cluster.system_namespace, tenure)
    facts = (await driver.gather(remediation, cluster.now.timestamp())).facts
    if isinstance(facts.lease, Present):
        facts = replace(facts, lease=Present(lease_by_writing(facts.lease.value, cluster.now)))
    if isinstance(facts.left, Unreadable):
        # The caller may have fewer rights than the remediator, which reports these counts in the status.
        facts = replace(facts, left=Present(RemainingWorkloads(status.pods_left, status.attachments_left)))
    return facts


def guard_facts(facts: ExplainFacts, target: NodeTarget) -> GuardFacts:
    """Compute the facts as a checker would that had watched since the times written in the objects."""
    moment = Clocks(NOW_IN_VIEW, facts.now)
    control_plane_index = ControlPlaneIndex()
    control_plane_index.note_etcd(facts.etcd_hosts.nodes, facts.view.nodes.get)
    inputs = NodeGuardInputs(facts.view, control_plane_index)
    evaluator = GuardEvaluator(inputs, now=NOW_IN_VIEW, last_start=-inf)
    for node in facts.view.nodes.all():
        control_plane_index.observe(node)
        other = targets.find_target(facts.view, node.name)
        if other is not None:
            placed = evaluator.place_target(guard_target_of(other, facts.now), moment)
            evaluator.target_index.upsert(node.name, placed.place, _entry(facts, other))
    for name, place in _deleted_targets(facts):
        evaluator.target_index.upsert(name, place, TargetStatus(TargetState.DELETED))
    return evaluator.evaluate(evaluator.place_target(guard_target_of(target, facts.now), moment), moment)


def _deleted_targets(facts: ExplainFacts) -> Iterator[tuple[str, CountScope]]:
    """Yield deleted Nodes that still count.

    Only the checker observed their deletion and recorded it in the status.
    """
    for check in facts.view.checks.all():
        for report in check.status.reports:
            if report.verdict == TargetState.DELETED and facts.view.nodes.get(report.name) is None:
                yield report.name, CountScope(check.metadata.name)


def _entry(facts: ExplainFacts, target: NodeTarget) -> TargetStatus:
    if targets.find_remediation(facts.view, target) is not None:
        return TargetStatus(TargetState.REMEDIATING)
    health = evaluate_health(target.check.spec.thresholds, conditions_by_writing(target.node, facts.now))
    return HEALTHY if isinstance(health, Healthy) else TargetStatus(TargetState.UNHEALTHY)
