"""Power cycles in figures: what is counted, how long phases took, and what a new leader does not make up."""

import pytest

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.power_cycle import Metal3RemediationStatus
from nodemend.decide import power_cycle_steps as power
from nodemend.decide import remediation_steps as steps
from nodemend.decide.holds import NotBackYet
from nodemend.decide.host_holds import HostGone, NeverSeenOff
from nodemend.telemetry.host_book import HeldFor, HostName
from nodemend.testing.scheduler import EPOCH, Scheduler
from tests.unit.controllers.power_cycle.power_telling import Told
from tests.unit.decide.power_worlds import (
    ASKED,
    BACKING_OFF,
    BOUND,
    FRESH,
    HOST,
    LEAVING,
    NOTED,
    POWERING_ON,
    PROOF,
    remediation,
)

SLOW, LOST = NeverSeenOff("metal3/h1", 300.0), NotBackYet("n1")


@pytest.fixture
def told() -> Told:
    return Told(Scheduler(1))


def take(told: Told, status: Metal3RemediationStatus, step: power.Step, after: float) -> None:
    told.later(after)
    told.recorder.took(remediation(status), step)


def phase_of(told: Told, phase: str, result: str = "done") -> tuple[float | None, float | None]:
    """How many, and how long together."""
    labels = {"kind": "Metal3Remediation", "phase": phase, "result": result}
    return (
        told.value("phase_duration_seconds_count", **labels),
        told.value("phase_duration_seconds_sum", **labels),
    )


def test_each_phase_of_a_life_is_measured_once(told: Told) -> None:
    take(told, FRESH, steps.AddFinalizer(), 0.0)
    take(told, BOUND, power.WantOff("10", ()), 5.0)
    take(told, ASKED, power.PlaceHold(HOST), 1.0)
    take(told, NOTED, steps.RecordEvidence(PROOF), 60.0)
    take(told, LEAVING, steps.MarkReleased(), 20.0)
    take(told, POWERING_ON, power.GiveBack(HOST), 2.0)
    take(told, POWERING_ON, steps.Close(node_gone=False), 120.0)

    assert phase_of(told, "pending") == (1.0, 5.0)
    assert phase_of(told, "power-off") == (1.0, 61.0)
    assert phase_of(told, "release") == (1.0, 20.0)
    assert phase_of(told, "power-on") == (1.0, 122.0)
    assert told.samples("power_switches_total") == {("off",): 1.0, ("on",): 1.0}


def test_an_attempt_that_fails_is_counted_by_what_it_failed_at(told: Told) -> None:
    take(told, BOUND, power.WantOff("10", ()), 0.0)
    take(told, ASKED, power.GiveUp(SLOW, for_good=False), 300.0)
    take(told, BACKING_OFF, power.BeginAgain(), 30.0)
    take(told, POWERING_ON, power.GiveUp(LOST, for_good=False), 0.0)
    take(told, ASKED, power.GiveUp(HostGone("metal3/h1"), for_good=True), 0.0)

    assert phase_of(told, "power-off", "failed") == (1.0, 300.0)
    assert phase_of(told, "backing-off") == (1.0, 30.0)
    failures = {key: count for key, count in told.samples("power_cycle_failures_total").items() if count}
    assert failures == {("no", "NeverSeenOff"): 1.0, ("no", "NotBackYet"): 1.0, ("yes", "HostGone"): 1.0}


def test_a_failure_that_never_was_is_zero_so_that_the_first_is_seen(told: Told) -> None:
    assert told.value("power_cycle_failures_total", reason="NeverSeenOff", for_good="no") == 0.0
    assert len(told.samples("power_cycle_failures_total")) <= 70


def test_a_host_that_is_seen_on_anew_is_still_in_the_same_phase(told: Told) -> None:
    take(told, BOUND, power.WantOff("10", ()), 0.0)
    take(told, ASKED, power.WantOff("11", ()), 40.0)
    take(told, NOTED, steps.RecordEvidence(PROOF), 20.0)

    assert phase_of(told, "power-off") == (1.0, 60.0)


def test_a_phase_that_another_leader_saw_begin_is_not_measured(told: Told) -> None:
    take(told, NOTED, steps.RecordEvidence(PROOF), 60.0)

    assert told.samples("phase_duration_seconds_count") == {}


def test_nor_one_that_went_on_elsewhere_meanwhile(told: Told) -> None:
    """Another led while it failed once and began again: that is not the stay that we saw begin."""
    take(told, BOUND, power.WantOff("10", ()), 0.0)
    take(told, NOTED.but(retry_count=1), steps.RecordEvidence(PROOF), 600.0)
    take(told, POWERING_ON.but(retry_count=1), steps.Close(node_gone=False), 60.0)

    assert told.samples("phase_duration_seconds_count") == {}


def test_hosts_that_are_held_and_those_marked_by_us_are_named(told: Told) -> None:
    marks = dict.fromkeys(keys.HOST_UNHEALTHY, keys.MARKED_BY_US)
    ours = BareMetalHost(metadata=ObjectMeta(name="dead", namespace="metal3", annotations=marks))
    theirs = BareMetalHost(
        metadata=ObjectMeta(name="other", namespace="metal3", annotations={keys.HOST_UNHEALTHY[0]: ""})
    )
    told.recorder.looked([ours, theirs], [HeldFor(HostName("metal3", "h1"), "m-1")])
    told.later(60.0)
    told.recorder.looked([ours, theirs], [HeldFor(HostName("metal3", "h1"), "m-1")])

    held = {("h1", "metal3", "m-1"): EPOCH.timestamp()}
    assert told.samples("host_held_since_timestamp_seconds") == held
    assert told.samples("host_unhealthy") == {("dead", "metal3"): 1.0}
    told.metrics.forget_work()
    assert told.samples("host_held_since_timestamp_seconds") == {}


@pytest.mark.parametrize(("why_kept", "outcome"), [("", "given_back"), ("it has our taint", "kept")])
def test_holds_left_behind_are_counted_by_what_became_of_them(
    told: Told, why_kept: str, outcome: str
) -> None:
    host = BareMetalHost(metadata=ObjectMeta(name="h1", namespace="metal3", uid="host-1"))
    told.recorder.left_behind(host, why_kept)

    assert told.samples("holds_left_behind_total") == {(outcome,): 1.0}
    [event] = told.events
    assert (event.reason, event.regarding.kind, event.regarding.name) == (
        "HoldLeftBehind",
        "BareMetalHost",
        "h1",
    )
