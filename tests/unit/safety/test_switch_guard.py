"""Every question of the guard is asked before anything irreversible, for every kind of remediation."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from nodemend.api.meta import ConditionStatus, Pause
from nodemend.api.remediation_policy import Mode
from nodemend.remediation.manual import decide
from nodemend.remediation.metal3 import decide as power_cycle_phases
from nodemend.remediation.metal3.model import PreparePowerOff, RequestPowerOff
from nodemend.remediation.self_fencing import decide as self_remediation
from nodemend.remediation.self_fencing.decide import PlaceMarker, StartFencing
from nodemend.safety import guard_holds
from nodemend.safety.facts import Absent, DomainLimits, Present, ReadResult, Unreadable
from nodemend.safety.guard import (
    CacheFreshness,
    CacheUnavailable,
    CheckFacts,
    ControlPlane,
    Domain,
    HealthCounts,
)
from nodemend.safety.holds import CacheStale, CannotRead, Hold
from nodemend.safety.lifecycle import RecordEvidence
from nodemend.safety.limits import Percent
from nodemend.safety.switch_guard import (
    OBSERVED_FOR,
    RemediationGrounds,
    RemediatorGuardFacts,
    TargetObservation,
    check_grounds,
    may_begin,
    may_go_on,
    may_release,
)
from tests.unit.remediation.metal3 import power_worlds
from tests.unit.remediation.self_fencing import fencing_worlds
from tests.unit.safety import worlds
from tests.unit.safety.worlds import ACTING, allowing, switch

POLICY = replace(
    ACTING,
    max_concurrent=4,
    max_concurrent_percent=20,
    domains=DomainLimits("zone", Percent(50), min_nodes=2, max_concurrent=1),
    settle_time=300.0,
    min_interval=10.0,
)
PAUSED = replace(ACTING, pause=Pause(reason="swap", by="anna"))
Decision = Callable[[Present[RemediatorGuardFacts]], object]


def _manual(facts: Present[RemediatorGuardFacts]) -> object:
    return decide.decide(worlds.facts(worlds.remediation(worlds.AWAITING), switch=facts))


def _power_begins(facts: Present[RemediatorGuardFacts]) -> object:
    return power_cycle_phases.decide(power_worlds.facts(power_worlds.BOUND, switch=facts))


def _power_goes_on(facts: Present[RemediatorGuardFacts]) -> object:
    return power_cycle_phases.decide(power_worlds.facts(power_worlds.ASKED, switch=facts))


def _self_begins(facts: Present[RemediatorGuardFacts]) -> object:
    about = fencing_worlds.remediation(fencing_worlds.PENDING)
    return self_remediation.decide(fencing_worlds.facts(about, switch=facts))


def _self_goes_on(facts: Present[RemediatorGuardFacts]) -> object:
    about = fencing_worlds.remediation(fencing_worlds.FENCING)
    return self_remediation.decide(fencing_worlds.facts(about, switch=facts))


BEGINNINGS = {"power cycle": _power_begins, "self-fencing": _self_begins}
GOING_ON = {"power-off request": _power_goes_on, "marker": _self_goes_on}
ALL = {**BEGINNINGS, **GOING_ON, "confirmation": _manual}
SAID: list[tuple[str, ReadResult[Any], dict[str, Any], type]] = [
    ("no policy", Absent(), {}, guard_holds.DryRun),
    ("unreadable policy", Unreadable("500"), {}, CannotRead),
    ("dry run", Present(allowing(Mode.DRY_RUN, None, 9)), {}, guard_holds.DryRun),
    ("pause", Present(PAUSED), {}, guard_holds.Paused),
    (
        "dry run of the check",
        Present(POLICY),
        {"check": CheckFacts("c", dry_run=True)},
        guard_holds.CheckDryRun,
    ),
    ("excluded", Present(POLICY), {"excluded_by": "label"}, guard_holds.Excluded),
    ("maintenance", Present(POLICY), {"maintained_by": "x=True"}, guard_holds.InMaintenance),
    ("unsynced", Present(POLICY), {"freshness": CacheUnavailable("not listed yet")}, CannotRead),
    ("stale", Present(POLICY), {"freshness": CacheFreshness(91.0, 90.0, 100.0, 20.0)}, CacheStale),
]
STORMS: list[tuple[str, ReadResult[Any], dict[str, Any], type]] = [
    ("cluster", Present(POLICY), {"of_cluster": HealthCounts(10, 4, 0)}, guard_holds.TooManyUnhealthy),
    (
        "domain",
        Present(POLICY),
        {"of_domain": Domain("z", HealthCounts(4, 2, 0))},
        guard_holds.TooManyUnhealthy,
    ),
    (
        "check",
        Present(POLICY),
        {"check": CheckFacts("c", gate=Percent(30)), "of_check": HealthCounts(10, 4, 0)},
        guard_holds.TooManyUnhealthy,
    ),
    ("settling", Present(POLICY), {"cooldown": 3.0}, guard_holds.CoolingDown),
    (
        "unsettled",
        Present(POLICY),
        {"freshness": CacheFreshness(1.0, 90.0, 3.0, 20.0)},
        guard_holds.RecentApiErrors,
    ),
]
COUNTS: list[tuple[str, ReadResult[Any], dict[str, Any], type]] = [
    ("count", Present(POLICY), {"others": Present(4)}, guard_holds.TooManyAtOnce),
    ("share", Present(POLICY), {"others": Present(2)}, guard_holds.TooManyAtOnce),
    (
        "count of a domain",
        Present(POLICY),
        {"of_domain": Domain("z", HealthCounts(9, 1, 1))},
        guard_holds.TooManyAtOnce,
    ),
    ("unknown count", Present(POLICY), {"others": Unreadable("500")}, CannotRead),
    ("pace", Present(POLICY), {"since_last_start": 9.0}, guard_holds.StartInterval),
]


def table(kinds: Mapping[str, Decision], cases: list[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("way", "policy", "changes", "expected"),
        [
            pytest.param(way, policy, changes, expected, id=f"{kind}: {case}")
            for kind, way in kinds.items()
            for case, policy, changes, expected in cases
        ],
    )


def holds_by(step: object) -> type:
    assert isinstance(step, Hold), step
    return type(step.reason)


@pytest.mark.attack("S7")
@table(ALL, SAID)
def test_what_people_said_and_what_is_not_seen_holds_every_kind(
    way: Decision, policy: ReadResult[Any], changes: dict[str, Any], expected: type
) -> None:
    assert holds_by(way(switch(policy, **changes))) is expected


@pytest.mark.attack("S7")
@table({**BEGINNINGS, **GOING_ON}, STORMS)
def test_a_storm_holds_the_switch(
    way: Decision, policy: ReadResult[Any], changes: dict[str, Any], expected: type
) -> None:
    assert holds_by(way(switch(policy, **changes))) is expected


@table({"confirmation": _manual}, STORMS)
def test_a_confirmed_machine_is_not_held_by_the_storm_that_it_is_part_of(
    way: Decision, policy: ReadResult[Any], changes: dict[str, Any], expected: type
) -> None:
    """It stays off until its workloads are released: the storm would never end."""
    assert isinstance(way(switch(policy, **changes)), RecordEvidence), expected


@pytest.mark.attack("S7")
@table({**BEGINNINGS, "confirmation": _manual}, COUNTS)
def test_count_share_and_pace_hold_every_beginning(
    way: Decision, policy: ReadResult[Any], changes: dict[str, Any], expected: type
) -> None:
    assert holds_by(way(switch(policy, **changes))) is expected


@table(GOING_ON, [case for case in COUNTS if case[3] is not CannotRead])
def test_what_has_begun_is_counted_by_the_others_and_waits_for_none(
    way: Decision, policy: ReadResult[Any], changes: dict[str, Any], expected: type
) -> None:
    assert isinstance(way(switch(policy, **changes)), RequestPowerOff | PlaceMarker), expected


@pytest.mark.parametrize("way", [*BEGINNINGS.values(), *GOING_ON.values()])
def test_where_nothing_holds_it_begins(way: Decision) -> None:
    assert isinstance(
        way(switch(Present(POLICY))), PreparePowerOff | RequestPowerOff | StartFencing | PlaceMarker
    )


@pytest.mark.parametrize("way", [*BEGINNINGS.values(), *GOING_ON.values()])
def test_an_order_past_the_guard_passes_measures_and_not_the_quorum(way: Decision) -> None:
    past = RemediationGrounds(Absent(), ordered=True, past_guard=True)
    full = {
        "of_cluster": HealthCounts(10, 9, 0),
        "others": Present(9),
        "since_last_start": 0.0,
        "cooldown": 9.0,
    }
    assert not isinstance(way(switch(Present(POLICY), grounds=past, **full)), Hold)
    lost = switch(Present(POLICY), grounds=past, control_plane=Present(ControlPlane(3, 1, "")), **full)
    assert holds_by(way(lost)) is guard_holds.QuorumAtRisk
    assert holds_by(way(switch(Present(PAUSED), grounds=past))) is guard_holds.Paused


NOT_READY = TargetObservation("n1", ConditionStatus.UNKNOWN, OBSERVED_FOR, kubelet_silent=False)
WELL = TargetObservation("n1", ConditionStatus.TRUE, 0.0, kubelet_silent=False)
STRANGER = RemediationGrounds(Absent())


@pytest.mark.attack("S7")
@pytest.mark.parametrize(
    ("target", "grounds", "expected"),
    [
        (NOT_READY, STRANGER, None),
        (None, STRANGER, None),
        (replace(NOT_READY, ready=ConditionStatus.FALSE), STRANGER, None),
        (replace(NOT_READY, not_ready_for=19.0), STRANGER, guard_holds.NotReadyBriefly(19.0, OBSERVED_FOR)),
        (replace(NOT_READY, not_ready_for=0.0, kubelet_silent=True), STRANGER, None),
        (replace(NOT_READY, not_ready_for=0.0), RemediationGrounds(Absent(), ordered=True), None),
        (replace(NOT_READY, not_ready_for=0.0), RemediationGrounds(Present(True)), None),
        (WELL, STRANGER, guard_holds.NodeHealthy("n1")),
        (WELL, RemediationGrounds(Present(True)), None),
        (WELL, RemediationGrounds(Present(False)), guard_holds.NodeHealthy("n1")),
        (WELL, RemediationGrounds(Unreadable("500")), CannotRead("the check that asked for it", "500")),
        (WELL, RemediationGrounds(Absent(), ordered=True, past_guard=True), guard_holds.NodeHealthy("n1")),
        (WELL, RemediationGrounds(Absent(), drill=True), None),
        (replace(WELL, kubelet_silent=True), STRANGER, None),
    ],
)
def test_there_must_be_a_reason_to_end_a_node(
    target: TargetObservation | None, grounds: RemediationGrounds, expected: object
) -> None:
    assert check_grounds(target, grounds) == expected


@pytest.mark.parametrize("ask", [may_begin, may_go_on, may_release])
def test_what_was_not_asked_is_not_allowed(
    ask: Callable[[ReadResult[RemediatorGuardFacts]], Hold | None],
) -> None:
    assert isinstance(ask(Unreadable("not asked")), Hold)
    assert isinstance(ask(Absent()), Hold)
