"""From counts and caches to what the guard asks."""

from datetime import UTC, datetime
from math import inf
from typing import Any

import pytest

from nodemend.api.conditions import Condition, ConditionStatus
from nodemend.api.label_selector import LabelSelector
from nodemend.api.node_health_check import MaintenanceCondition, NodeHealthCheck, NodeHealthCheckSpec
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.pause import Pause
from nodemend.api.remediation_policy import (
    FailureDomains,
    Mode,
    RemediationPolicy,
    RemediationPolicySpec,
    RemediationPolicyStatus,
)
from nodemend.controllers.checking.control_plane_roll import ControlPlaneRoll
from nodemend.controllers.checking.guarding import (
    CALM_NEEDED,
    VIEW_GOOD_FOR,
    Guarding,
    Moment,
    stormy,
)
from nodemend.controllers.checking.node_checks import maintained_by
from nodemend.controllers.checking.standings import HEALTHY, Entry, Place, Standing
from nodemend.controllers.checking.ward import Ward
from nodemend.controllers.checking.weather import Weather
from nodemend.controllers.node_exclusion import record_excluded_by
from nodemend.controllers.node_health_check.gather import Target, View
from nodemend.controllers.node_health_check.surroundings import NodeSurroundings
from nodemend.controllers.node_health_check.wards import anybody_under, ward_of
from nodemend.decide.facts import Absent, Present
from nodemend.decide.guard_facts import Census, Domain, Sight
from nodemend.decide.guard_holds import Paused, Settling, TooManyUnhealthy
from nodemend.decide.holds import Hold
from nodemend.decide.limits import Percent
from nodemend.decide.storm_guard import Go, guard
from nodemend.kube.node_record import NodeRecord
from tests.unit.controllers.node_health_check.node_worlds import a_node, a_view

WALL = datetime(2026, 1, 31, 12, tzinfo=UTC)
ZONE = "topology.kubernetes.io/zone"
SICK = Entry(Standing.UNHEALTHY)


def a_check(**spec: Any) -> NodeHealthCheck:
    usual: dict[str, Any] = {"selector": LabelSelector(), "thresholds": (), "remedies": ()}
    return NodeHealthCheck(
        metadata=ObjectMeta(name="workers", uid="c1"), spec=NodeHealthCheckSpec(**usual | spec)
    )


def acting(**spec: Any) -> RemediationPolicy:
    return RemediationPolicy(
        metadata=ObjectMeta(name="cluster", uid="p1"), spec=RemediationPolicySpec(mode=Mode.ACT, **spec)
    )


def a_guarding(view: View) -> Guarding:
    around = NodeSurroundings(view, ControlPlaneRoll())
    return Guarding(around, Weather(stormy_before=False, now=0.0), last_start=-inf)


def a_ward(node: NodeRecord | None = None, check: NodeHealthCheck | None = None) -> Ward:
    return ward_of(Target(node or a_node("n1", Ready="Unknown"), check or a_check(), ()), WALL)


def a_moment(now: float) -> Moment:
    return Moment(now, WALL)


def test_a_target_is_counted_in_the_domain_that_the_policy_s_label_names() -> None:
    node = a_node("n1", {ZONE: "zone-a"}, Ready="Unknown")
    ward = a_ward(node)

    assert a_guarding(a_view(policy=acting())).place_of(ward, a_moment(0)) == Place("workers", "")
    domains = acting(failure_domains=FailureDomains())
    assert a_guarding(a_view(policy=domains)).place_of(ward, a_moment(0)) == Place("workers", "zone-a")
    assert a_guarding(a_view()).place_of(ward, a_moment(0)) == Place("workers", "")


def test_what_the_guard_is_told() -> None:
    guarding = a_guarding(a_view(policy=acting(failure_domains=FailureDomains(), max_unhealthy="30%")))
    here = Place("workers", "zone-a")
    guarding.standings.enter("n1", here, SICK)
    guarding.standings.enter("n2", here, HEALTHY)
    guarding.standings.enter("n3", Place("others", "zone-b"), HEALTHY)
    facts = guarding.facts_of(a_ward(), here, a_moment(5.0))

    assert isinstance(facts.policy, Present)
    assert facts.policy.value.max_unhealthy == Percent(30)
    assert (facts.of_check, facts.of_cluster) == (Census(2, 1, 0), Census(3, 1, 0))
    assert facts.of_domain == Domain("zone-a", Census(2, 1, 0))
    assert facts.check.gate == Percent(50)
    assert (facts.others, facts.control_plane, facts.since_last_start) == (Present(0), None, inf)
    assert facts.sight == Sight(5.0, VIEW_GOOD_FOR, inf, CALM_NEEDED)


def test_trouble_with_the_nodes_is_remembered() -> None:
    view = a_view(policy=acting())
    view.nodes.troubled_at = 3.0
    facts = a_guarding(view).facts_of(a_ward(), Place("workers"), a_moment(5.0))
    assert facts.sight == Sight(5.0, VIEW_GOOD_FOR, 2.0, CALM_NEEDED)


@pytest.mark.conforms("N16")
def test_a_storm_is_noticed_and_settles_when_it_ends() -> None:
    guarding, here = a_guarding(a_view(policy=acting())), Place("workers")
    ward = a_ward()
    for name in ("n1", "n2"):
        guarding.standings.enter(name, here, SICK)
    guarding.standings.enter("n3", here, HEALTHY)
    guarding.look_around(ward, here, a_moment(1.0))
    assert guard(guarding.facts_of(ward, here, a_moment(1.0))) == Hold(
        TooManyUnhealthy("the cluster", 2, 3, "40%", 1)
    )
    assert guarding.weather(a_moment(1.0)) == "Raging"

    guarding.standings.enter("n2", here, HEALTHY)
    guarding.look_around(ward, here, a_moment(2.0))
    assert guard(guarding.facts_of(ward, here, a_moment(2.0))) == Hold(Settling(300.0))
    assert guarding.weather(a_moment(2.0)) == "Settling"
    assert guard(guarding.facts_of(ward, here, a_moment(89.0))) == Hold(Settling(213.0))


def test_nobody_unhealthy_is_no_storm_even_when_the_limit_is_zero() -> None:
    guarding, here = a_guarding(a_view(policy=acting(max_unhealthy=0))), Place("workers")
    guarding.standings.enter("n1", here, HEALTHY)
    guarding.look_around(a_ward(), here, a_moment(1.0))
    assert guarding.weather(a_moment(1.0)) == ""


def test_small_domains_have_no_storms() -> None:
    guarding = a_guarding(a_view(policy=acting(failure_domains=FailureDomains(), max_unhealthy="100%")))
    here = Place("workers", "zone-a")
    check = a_check(max_unhealthy="100%")
    for name in ("n1", "n2"):
        guarding.standings.enter(name, here, SICK)
    guarding.standings.enter("n3", here, HEALTHY)
    guarding.look_around(a_ward(check=check), here, a_moment(1.0))
    assert guarding.weather(a_moment(1.0)) == ""
    guarding.standings.enter("n4", here, HEALTHY)
    guarding.look_around(a_ward(check=check), here, a_moment(2.0))
    assert guarding.weather(a_moment(2.0)) == "Raging"


def test_a_check_s_status_asks_about_nobody_in_particular() -> None:
    guarding = a_guarding(a_view(policy=acting()))
    guarding.last_start = 0.0
    guarding.standings.enter("n1", Place("workers"), HEALTHY)
    assert guarding.of_check(anybody_under(a_check(), WALL), a_moment(1.0)) == Go()
    paused = a_check(pause=Pause(reason="swap", by="anna"))
    assert guarding.of_check(anybody_under(paused, WALL), a_moment(1.0)) == Hold(
        Paused("anna", "swap", "workers")
    )


def test_a_pause_of_the_policy_ends_by_itself() -> None:
    until = Pause(reason="swap", until="2026-01-31T12:00:10Z")
    guarding = a_guarding(a_view(policy=acting(pause=until)))
    before = guarding.policy(a_moment(0.0))
    after = guarding.policy(Moment(0.0, WALL.replace(second=10)))
    assert isinstance(before, Present)
    assert before.value.pause == until
    assert isinstance(after, Present)
    assert after.value.pause is None
    assert a_guarding(a_view()).policy(a_moment(0.0)) == Absent()


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
def test_what_the_last_leader_wrote_of_a_storm_is_believed(status: ConditionStatus, *, was: bool) -> None:
    storm = Condition(type="Storm", status=status, reason="Raging", last_transition_time="")
    policy = acting().but(status=RemediationPolicyStatus(conditions=(storm,)))
    assert stormy(a_view(policy=policy).policies) == was
    assert not stormy(a_view(policy=acting()).policies)
    assert not stormy(a_view().policies)
