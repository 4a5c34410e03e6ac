"""Every step and every hold of a power cycle is reported: in the log, in the metrics, and on the Node."""

from typing import get_args

import pytest

from nodemend.api.metal3_remediation import Metal3RemediationStatus, NodeBackup, TargetHost
from nodemend.api.upstream_types import EventType
from nodemend.remediation.metal3 import model as power
from nodemend.remediation.metal3.holds import ActiveAfterRelease, NeverObservedOff, NoMachineReplacement
from nodemend.safety import lifecycle as steps
from nodemend.safety.guard import Allowed
from nodemend.safety.holds import Hold
from nodemend.safety.host_power import HostOn
from nodemend.safety.power_off import SeenOff
from nodemend.safety.release import ReleaseTicket, open_gate
from simulation.scheduler import EPOCH, Scheduler
from tests.unit.remediation.metal3.power_worlds import (
    ASKED,
    FAILED,
    HOST,
    OFF,
    POWERING_ON,
    PROOF,
    RELEASING,
    SEEN,
    SUCCEEDED,
    remediation,
)
from tests.unit.remediation.metal3.recorded_power_events import RecordedEvents
from tests.unit.safety.worlds import SILENT_NODE

SLOW, NO_REPLACEMENT = NeverObservedOff("metal3/h1", 300.0), NoMachineReplacement("it has no Machine")
KEPT = NodeBackup(labels={"rack": "b"}, unschedulable=True)
HELD_HOST = TargetHost(namespace="metal3", name="h1", uid="host-1")
W, N = EventType.WARNING, EventType.NORMAL


@pytest.fixture
def reported() -> RecordedEvents:
    return RecordedEvents(Scheduler(1))


def ticket() -> ReleaseTicket:
    given = open_gate(SILENT_NODE, PROOF, SeenOff(OFF, "12:00:00"), Allowed(), 7)
    assert isinstance(given, ReleaseTicket)
    return given


LOUD: tuple[tuple[power.Step, str, EventType, str], ...] = (
    (
        power.RequestPowerOff(HOST),
        "PowerOffRequested",
        W,
        "Nodemend requested metal3 to power off metal3/h1.",
    ),
    (
        steps.RecordEvidence(PROOF),
        "PowerOffConfirmed",
        W,
        f"BareMetalHost metal3/h1 is off: {PROOF.reason}.",
    ),
    (
        steps.Release(ticket()),
        "ReleaseStarted",
        W,
        (
            "Set the out-of-service taint on n1, because BareMetalHost metal3/h1 is off: its pods and "
            "volumes are released."
        ),
    ),
    (
        power.DeleteNode(ticket()),
        "ReleaseStarted",
        W,
        "Deleted the Node n1, because BareMetalHost metal3/h1 is off: its pods and volumes are released.",
    ),
    (
        power.Restore(SILENT_NODE, KEPT),
        "NodeRestored",
        N,
        "The Node n1 exists again, and Nodemend restores: rack, its cordon.",
    ),
    (steps.MarkReleased(), "WorkloadsReleased", N, "All pods and volumes that must leave n1 have left."),
    (
        steps.RemoveTaint(SILENT_NODE),
        "OutOfServiceTaintRemoved",
        N,
        "Removed the out-of-service taint from n1.",
    ),
    (
        steps.RemoveTaint(SILENT_NODE, contradicted=True),
        "NodeContradictedEvidence",
        W,
        "n1 may be running although its host was observed off. Its workloads may run twice.",
    ),
    (steps.ForgetEvidence(HostOn("metal3/h1")), "EvidenceRevoked", W, str(HostOn("metal3/h1").explain())),
    (
        power.ClearPowerOff(HOST),
        "PowerOnRequested",
        N,
        "Nodemend cleared its power-off request on metal3/h1: metal3 powers the host on.",
    ),
    (
        power.FailAttempt(SLOW, permanent=False),
        "PowerCycleFailed",
        W,
        f"{SLOW.explain()} Nodemend tries again after a pause.",
    ),
    (
        power.FailAttempt(NO_REPLACEMENT, permanent=True),
        "RemediationFailed",
        W,
        str(NO_REPLACEMENT.explain()),
    ),
    (power.MarkHost(HOST), "HostMarkedUnhealthy", W, "metal3/h1 is not picked for another machine."),
    (
        power.AskOwner(),
        "MachineReplacementRequested",
        W,
        "Power cycles did not help: Nodemend requests a replacement from the Machine's owner.",
    ),
    (steps.Close(node_gone=False), "RemediationSucceeded", N, "n1 is back on a new boot."),
    (
        steps.DropFinalizer(),
        "RemediationStopped",
        N,
        "The remediation was deleted before it succeeded, and has ended.",
    ),
    (
        steps.DropFinalizer("metal3/h1"),
        "PowerNotRestored",
        W,
        "The remediation was deleted and has ended; metal3/h1 is not powered on again.",
    ),
)
QUIET: tuple[power.Step, ...] = (
    steps.AddFinalizer(),
    steps.RecordEpoch(),
    power.RecordHostTarget("n1", "uid-1", "boot-1", HELD_HOST),
    steps.TakeLock(),
    power.PreparePowerOff("10", ()),
    power.RecordOff(SEEN),
    power.RevokePowerOff(HOST),
    power.ClearRevokedPowerOff(HOST),
    power.BackUp(KEPT),
    power.ForgetBackup(),
    steps.ReportRemaining(steps.RemainingWorkloads(1, 1)),
    steps.ForgetTaint(),
    steps.RevokeRelease(SILENT_NODE, "mark"),
    steps.ForgetEvidence(None),
    steps.ClearRevocation(SILENT_NODE),
    power.StartNextAttempt(),
    power.ReplaceMachine(),
    steps.DropLock(),
    steps.NothingLeft(),
)


@pytest.mark.parametrize(("step", "reason", "type_", "note"), LOUD, ids=lambda case: type(case).__name__)
def test_important_changes_are_events_on_the_node(
    reported: RecordedEvents, step: power.Step, reason: str, type_: EventType, note: str
) -> None:
    reported.recorder.took(remediation(RELEASING), step)

    [event] = reported.events
    assert (event.reason, event.type, event.note) == (reason, type_, note)
    assert (event.regarding.kind, event.regarding.name, event.regarding.uid) == ("Node", "n1", "uid-1")
    assert event.related is not None
    assert (event.related.kind, event.related.uid) == ("Metal3Remediation", "rem-1")


@pytest.mark.parametrize("step", QUIET, ids=lambda step: type(step).__name__)
def test_what_is_only_housekeeping_is_logged_and_counted(reported: RecordedEvents, step: power.Step) -> None:
    reported.recorder.took(remediation(ASKED), step)

    assert reported.events == []
    assert reported.lines[0]["step"] == step.step
    counted = {"controller": "power_cycle", "verdict": step.step}
    assert reported.value("decisions_total", **counted) == 1


@pytest.mark.parametrize("over", [SUCCEEDED, FAILED], ids=["succeeded", "failed"])
def test_an_ended_remediation_causes_no_second_event(
    reported: RecordedEvents, over: Metal3RemediationStatus
) -> None:
    reported.recorder.took(remediation(over), steps.DropFinalizer())

    assert reported.events == []


def test_every_kind_of_step_is_tried_here() -> None:
    known = {type(step) for step in QUIET} | {type(case[0]) for case in LOUD} | {Hold}

    assert known == set(get_args(power.Step))


def test_a_hold_is_shown_until_a_step_ends_it(reported: RecordedEvents) -> None:
    reported.recorder.held(remediation(ASKED), Hold(SLOW))
    labels = {"kind": "Metal3Remediation", "namespace": "metal3", "name": "n1", "reason": "NeverObservedOff"}
    labels["released"] = "no"
    since = "remediation_held_since_timestamp_seconds"
    assert reported.value(since, **labels) == EPOCH.timestamp()

    reported.recorder.took(remediation(ASKED), steps.RecordEpoch())
    assert reported.value(since, **labels) == EPOCH.timestamp()
    reported.recorder.took(remediation(ASKED), power.RecordOff(SEEN))
    assert reported.value(since, **labels) is None


@pytest.mark.attack("U3")
def test_a_host_of_another_node_is_reported_when_it_is_released(reported: RecordedEvents) -> None:
    spoke = ActiveAfterRelease("metal/h1", "boot boot-1, by a new Node")
    reported.recorder.took(remediation(POWERING_ON), power.FailAttempt(spoke, permanent=True))

    assert [event.reason for event in reported.events] == ["NodeContradictedEvidence", "RemediationFailed"]
