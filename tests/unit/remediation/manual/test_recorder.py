"""Every step and every hold is reported: in the log, in the metrics, and as an event on the Node."""

import io
import json
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from prometheus_client import CollectorRegistry

from nodemend.api.manual_remediation import ManualRemediationPhase
from nodemend.api.meta import ObjectMeta, OwnerReference
from nodemend.api.upstream_types import EventType
from nodemend.kube.events import EventRecord
from nodemend.remediation.manual.controller import ManualRecorder, ManualRemediationRecorder
from nodemend.remediation.manual.decide import ConfirmationContradicted, ReportSilence, Step
from nodemend.remediation.status import WaitingForNewBoot
from nodemend.safety import lifecycle as steps
from nodemend.safety.confirmation import Confirmed
from nodemend.safety.guard import Allowed
from nodemend.safety.holds import (
    ConfirmationExpired,
    Hold,
    KubeletActive,
    LeadershipLost,
    WaitingForConfirmation,
)
from nodemend.safety.release import ReleaseTicket, open_gate
from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream
from nodemend.telemetry.metrics import Metrics
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import EPOCH, Scheduler
from tests.unit.safety.worlds import (
    AWAITING,
    CONFIRMATION,
    EVIDENCE,
    RECOVERING,
    RELEASING,
    SILENT_NODE,
    remediation,
)

HELD_SINCE = "nodemend_remediation_held_since_timestamp_seconds"


class RecordedEvents:
    """A recorder, and what it reported."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(1)
        process = SimulatedProcess(self.scheduler, "remediator", HostClock())
        self.stream = io.StringIO()
        self.registry = CollectorRegistry()
        self.events: list[EventRecord] = []
        log = Log(
            LogStream(self.stream),
            form=LogForm.JSON,
            level=LogLevel.INFO,
            fixed={},
            wall=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        metrics = Metrics(self.registry, program="p", version="1", monotonic=process.monotonic)
        self.recorder: ManualRecorder = ManualRemediationRecorder(log, metrics, self.events.append, process)

    @property
    def lines(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def held_since(self, reason: str, released: str = "no") -> float | None:
        labels = {
            "kind": "ManualRemediation",
            "namespace": "nodemend-system",
            "name": "n1",
            "reason": reason,
            "released": released,
        }
        return self.registry.get_sample_value(HELD_SINCE, labels)

    def counted(self, verdict: str) -> float | None:
        labels = {"controller": "manual_remediation", "verdict": verdict}
        return self.registry.get_sample_value("nodemend_decisions_total", labels)


def ticket() -> ReleaseTicket:
    given = open_gate(SILENT_NODE, EVIDENCE, Confirmed(CONFIRMATION), Allowed(), 7)
    assert isinstance(given, ReleaseTicket)
    return given


@pytest.mark.parametrize(
    ("step", "reason", "type_", "note"),
    [
        (
            steps.RecordEvidence(EVIDENCE),
            "OperatorConfirmedOff",
            EventType.WARNING,
            "anna confirmed that n1 is down: pulled the plug",
        ),
        (
            steps.Release(ticket()),
            "ReleaseStarted",
            EventType.WARNING,
            (
                "Set the out-of-service taint on n1, because anna confirmed that it is down: its pods and "
                "volumes are released."
            ),
        ),
        (
            steps.MarkReleased(),
            "WorkloadsReleased",
            EventType.NORMAL,
            "All pods and volumes that must leave n1 have left.",
        ),
        (
            steps.RemoveTaint(SILENT_NODE),
            "OutOfServiceTaintRemoved",
            EventType.NORMAL,
            "Removed the out-of-service taint from n1.",
        ),
        (
            steps.RemoveTaint(SILENT_NODE, contradicted=True),
            "NodeContradictedEvidence",
            EventType.WARNING,
            "n1 is alive although anna confirmed that it is down. Its workloads may run twice.",
        ),
        (
            steps.ForgetEvidence(ConfirmationExpired(700.0, 600.0)),
            "EvidenceRevoked",
            EventType.WARNING,
            str(ConfirmationExpired(700.0, 600.0).explain()),
        ),
        (
            steps.Close(node_gone=False),
            "RemediationSucceeded",
            EventType.NORMAL,
            "n1 is back on a new boot.",
        ),
        (steps.Close(node_gone=True), "RemediationSucceeded", EventType.NORMAL, "The Node n1 is gone."),
        (
            steps.DropFinalizer(),
            "RemediationStopped",
            EventType.NORMAL,
            "The remediation was deleted before it succeeded, and has ended.",
        ),
    ],
)
def test_important_changes_are_events_on_the_node(
    step: Step, reason: str, type_: EventType, note: str
) -> None:
    recorded = RecordedEvents()
    recorded.recorder.took(remediation(RELEASING), step)

    [event] = recorded.events
    assert (event.reason, event.type, event.note) == (reason, type_, note)
    assert (event.regarding.kind, event.regarding.name, event.regarding.uid) == ("Node", "n1", "uid-1")
    assert event.related is not None
    assert (event.related.kind, event.related.uid) == ("ManualRemediation", "rem-1")


QUIET = (
    steps.AddFinalizer(),
    steps.RecordEpoch(),
    steps.RecordTarget("uid-1", "boot-1"),
    steps.TakeLock(),
    ReportSilence("12:00:00"),
    steps.ReportRemaining(steps.RemainingWorkloads(1, 1)),
    steps.ForgetTaint(),
    steps.RevokeRelease(SILENT_NODE, "mark"),
    steps.ForgetEvidence(None),
    steps.ClearRevocation(SILENT_NODE),
    steps.DropLock(),
    steps.NothingLeft(),
)


@pytest.mark.parametrize("step", QUIET, ids=lambda step: type(step).__name__)
def test_what_is_only_housekeeping_is_logged_and_counted(step: Step) -> None:
    recorded = RecordedEvents()
    recorded.recorder.took(remediation(AWAITING), step)

    assert recorded.events == []
    assert recorded.lines[0]["step"] == step.step
    assert recorded.counted(step.step) == 1


def test_every_kind_of_step_is_tried_here() -> None:
    loud = {steps.RecordEvidence, steps.Release, steps.MarkReleased, steps.RemoveTaint, steps.Close}
    known = {type(step) for step in QUIET} | loud | {steps.DropFinalizer, Hold}

    assert known == set(get_args(Step))


def test_a_hold_is_logged_once_and_its_event_keeps_its_first_words() -> None:
    """The event aggregator folds repetitions into one Event with a count."""
    recorded = RecordedEvents()
    for silent_for in (5.0, 15.0, 25.0):
        recorded.recorder.held(remediation(AWAITING), Hold(KubeletActive(silent_for, 40.0)))
        recorded.scheduler.run(recorded.scheduler.now + 10.0)

    assert len(recorded.lines) == 1
    assert len(recorded.events) == 3
    assert {event.note for event in recorded.events} == {str(KubeletActive(5.0, 40.0).explain())}
    assert {event.reason for event in recorded.events} == {"RemediationHeld"}
    assert recorded.counted("KubeletActive") == 3
    assert recorded.held_since("KubeletActive") == EPOCH.timestamp()


@pytest.mark.attack("U7")
def test_a_hold_says_whether_the_workloads_run_elsewhere() -> None:
    recorded = RecordedEvents()
    recorded.recorder.held(remediation(RECOVERING), Hold(WaitingForNewBoot("n1")))

    assert recorded.held_since("WaitingForNewBoot", released="yes") == EPOCH.timestamp()
    assert recorded.held_since("WaitingForNewBoot", released="no") is None


def test_another_hold_restarts_the_duration() -> None:
    recorded = RecordedEvents()
    recorded.recorder.held(remediation(AWAITING), Hold(KubeletActive(5.0, 40.0)))
    recorded.scheduler.run(60.0)
    recorded.recorder.held(remediation(AWAITING), Hold(WaitingForConfirmation("n1")))

    assert [line["reason"] for line in recorded.lines] == ["KubeletActive", "WaitingForConfirmation"]
    assert recorded.held_since("KubeletActive") is None
    assert recorded.held_since("WaitingForConfirmation") == (EPOCH + timedelta(seconds=60)).timestamp()


@pytest.mark.conforms("N20")
def test_a_step_forward_ends_a_hold_and_a_mere_report_does_not() -> None:
    recorded = RecordedEvents()
    recorded.recorder.held(remediation(AWAITING), Hold(WaitingForConfirmation("n1")))
    recorded.recorder.took(remediation(AWAITING), ReportSilence("12:00:00"))
    reported = recorded.held_since("WaitingForConfirmation")
    recorded.recorder.took(remediation(AWAITING), steps.RecordEvidence(EVIDENCE))

    assert reported is not None
    assert recorded.held_since("WaitingForConfirmation") is None


CONTRADICTED_AT = "nodemend_evidence_contradicted_timestamp_seconds"


@pytest.mark.attack("U3")
def test_a_wrong_confirmation_causes_a_log_error_a_separate_event_and_a_lasting_metric() -> None:
    recorded = RecordedEvents()
    for _ in range(3):
        recorded.recorder.held(remediation(RECOVERING), Hold(ConfirmationContradicted("anna", "boot-1")))
        recorded.scheduler.run(recorded.scheduler.now + 10.0)
    recorded.recorder.took(remediation(RECOVERING), steps.DropFinalizer())

    assert [line["level"] for line in recorded.lines] == ["info", "error", "info"]
    assert {event.reason for event in recorded.events[:3]} == {"NodeContradictedEvidence"}
    labels = {"kind": "ManualRemediation", "namespace": "nodemend-system", "name": "n1"}
    seen_at = recorded.registry.get_sample_value(CONTRADICTED_AT, labels)
    assert seen_at == (EPOCH + timedelta(seconds=20)).timestamp()


@pytest.mark.attack("U3")
@pytest.mark.parametrize(
    "step", [steps.ForgetEvidence(None, contradicted=True), steps.MarkReleased(contradicted=True)]
)
def test_an_aborted_release_is_reported_even_if_no_taint_is_removed(step: Step) -> None:
    recorded = RecordedEvents()
    recorded.recorder.took(remediation(RELEASING), step)

    assert "error" in [line["level"] for line in recorded.lines]
    assert "NodeContradictedEvidence" in [event.reason for event in recorded.events]


@pytest.mark.attack("U3")
def test_so_is_one_that_is_found_wrong_while_workloads_leave() -> None:
    recorded = RecordedEvents()
    recorded.recorder.took(
        remediation(RELEASING), steps.RemoveTaint(SILENT_NODE, contradicted=True, mark="m")
    )

    assert [line["level"] for line in recorded.lines] == ["info", "error"]
    labels = {"kind": "ManualRemediation", "namespace": "nodemend-system", "name": "n1"}
    assert recorded.registry.get_sample_value(CONTRADICTED_AT, labels) == EPOCH.timestamp()


def test_a_former_leader_writes_no_event() -> None:
    recorded = RecordedEvents()
    recorded.recorder.held(remediation(AWAITING), Hold(LeadershipLost(6, 7)))

    assert recorded.events == []
    assert recorded.lines[0]["reason"] == "LeadershipLost"


def test_before_the_target_is_recorded_the_owner_says_which_node_it_is() -> None:
    recorded = RecordedEvents()
    owner = OwnerReference(api_version="v1", kind="Node", name="n1", uid="uid-of-owner")
    young = remediation(AWAITING.but(node_uid="", phase=ManualRemediationPhase.PENDING)).but(
        metadata=ObjectMeta(name="n1", namespace="d", uid="rem-1", owner_references=(owner,))
    )
    recorded.recorder.held(young, Hold(WaitingForConfirmation("n1")))

    assert recorded.events[0].regarding.uid == "uid-of-owner"


def test_a_reason_that_a_person_gave_cannot_forge_anything() -> None:
    recorded = RecordedEvents()
    nasty = EVIDENCE.but(reason="x\n\x1b[31mNormal  Fine")
    recorded.recorder.took(remediation(RELEASING), steps.RecordEvidence(nasty))

    assert "\n" not in recorded.events[0].note
    assert "\x1b" not in recorded.events[0].note
    assert len(recorded.lines) == 1
