"""The simulated order, holds and ends. Remediations take ten minutes."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.cli.simulate.engine import simulate
from nodemend.cli.simulate.log import HoldPeriod, RemediationOutcome, RunLog, StepKind
from nodemend.health.remediation_index import NotServed
from tests.unit.cli.simulate.clusters import (
    Object,
    check,
    control_plane,
    edge_cluster,
    node,
    policy,
    remediation,
    remedy,
    workers,
)
from tests.unit.cli.simulate.simulated import a_plan, a_snapshot, begun, holds, simulated, steps

PLAIN = [*workers(), check("workers"), policy()]


def plain(spec: dict[str, Any] | None = None, **of_check: Any) -> list[Object]:
    return [*workers(), check("workers", **of_check), policy(**spec or {})]


def ended(story: RunLog) -> list[tuple[str, RemediationOutcome, float | None]]:
    return [(attempt.node, attempt.ending, attempt.over_at) for attempt in story.attempts]


def test_without_a_failure_nothing_happens() -> None:
    story = simulated(edge_cluster())
    assert (story.steps, story.attempts, list(story.hold_periods.all())) == ([], [], [])
    assert story.watched == 27


def test_the_timeline_of_one_failure() -> None:
    assert steps(simulated(PLAIN, "edge-a1@2m")) == [
        (120, StepKind.FAIL, ["edge-a1"]),
        (420, StepKind.UNHEALTHY, ["edge-a1"]),
        (420, StepKind.BEGIN, ["edge-a1"]),
        (1020, StepKind.BACK, ["edge-a1"]),
        (1050, StepKind.CLOSE, ["edge-a1"]),
    ]


def test_a_node_that_recovers_in_time_is_left_alone() -> None:
    story = simulated(PLAIN, "edge-a1@2m", heals=("edge-a1@6m59s",))
    assert steps(story) == [(120, StepKind.FAIL, ["edge-a1"]), (419, StepKind.HEAL, ["edge-a1"])]


def test_a_node_that_recovers_during_its_remediation_has_it_withdrawn() -> None:
    story = simulated(PLAIN, "edge-a1@0s", heals=("*@8m",))
    assert ended(story) == [("edge-a1", RemediationOutcome.WITHDRAWN, 510)]


def test_the_longest_unhealthy_node_goes_first_then_by_name() -> None:
    story = simulated(plain({"maxConcurrent": 1}), "edge-b*:2@1m", "edge-a1@2m", "edge-a2@1m")
    assert begun(story) == [(360, "edge-a2"), (960, "edge-b1"), (1560, "edge-b5"), (2160, "edge-a1")]


def test_beginnings_are_paced() -> None:
    story = simulated(plain({"minInterval": "25s", "maxConcurrentPercent": 50}), "edge-a*:3@0s")
    assert begun(story) == [(300, "edge-a1"), (325, "edge-a3"), (350, "edge-a6")]
    assert holds(story) == [(300, "StartInterval", ["edge-a3", "edge-a6"])]


def test_without_a_pace_remediations_start_up_to_the_limit_at_once() -> None:
    story = simulated(plain({"minInterval": "0s", "maxConcurrentPercent": 10}), "edge-a*:3@0s")
    assert begun(story) == [(300, "edge-a1"), (300, "edge-a3"), (900, "edge-a6")]
    assert story.most_at_once == 2


def test_a_pace_is_kept_even_if_slots_become_free_one_by_one() -> None:
    """Two end three seconds apart; the second free slot is used when the interval is over."""
    fails = ("edge-a1@0s", "edge-a2@3s", "edge-b1@4s", "edge-b2@5s")
    story = simulated(plain({"minInterval": "0s"}), *fails)
    assert [at for at, _ in begun(story)] == [300, 303, 900, 903]
    paced = simulated(plain({"minInterval": "10s"}), *fails)
    assert [at for at, _ in begun(paced)] == [300, 310, 900, 910]


def test_a_freed_slot_in_another_zone_is_used_after_the_interval() -> None:
    sick = node("edge-x", "a", ready="Unknown", since="2026-01-31T11:00:00Z")
    zoned = plain({"failureDomains": {}, "maxConcurrent": 2, "minInterval": "47s"})
    story = simulated(
        [sick, remediation("edge-x"), *zoned], "edge-a1@0s", "edge-b*:2@1s", heals=("edge-a1@575s",)
    )
    assert begun(story) == [(300, "edge-a1"), (600, "edge-b1"), (647, "edge-b5")]


def test_a_storm_of_sixty_percent_remediates_no_node() -> None:
    story = simulated(PLAIN, "*:60%@2m")
    assert begun(story) == []
    assert [step.what for step in story.steps] == [
        StepKind.FAIL,
        StepKind.STORM,
        StepKind.UNHEALTHY,
        StepKind.HOLD,
    ]
    assert {spell.until for spell in story.hold_periods.all()} == {None}


def test_after_a_storm_and_the_settle_time_unhealthy_nodes_are_remediated() -> None:
    story = simulated(PLAIN, "*:60%@2m", heals=("*:14@20m",))
    assert [(at, reason, len(nodes)) for at, reason, nodes in holds(story)] == [
        (420, "TooManyUnhealthy", 15),
        (1200, "CoolingDown", 1),
    ]
    assert [at for at, _ in begun(story)] == [1500]


def test_a_storm_in_one_zone_holds_only_that_zone() -> None:
    zoned = plain({"failureDomains": {}}, maxUnhealthy="100%")
    story = simulated(zoned, "zone=b:4@0s", "edge-a1@0s")
    assert begun(story) == [(300, "edge-a1")]
    assert {spell.sort for spell in story.hold_periods.all()} == {("TooManyUnhealthy", "domain b")}


def test_a_zone_settles_by_itself() -> None:
    zoned = plain({"failureDomains": {}}, maxUnhealthy="100%")
    story = simulated(zoned, "zone=b:4@0s", heals=("zone=b:3@10m",))
    assert begun(story) == [(900, "edge-b7")]


def test_a_zone_is_one_also_where_two_checks_share_it() -> None:
    teams = [node(f"{team}{place}", "b", labels={"team": team}) for team in "xy" for place in range(4)]
    checks = [
        check(team, selector={"matchLabels": {"team": team}}, maxUnhealthy="100%") for team in ("x", "y")
    ]
    limits = policy(maxUnhealthy="100%", failureDomains={})
    story = simulated([*teams, *checks, limits], "x1@0s", "y*:3@0s", heals=("y*@10m",))
    assert [(at, reason) for at, reason, nodes in holds(story) if "x1" in nodes] == [
        (300, "TooManyUnhealthy"),
        (600, "CoolingDown"),
    ]
    assert begun(story) == [(900, "x1")]


def test_one_node_of_the_control_plane_at_a_time() -> None:
    objects = [
        *control_plane(),
        check("all", maxUnhealthy="100%"),
        policy(maxUnhealthy="100%", maxConcurrent=3),
    ]
    alone = simulated(objects, "cp-2@0s")
    assert begun(alone) == [(300, "cp-2")]
    two = simulated(objects, "cp-2@0s", "cp-3@0s")
    assert begun(two) == []
    assert holds(two) == [(300, "QuorumAtRisk", ["cp-2", "cp-3"])]


def test_a_node_of_the_control_plane_waits_for_those_of_other_zones() -> None:
    limits = policy(maxUnhealthy="100%", failureDomains={"maxUnhealthy": "100%"})
    objects = [*control_plane(), check("all", maxUnhealthy="100%"), limits]
    story = simulated(objects, "cp-2@0s", "cp-3@0s", heals=("cp-3@10m",))
    assert begun(story) == [(600, "cp-2")]


def test_a_remedy_that_does_not_heal_in_its_time_is_given_up_for_the_next() -> None:
    ladder = plain(remedies=[remedy("NodeFence", "5m"), remedy()])
    story = simulated(ladder, "edge-a1@0s", takes=900)
    assert [(one.begins_at, one.remedy, one.number) for one in story.attempts] == [
        (300, "NodeFence", 1),
        (600, "ManualRemediation", 2),
    ]
    assert ended(story) == [
        ("edge-a1", RemediationOutcome.GIVEN_UP, 600),
        ("edge-a1", RemediationOutcome.HEALED, 1530),
    ]


def test_a_node_that_stays_unhealthy_escalates_to_the_last_step_and_stays_there() -> None:
    ladder = plain(remedies=[remedy("NodeFence"), remedy()])
    story = simulated(ladder, "edge-a1@0s", stays_unhealthy=("edge-a1",))
    assert [(one.begins_at, one.number) for one in story.attempts] == [(300, 1), (900, 2)]
    assert list(story.hold_periods.all()) == [HoldPeriod("edge-a1", ("RemediesExhausted", ""), 1500, None)]
    assert steps(story, StepKind.STILL_UNHEALTHY) == [
        (900, StepKind.STILL_UNHEALTHY, ["edge-a1"]),
        (1500, StepKind.STILL_UNHEALTHY, ["edge-a1"]),
    ]


def test_an_already_unhealthy_node_is_judged_by_its_recorded_time() -> None:
    since = node("edge-x", "a", ready="Unknown", since="2026-01-31T11:57:00Z")
    assert begun(simulated([since, *PLAIN])) == [(120, "edge-x")]


def test_a_running_remediation_takes_a_slot() -> None:
    sick = node("edge-x", "a", ready="Unknown", since="2026-01-31T11:00:00Z")
    story = simulated([sick, remediation("edge-x"), *plain({"maxConcurrent": 1})], "edge-a1@0s")
    assert steps(story, StepKind.BACK) == [
        (600, StepKind.BACK, ["edge-x"]),
        (1200, StepKind.BACK, ["edge-a1"]),
    ]
    assert begun(story) == [(600, "edge-a1")]


@pytest.mark.parametrize("with_node", [True, False])
def test_a_remediation_that_no_controller_starts_frees_its_slot(*, with_node: bool) -> None:
    """Its kind is switched off. In a cluster, the checker stops counting it after two minutes."""
    unserved = remediation("edge-x") | {"status": {}}
    sick = [
        node(name, "a", ready="Unknown", since="2026-01-31T11:00:00Z")
        for name in (("edge-x", "edge-y") if with_node else ("edge-y",))
    ]
    story = simulated([*sick, unserved, *plain({"maxConcurrent": 1})])
    assert holds(story)[0] == (0, "TooManyAtOnce", ["edge-y"])
    assert begun(story) == [(120, "edge-y")]


def test_the_simulation_waits_for_another_controller_s_remediation() -> None:
    sick = node("edge-x", "a", ready="Unknown", since="2026-01-31T11:00:00Z")
    theirs = remediation("edge-x", "another")
    story = simulated([sick, theirs, *PLAIN, check("another", selector={"matchLabels": {"a": "b"}})])
    assert holds(story) == [(0, "OtherRemediation", ["edge-x"])]
    assert steps(story, StepKind.BACK) == [(600, StepKind.BACK, ["edge-x"])]
    assert begun(story) == []


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        (plain({"mode": "DryRun"}), "DryRun"),
        ([*workers(), check("workers")], "DryRun"),
        (plain(dryRun=True), "CheckDryRun"),
        (plain({"pause": {"reason": "swap"}}), "Paused"),
        (plain(pause={"reason": "swap"}), "Paused"),
    ],
)
def test_operator_settings_hold(objects: list[Object], reason: str) -> None:
    story = simulated(objects, "edge-a1@0s")
    assert holds(story) == [(300, reason, ["edge-a1"])]
    assert begun(story) == []


@pytest.mark.parametrize("of_check", [False, True])
def test_a_pause_ends_at_its_end_time(*, of_check: bool) -> None:
    pause = {"pause": {"reason": "swap", "until": "2026-01-31T12:07:30Z"}}
    story = simulated(plain(**pause) if of_check else plain(pause), "edge-a1@0s")
    assert begun(story) == [(450, "edge-a1")]


def test_an_excluded_or_maintained_node_stays_held() -> None:
    working = {"type": "Working", "status": "True"}
    objects = [
        node("n1", labels={"nodemend.io/exclude": ""}),
        node("n2", conditions=[working]),
        *plain(maintenance=[{"type": "Working"}]),
    ]
    story = simulated(objects, "n*@0s")
    assert holds(story) == [(300, "Excluded", ["n1"]), (300, "InMaintenance", ["n2"])]


def test_a_node_that_no_check_watches_fails_unseen() -> None:
    story = simulated(
        [*PLAIN[:-2], check("few", selector={"matchLabels": {"a": "b"}}), policy()], "edge-a1@0s"
    )
    assert steps(story) == [(0, StepKind.FAIL, ["edge-a1"])]
    assert story.watched == 0


def test_other_symptoms() -> None:
    deadlock = plain(thresholds=[{"type": "KernelDeadlock", "status": "True", "period": "1m"}])
    story = simulated(deadlock, "edge-a1@0s", symptom="KernelDeadlock=True")
    assert begun(story) == [(60, "edge-a1")]
    assert ended(story) == [("edge-a1", RemediationOutcome.HEALED, 690)]


def test_a_second_failure_finds_others() -> None:
    story = simulated(plain(maxUnhealthy="100%"), "edge-a*:2@0s", "edge-a*:2@1m")
    assert steps(story, StepKind.FAIL) == [
        (0, StepKind.FAIL, ["edge-a1", "edge-a5"]),
        (60, StepKind.FAIL, ["edge-a2", "edge-a6"]),
    ]


def test_a_node_that_fails_again_is_remediated_again() -> None:
    story = simulated(PLAIN, "edge-a1@0s", "edge-a1@15m10s")
    assert begun(story) == [(300, "edge-a1"), (1210, "edge-a1")]


def test_a_remedy_that_the_cluster_does_not_serve_is_a_hold() -> None:
    snapshot = a_snapshot(PLAIN)
    unserved = dict.fromkeys(snapshot.kinds, NotServed("no such kind"))
    story = simulate(replace(snapshot, kinds=unserved), a_plan("edge-a1@0s"))
    assert holds(story) == [(300, "CannotRead", ["edge-a1"])]


def test_the_simulation_ends_at_the_given_time() -> None:
    story = simulated(PLAIN, "edge-a1@0s", lasts=600)
    assert ended(story) == [("edge-a1", RemediationOutcome.UNDER_WAY, None)]
    assert all(step.at <= 600 for step in story.steps)
