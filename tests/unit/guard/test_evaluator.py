"""From counts and caches to what the guard asks."""

from datetime import UTC, datetime
from math import inf
from typing import Any

import pytest

from nodemend.api.meta import Condition, ConditionStatus, LabelSelector, ObjectMeta, Pause
from nodemend.api.node_health_check import MaintenanceCondition, NodeHealthCheck, NodeHealthCheckSpec
from nodemend.api.remediation_policy import (
    FailureDomains,
    Mode,
    RemediationPolicy,
    RemediationPolicySpec,
    RemediationPolicyStatus,
)
from nodemend.guard.evaluator import CALM_NEEDED, VIEW_GOOD_FOR, Clocks, GuardEvaluator, storm_before
from nodemend.guard.state import (
    HEALTHY,
    ControlPlaneIndex,
    CountScope,
    GuardTarget,
    PlacedTarget,
    TargetState,
    TargetStatus,
    maintained_by,
)
from nodemend.health.node.targets import NodeGuardInputs, NodeTarget, NodeView, anybody_under, guard_target_of
from nodemend.records.live_reads import record_excluded_by
from nodemend.records.node import NodeRecord
from nodemend.safety.facts import Absent, Present
from nodemend.safety.guard import Allowed, CacheFreshness, Domain, HealthCounts, guard
from nodemend.safety.guard_holds import CoolingDown, Paused, TooManyUnhealthy
from nodemend.safety.holds import Hold
from nodemend.safety.limits import Percent
from tests.unit.health.node.node_worlds import a_node, a_view

WALL = datetime(2026, 1, 31, 12, tzinfo=UTC)
ZONE = "topology.kubernetes.io/zone"
SICK = TargetStatus(TargetState.UNHEALTHY)


def a_check(**spec: Any) -> NodeHealthCheck:
    usual: dict[str, Any] = {"selector": LabelSelector(), "thresholds": (), "remedies": ()}
    return NodeHealthCheck(
        metadata=ObjectMeta(name="workers", uid="c1"), spec=NodeHealthCheckSpec(**usual | spec)
    )


def acting(**spec: Any) -> RemediationPolicy:
    return RemediationPolicy(
        metadata=ObjectMeta(name="cluster", uid="p1"), spec=RemediationPolicySpec(mode=Mode.ACT, **spec)
    )


def a_guard_evaluator(view: NodeView) -> GuardEvaluator:
    around = NodeGuardInputs(view, ControlPlaneIndex())
    return GuardEvaluator(around, now=0.0, last_start=-inf)


def a_guard_target(node: NodeRecord | None = None, check: NodeHealthCheck | None = None) -> GuardTarget:
    return guard_target_of(NodeTarget(node or a_node("n1", Ready="Unknown"), check or a_check(), ()), WALL)


def a_moment(now: float) -> Clocks:
    return Clocks(now, WALL)


def test_a_target_is_counted_in_the_domain_that_the_policy_s_label_names() -> None:
    node = a_node("n1", {ZONE: "zone-a"}, Ready="Unknown")
    guard_target = a_guard_target(node)

    assert a_guard_evaluator(a_view(policy=acting())).place_target(
        guard_target, a_moment(0)
    ).place == CountScope("workers", "")
    domains = acting(failure_domains=FailureDomains())
    assert a_guard_evaluator(a_view(policy=domains)).place_target(
        guard_target, a_moment(0)
    ).place == CountScope("workers", "zone-a")
    assert a_guard_evaluator(a_view()).place_target(guard_target, a_moment(0)).place == CountScope(
        "workers", ""
    )


def test_the_facts_that_the_guard_gets() -> None:
    evaluator = a_guard_evaluator(
        a_view(policy=acting(failure_domains=FailureDomains(), max_unhealthy="30%"))
    )
    here = CountScope("workers", "zone-a")
    evaluator.target_index.upsert("n1", here, SICK)
    evaluator.target_index.upsert("n2", here, HEALTHY)
    evaluator.target_index.upsert("n3", CountScope("others", "zone-b"), HEALTHY)
    facts = evaluator.evaluate(PlacedTarget(a_guard_target(), here), a_moment(5.0))

    assert isinstance(facts.policy, Present)
    assert facts.policy.value.max_unhealthy == Percent(30)
    assert (facts.of_check, facts.of_cluster) == (HealthCounts(2, 1, 0), HealthCounts(3, 1, 0))
    assert facts.of_domain == Domain("zone-a", HealthCounts(2, 1, 0))
    assert facts.check.gate == Percent(50)
    assert (facts.others, facts.control_plane, facts.since_last_start) == (Present(0), None, inf)
    assert facts.freshness == CacheFreshness(5.0, VIEW_GOOD_FOR, inf, CALM_NEEDED)


def test_trouble_with_the_nodes_is_remembered() -> None:
    view = a_view(policy=acting())
    view.nodes.troubled_at = 3.0
    facts = a_guard_evaluator(view).evaluate(
        PlacedTarget(a_guard_target(), CountScope("workers")), a_moment(5.0)
    )
    assert facts.freshness == CacheFreshness(5.0, VIEW_GOOD_FOR, 2.0, CALM_NEEDED)


@pytest.mark.conforms("N16")
def test_a_storm_is_detected_and_settles_when_it_ends() -> None:
    evaluator, here = a_guard_evaluator(a_view(policy=acting())), CountScope("workers")
    guard_target = a_guard_target()
    for name in ("n1", "n2"):
        evaluator.target_index.upsert(name, here, SICK)
    evaluator.target_index.upsert("n3", here, HEALTHY)
    evaluator.update_storms(PlacedTarget(guard_target, here), a_moment(1.0))
    assert guard(evaluator.evaluate(PlacedTarget(guard_target, here), a_moment(1.0))) == Hold(
        TooManyUnhealthy("the cluster", 2, 3, "40%", 1)
    )
    assert evaluator.storm_state(a_moment(1.0)) == "StormActive"

    evaluator.target_index.upsert("n2", here, HEALTHY)
    evaluator.update_storms(PlacedTarget(guard_target, here), a_moment(2.0))
    assert guard(evaluator.evaluate(PlacedTarget(guard_target, here), a_moment(2.0))) == Hold(
        CoolingDown(300.0)
    )
    assert evaluator.storm_state(a_moment(2.0)) == "CoolingDown"
    assert guard(evaluator.evaluate(PlacedTarget(guard_target, here), a_moment(89.0))) == Hold(
        CoolingDown(213.0)
    )


def test_no_unhealthy_node_is_no_storm_even_with_a_limit_of_zero() -> None:
    evaluator, here = a_guard_evaluator(a_view(policy=acting(max_unhealthy=0))), CountScope("workers")
    evaluator.target_index.upsert("n1", here, HEALTHY)
    evaluator.update_storms(PlacedTarget(a_guard_target(), here), a_moment(1.0))
    assert evaluator.storm_state(a_moment(1.0)) == ""


def test_small_domains_have_no_storms() -> None:
    evaluator = a_guard_evaluator(
        a_view(policy=acting(failure_domains=FailureDomains(), max_unhealthy="100%"))
    )
    here = CountScope("workers", "zone-a")
    check = a_check(max_unhealthy="100%")
    for name in ("n1", "n2"):
        evaluator.target_index.upsert(name, here, SICK)
    evaluator.target_index.upsert("n3", here, HEALTHY)
    evaluator.update_storms(PlacedTarget(a_guard_target(check=check), here), a_moment(1.0))
    assert evaluator.storm_state(a_moment(1.0)) == ""
    evaluator.target_index.upsert("n4", here, HEALTHY)
    evaluator.update_storms(PlacedTarget(a_guard_target(check=check), here), a_moment(2.0))
    assert evaluator.storm_state(a_moment(2.0)) == "StormActive"


def test_a_check_s_status_is_evaluated_without_a_target() -> None:
    evaluator = a_guard_evaluator(a_view(policy=acting()))
    evaluator.last_start = 0.0
    evaluator.target_index.upsert("n1", CountScope("workers"), HEALTHY)
    assert evaluator.of_check(anybody_under(a_check(), WALL), a_moment(1.0)) == Allowed()
    paused = a_check(pause=Pause(reason="swap", by="anna"))
    assert evaluator.of_check(anybody_under(paused, WALL), a_moment(1.0)) == Hold(
        Paused("anna", "swap", "workers")
    )


def test_a_pause_of_the_policy_ends_by_itself() -> None:
    until = Pause(reason="swap", until="2026-01-31T12:00:10Z")
    evaluator = a_guard_evaluator(a_view(policy=acting(pause=until)))
    before = evaluator.policy(a_moment(0.0))
    after = evaluator.policy(Clocks(0.0, WALL.replace(second=10)))
    assert isinstance(before, Present)
    assert before.value.pause == until
    assert isinstance(after, Present)
    assert after.value.pause is None
    assert a_guard_evaluator(a_view()).policy(a_moment(0.0)) == Absent()


@pytest.mark.conforms("N11")
@pytest.mark.parametrize(
    ("node", "by"),
    [
        (a_node("n1"), ""),
        (a_node("n1", {"nodemend.io/exclude": ""}), "nodemend.io/exclude"),
        (a_node("n1", {"nodemend.io/exclude": "true"}), "nodemend.io/exclude"),
        (a_node("n1", {"nodemend.io/exclude": "false"}), ""),
        (
            a_node("n1", {"remediation.medik8s.io/exclude-from-remediation": "true"}),
            "remediation.medik8s.io/exclude-from-remediation",
        ),
        (a_node("n1", {"remediation.medik8s.io/exclude-from-remediation": "false"}), ""),
        (a_node("n1", {"remediation.medik8s.io/exclude-from-remediation": ""}), ""),
    ],
)
def test_who_is_to_be_left_alone(node: NodeRecord, by: str) -> None:
    assert record_excluded_by(node) == by


def test_an_annotation_says_so_too() -> None:
    annotated = a_node("n1", annotations=(("nodemend.io/exclude", "until the disk is in"),))
    assert record_excluded_by(annotated) == "nodemend.io/exclude"


@pytest.mark.conforms("N15", "N21")
@pytest.mark.parametrize(
    ("shown", "by"),
    [
        ({}, ""),
        ({"Maintenance": "False"}, ""),
        ({"Maintenance": "True"}, "Maintenance=True"),
        ({"Draining": "Unknown"}, "Draining=Unknown"),
    ],
)
def test_a_node_in_maintenance_says_so_by_a_condition(shown: dict[str, Any], by: str) -> None:
    awaited = (
        MaintenanceCondition(type="Maintenance"),
        MaintenanceCondition(type="Draining", status=ConditionStatus.UNKNOWN),
    )
    assert maintained_by(a_check(maintenance=awaited), a_node("n1", **shown).conditions) == by


@pytest.mark.parametrize(("status", "was"), [(ConditionStatus.TRUE, True), (ConditionStatus.FALSE, False)])
def test_the_storm_state_of_the_previous_leader_is_accepted(status: ConditionStatus, *, was: bool) -> None:
    storm = Condition(type="Storm", status=status, reason="StormActive", last_transition_time="")
    policy = acting().but(status=RemediationPolicyStatus(conditions=(storm,)))
    assert storm_before(a_view(policy=policy).policies) == was
    assert not storm_before(a_view(policy=acting()).policies)
    assert not storm_before(a_view().policies)
