"""Every step and every hold of a power cycle is told: in the log, in the metrics, and on the Node."""

from typing import get_args

import pytest

from nodemend.api.event import EventType
from nodemend.api.node_deletion import NodeBackup
from nodemend.api.power_cycle import HeldHost, Metal3RemediationStatus
from nodemend.decide import power_cycle_steps as power
from nodemend.decide import remediation_steps as steps
from nodemend.decide.fence_evidence import SeenOff
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.decide.host_holds import HostOn, NeverSeenOff, NobodyReplaces, SpokeAfterRelease
from nodemend.decide.release_gate import ReleaseTicket, open_gate
from nodemend.decide.storm_guard import Go
from nodemend.testing.scheduler import EPOCH, Scheduler
from tests.unit.controllers.power_cycle.power_telling import Told
from tests.unit.decide.power_worlds import (
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
from tests.unit.decide.worlds import SILENT_NODE

SLOW, NOBODY = NeverSeenOff("metal3/h1", 300.0), NobodyReplaces("it has no Machine")
KEPT = NodeBackup(labels={"rack": "b"}, unschedulable=True)
HELD_HOST = HeldHost(namespace="metal3", name="h1", uid="host-1")
W, N = EventType.WARNING, EventType.NORMAL


@pytest.fixture
def told() -> Told:
    return Told(Scheduler(1))


def ticket() -> ReleaseTicket:
    given = open_gate(SILENT_NODE, PROOF, SeenOff(OFF, "12:00:00"), Go(), 7)
    assert isinstance(given, ReleaseTicket)
    return given


LOUD: tuple[tuple[power.Step, str, EventType, str], ...] = (
    (power.PlaceHold(HOST), "PowerOffRequested", W, "metal3/h1 is to be switched off."),
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
        "n1 is marked out of service: its pods and volumes are released, as BareMetalHost metal3/h1 is off.",
    ),
    (
        power.DeleteNode(ticket()),
        "ReleaseStarted",
        W,
        "The Node n1 is deleted: its pods and volumes are released, as BareMetalHost metal3/h1 is off.",
    ),
    (
        power.Restore(SILENT_NODE, KEPT),
        "NodeRestored",
        N,
        "The Node n1 is there again, and gets back: rack, its cordon.",
    ),
    (steps.MarkReleased(), "WorkloadsReleased", N, "The pods and volumes of n1 are gone from it."),
    (steps.Untaint(SILENT_NODE), "OutOfServiceTaintRemoved", N, "n1 is marked out of service no longer."),
    (
        steps.Untaint(SILENT_NODE, contradicted=True),
        "NodeContradictedEvidence",
        W,
        "n1 may be running, although its host was seen off. Its workloads may run twice.",
    ),
    (steps.ForgetEvidence(HostOn("metal3/h1")), "EvidenceVoided", W, str(explain(HostOn("metal3/h1")))),
    (power.GiveBack(HOST), "PowerOnRequested", N, "Our hold on metal3/h1 is gone: it may go on."),
    (
        power.GiveUp(SLOW, for_good=False),
        "PowerCycleFailed",
        W,
        f"{explain(SLOW)} It is tried again.",
    ),
    (power.GiveUp(NOBODY, for_good=True), "RemediationFailed", W, str(explain(NOBODY))),
    (power.MarkHost(HOST), "HostMarkedUnhealthy", W, "metal3/h1 is not picked for another machine."),
    (
        power.AskOwner(),
        "MachineHandedOver",
        W,
        "Power cycles did not help: the machine's owner is asked to replace it.",
    ),
    (steps.Close(node_gone=False), "RemediationSucceeded", N, "n1 is back on a new boot."),
    (steps.DropFinalizer(), "RemediationStopped", N, "Deleted, and ended at its safe point."),
    (
        steps.DropFinalizer("metal3/h1"),
        "PowerNotBack",
        W,
        "Deleted, and ended at its safe point; metal3/h1 has not come back on.",
    ),
)
QUIET: tuple[power.Step, ...] = (
    steps.AddFinalizer(),
    steps.Stamp(),
    power.RecordTarget("n1", "uid-1", "boot-1", HELD_HOST),
    steps.TakeLock(),
    power.WantOff("10", ()),
    power.NoteOff(SEEN),
    power.VoidHold(HOST),
    power.ClearVoidedHold(HOST),
    power.BackUp(KEPT),
    power.ForgetBackup(),
    steps.ReportLeft(steps.Left(1, 1)),
    steps.ForgetTaint(),
    steps.VoidOnNode(SILENT_NODE, "mark"),
    steps.ForgetEvidence(None),
    steps.ClearVoidMark(SILENT_NODE),
    power.BeginAgain(),
    power.HandOver(),
    steps.DropLock(),
    steps.Done(),
)


@pytest.mark.parametrize(("step", "reason", "type_", "note"), LOUD, ids=lambda case: type(case).__name__)
def test_what_people_should_hear_is_an_event_on_the_node(
    told: Told, step: power.Step, reason: str, type_: EventType, note: str
) -> None:
    told.recorder.took(remediation(RELEASING), step)

    [event] = told.events
    assert (event.reason, event.type, event.note) == (reason, type_, note)
    assert (event.regarding.kind, event.regarding.name, event.regarding.uid) == ("Node", "n1", "uid-1")
    assert event.related is not None
    assert (event.related.kind, event.related.uid) == ("Metal3Remediation", "rem-1")


@pytest.mark.parametrize("step", QUIET, ids=lambda step: type(step).__name__)
def test_what_is_only_housekeeping_is_logged_and_counted(told: Told, step: power.Step) -> None:
    told.recorder.took(remediation(ASKED), step)

    assert told.events == []
    assert told.lines[0]["step"] == type(step).__name__
    counted = {"controller": "power_cycle", "verdict": type(step).__name__}
    assert told.value("decisions_total", **counted) == 1


@pytest.mark.parametrize("over", [SUCCEEDED, FAILED], ids=["succeeded", "failed"])
def test_the_end_of_one_that_is_over_is_no_news(told: Told, over: Metal3RemediationStatus) -> None:
    told.recorder.took(remediation(over), steps.DropFinalizer())

    assert told.events == []


def test_every_kind_of_step_is_tried_here() -> None:
    known = {type(step) for step in QUIET} | {type(case[0]) for case in LOUD} | {Hold}

    assert known == set(get_args(power.Step))


def test_a_hold_is_shown_until_a_step_ends_it(told: Told) -> None:
    told.recorder.held(remediation(ASKED), Hold(SLOW))
    labels = {"kind": "Metal3Remediation", "namespace": "metal3", "name": "n1", "reason": "NeverSeenOff"}
    labels["released"] = "no"
    since = "remediation_held_since_timestamp_seconds"
    assert told.value(since, **labels) == EPOCH.timestamp()

    told.recorder.took(remediation(ASKED), steps.Stamp())
    assert told.value(since, **labels) == EPOCH.timestamp()
    told.recorder.took(remediation(ASKED), power.NoteOff(SEEN))
    assert told.value(since, **labels) is None


@pytest.mark.attack("U3")
def test_a_host_that_was_not_the_nodes_own_is_told_when_it_is_given_up(told: Told) -> None:
    spoke = SpokeAfterRelease("metal/h1", "boot boot-1, by a new Node")
    told.recorder.took(remediation(POWERING_ON), power.GiveUp(spoke, for_good=True))

    assert [event.reason for event in told.events] == ["NodeContradictedEvidence", "RemediationFailed"]
