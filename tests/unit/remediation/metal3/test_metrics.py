"""Metrics of power cycles: counts, phase durations, and what a new leader leaves out."""

import pytest

from nodemend.api import well_known
from nodemend.api.meta import ObjectMeta
from nodemend.api.metal3_remediation import Metal3RemediationStatus
from nodemend.api.upstream_types import BareMetalHost
from nodemend.remediation.metal3 import model as power
from nodemend.remediation.metal3.holds import HostGone, NeverObservedOff
from nodemend.remediation.status import WaitingForNewBoot
from nodemend.safety import lifecycle as steps
from nodemend.telemetry.metrics import HeldFor, HostName
from simulation.scheduler import EPOCH, Scheduler
from tests.unit.remediation.metal3.power_worlds import (
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
from tests.unit.remediation.metal3.recorded_power_events import RecordedEvents

SLOW, LOST = NeverObservedOff("metal3/h1", 300.0), WaitingForNewBoot("n1")


@pytest.fixture
def reported() -> RecordedEvents:
    return RecordedEvents(Scheduler(1))


def take(reported: RecordedEvents, status: Metal3RemediationStatus, step: power.Step, after: float) -> None:
    reported.later(after)
    reported.recorder.took(remediation(status), step)


def phase_of(reported: RecordedEvents, phase: str, result: str = "done") -> tuple[float | None, float | None]:
    """The number of phases that ended this way, and their total duration."""
    labels = {"kind": "Metal3Remediation", "phase": phase, "result": result}
    return (
        reported.value("phase_duration_seconds_count", **labels),
        reported.value("phase_duration_seconds_sum", **labels),
    )


def test_each_phase_of_a_life_is_measured_once(reported: RecordedEvents) -> None:
    take(reported, FRESH, steps.AddFinalizer(), 0.0)
    take(reported, BOUND, power.PreparePowerOff("10", ()), 5.0)
    take(reported, ASKED, power.RequestPowerOff(HOST), 1.0)
    take(reported, NOTED, steps.RecordEvidence(PROOF), 60.0)
    take(reported, LEAVING, steps.MarkReleased(), 20.0)
    take(reported, POWERING_ON, power.ClearPowerOff(HOST), 2.0)
    take(reported, POWERING_ON, steps.Close(node_gone=False), 120.0)

    assert phase_of(reported, "pending") == (1.0, 5.0)
    assert phase_of(reported, "power-off") == (1.0, 61.0)
    assert phase_of(reported, "release") == (1.0, 20.0)
    assert phase_of(reported, "power-on") == (1.0, 122.0)
    assert reported.samples("power_switches_total") == {("off",): 1.0, ("on",): 1.0}


def test_an_attempt_that_fails_is_counted_by_what_it_failed_at(reported: RecordedEvents) -> None:
    take(reported, BOUND, power.PreparePowerOff("10", ()), 0.0)
    take(reported, ASKED, power.FailAttempt(SLOW, permanent=False), 300.0)
    take(reported, BACKING_OFF, power.StartNextAttempt(), 30.0)
    take(reported, POWERING_ON, power.FailAttempt(LOST, permanent=False), 0.0)
    take(reported, ASKED, power.FailAttempt(HostGone("metal3/h1"), permanent=True), 0.0)

    assert phase_of(reported, "power-off", "failed") == (1.0, 300.0)
    assert phase_of(reported, "backing-off") == (1.0, 30.0)
    failures = {key: count for key, count in reported.samples("power_cycle_failures_total").items() if count}
    assert failures == {
        ("no", "NeverObservedOff"): 1.0,
        ("no", "WaitingForNewBoot"): 1.0,
        ("yes", "HostGone"): 1.0,
    }


def test_a_failure_that_never_was_is_zero_so_that_the_first_is_seen(reported: RecordedEvents) -> None:
    assert reported.value("power_cycle_failures_total", reason="NeverObservedOff", permanent="no") == 0.0
    assert len(reported.samples("power_cycle_failures_total")) <= 70


def test_a_host_that_is_observed_on_again_stays_in_the_same_phase(reported: RecordedEvents) -> None:
    take(reported, BOUND, power.PreparePowerOff("10", ()), 0.0)
    take(reported, ASKED, power.PreparePowerOff("11", ()), 40.0)
    take(reported, NOTED, steps.RecordEvidence(PROOF), 20.0)

    assert phase_of(reported, "power-off") == (1.0, 60.0)


def test_a_phase_that_another_leader_saw_begin_is_not_measured(reported: RecordedEvents) -> None:
    take(reported, NOTED, steps.RecordEvidence(PROOF), 60.0)

    assert reported.samples("phase_duration_seconds_count") == {}


def test_nor_one_that_went_on_elsewhere_meanwhile(reported: RecordedEvents) -> None:
    """Another leader saw it fail and start again, so its phase is not the one whose start was observed."""
    take(reported, BOUND, power.PreparePowerOff("10", ()), 0.0)
    take(reported, NOTED.but(retry_count=1), steps.RecordEvidence(PROOF), 600.0)
    take(reported, POWERING_ON.but(retry_count=1), steps.Close(node_gone=False), 60.0)

    assert reported.samples("phase_duration_seconds_count") == {}


def test_held_hosts_and_those_marked_by_nodemend_are_named(reported: RecordedEvents) -> None:
    marks = dict.fromkeys(well_known.HOST_UNHEALTHY, well_known.MARKED_BY_US)
    ours = BareMetalHost(metadata=ObjectMeta(name="dead", namespace="metal3", annotations=marks))
    theirs = BareMetalHost(
        metadata=ObjectMeta(name="other", namespace="metal3", annotations={well_known.HOST_UNHEALTHY[0]: ""})
    )
    reported.recorder.looked([ours, theirs], [HeldFor(HostName("metal3", "h1"), "m-1")])
    reported.later(60.0)
    reported.recorder.looked([ours, theirs], [HeldFor(HostName("metal3", "h1"), "m-1")])

    held = {("h1", "metal3", "m-1"): EPOCH.timestamp()}
    assert reported.samples("host_held_since_timestamp_seconds") == held
    assert reported.samples("host_unhealthy") == {("dead", "metal3"): 1.0}
    reported.metrics.forget_work()
    assert reported.samples("host_held_since_timestamp_seconds") == {}


@pytest.mark.parametrize(("why_kept", "outcome"), [("", "cleared"), ("it has our taint", "kept")])
def test_orphaned_holds_are_counted_by_their_outcome(
    reported: RecordedEvents, why_kept: str, outcome: str
) -> None:
    host = BareMetalHost(metadata=ObjectMeta(name="h1", namespace="metal3", uid="host-1"))
    reported.recorder.report_orphaned(host, why_kept)

    assert reported.samples("power_off_requests_left_behind_total") == {(outcome,): 1.0}
    [event] = reported.events
    assert (event.reason, event.regarding.kind, event.regarding.name) == (
        "PowerOffRequestLeftBehind",
        "BareMetalHost",
        "h1",
    )
