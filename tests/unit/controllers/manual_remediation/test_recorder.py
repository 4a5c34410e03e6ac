"""Every step and every hold is told: in the log, in the metrics, and on the Node."""

import io
import json
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from prometheus_client import CollectorRegistry

from nodemend.api.event import EventType
from nodemend.api.manual_remediation import Phase
from nodemend.api.object_meta import ObjectMeta, OwnerReference
from nodemend.controllers.manual_remediation.controller import ManualRecorder
from nodemend.controllers.manual_remediation.recorder import ManualRemediationRecorder
from nodemend.decide import remediation_steps as steps
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import (
    Deposed,
    Hold,
    KubeletSpeaks,
    NotBackYet,
    NoWord,
    WordContradicted,
    WordExpired,
)
from nodemend.decide.human_word import Believed
from nodemend.decide.manual_remediation_steps import ReportSilence, Step
from nodemend.decide.release_gate import ReleaseTicket, open_gate
from nodemend.decide.storm_guard import Go
from nodemend.kube.event_book import Happening
from nodemend.telemetry.log_format import LogForm, LogLevel, LogStream, open_log
from nodemend.telemetry.metrics import Metrics
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import EPOCH, Scheduler
from tests.unit.decide.worlds import AWAITING, EVIDENCE, RECOVERING, RELEASING, SILENT_NODE, WORD, remediation

HELD_SINCE = "nodemend_remediation_held_since_timestamp_seconds"


class Told:
    """A recorder, and what it told whom."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(1)
        process = SimulatedProcess(self.scheduler, "remediator", HostClock())
        self.stream = io.StringIO()
        self.registry = CollectorRegistry()
        self.events: list[Happening] = []
        log = open_log(
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
    given = open_gate(SILENT_NODE, EVIDENCE, Believed(WORD), Go(), 7)
    assert isinstance(given, ReleaseTicket)
    return given


@pytest.mark.parametrize(
    ("step", "reason", "type_", "note"),
    [
        (
            steps.RecordEvidence(EVIDENCE),
            "HumanConfirmedOff",
            EventType.WARNING,
            "anna vouches that n1 is down: pulled the plug",
        ),
        (
            steps.Release(ticket()),
            "ReleaseStarted",
            EventType.WARNING,
            "n1 is marked out of service: its pods and volumes are released, on the word of anna.",
        ),
        (
            steps.MarkReleased(),
            "WorkloadsReleased",
            EventType.NORMAL,
            "The pods and volumes of n1 are gone from it.",
        ),
        (
            steps.Untaint(SILENT_NODE),
            "OutOfServiceTaintRemoved",
            EventType.NORMAL,
            "n1 is marked out of service no longer.",
        ),
        (
            steps.Untaint(SILENT_NODE, contradicted=True),
            "NodeContradictedEvidence",
            EventType.WARNING,
            "n1 speaks, although anna vouched that it is down. Its workloads may run twice.",
        ),
        (
            steps.ForgetEvidence(WordExpired(700.0, 600.0)),
            "EvidenceVoided",
            EventType.WARNING,
            str(explain(WordExpired(700.0, 600.0))),
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
            "Deleted, and ended at its safe point.",
        ),
    ],
)
def test_what_people_should_hear_is_an_event_on_the_node(
    step: Step, reason: str, type_: EventType, note: str
) -> None:
    told = Told()
    told.recorder.took(remediation(RELEASING), step)

    [event] = told.events
    assert (event.reason, event.type, event.note) == (reason, type_, note)
    assert (event.regarding.kind, event.regarding.name, event.regarding.uid) == ("Node", "n1", "uid-1")
    assert event.related is not None
    assert (event.related.kind, event.related.uid) == ("ManualRemediation", "rem-1")


QUIET = (
    steps.AddFinalizer(),
    steps.Stamp(),
    steps.RecordTarget("uid-1", "boot-1"),
    steps.TakeLock(),
    ReportSilence("12:00:00"),
    steps.ReportLeft(steps.Left(1, 1)),
    steps.ForgetTaint(),
    steps.VoidOnNode(SILENT_NODE, "mark"),
    steps.ForgetEvidence(None),
    steps.ClearVoidMark(SILENT_NODE),
    steps.DropLock(),
    steps.Done(),
)


@pytest.mark.parametrize("step", QUIET, ids=lambda step: type(step).__name__)
def test_what_is_only_housekeeping_is_logged_and_counted(step: Step) -> None:
    told = Told()
    told.recorder.took(remediation(AWAITING), step)

    assert told.events == []
    assert told.lines[0]["step"] == type(step).__name__
    assert told.counted(type(step).__name__) == 1


def test_every_kind_of_step_is_tried_here() -> None:
    loud = {steps.RecordEvidence, steps.Release, steps.MarkReleased, steps.Untaint, steps.Close}
    known = {type(step) for step in QUIET} | loud | {steps.DropFinalizer, Hold}

    assert known == set(get_args(Step))


def test_a_hold_is_logged_once_and_its_event_keeps_its_first_words() -> None:
    """Then the book of events folds what is repeated into one Event with a count."""
    told = Told()
    for silent_for in (5.0, 15.0, 25.0):
        told.recorder.held(remediation(AWAITING), Hold(KubeletSpeaks(silent_for, 40.0)))
        told.scheduler.run(told.scheduler.now + 10.0)

    assert len(told.lines) == 1
    assert len(told.events) == 3
    assert {event.note for event in told.events} == {str(explain(KubeletSpeaks(5.0, 40.0)))}
    assert {event.reason for event in told.events} == {"RemediationHeld"}
    assert told.counted("KubeletSpeaks") == 3
    assert told.held_since("KubeletSpeaks") == EPOCH.timestamp()


@pytest.mark.attack("U7")
def test_a_hold_says_whether_the_workloads_run_elsewhere() -> None:
    told = Told()
    told.recorder.held(remediation(RECOVERING), Hold(NotBackYet("n1")))

    assert told.held_since("NotBackYet", released="yes") == EPOCH.timestamp()
    assert told.held_since("NotBackYet", released="no") is None


def test_another_hold_begins_anew() -> None:
    told = Told()
    told.recorder.held(remediation(AWAITING), Hold(KubeletSpeaks(5.0, 40.0)))
    told.scheduler.run(60.0)
    told.recorder.held(remediation(AWAITING), Hold(NoWord("n1")))

    assert [line["reason"] for line in told.lines] == ["KubeletSpeaks", "NoWord"]
    assert told.held_since("KubeletSpeaks") is None
    assert told.held_since("NoWord") == (EPOCH + timedelta(seconds=60)).timestamp()


@pytest.mark.conforms("N20")
def test_a_step_forward_ends_a_hold_and_a_mere_report_does_not() -> None:
    told = Told()
    told.recorder.held(remediation(AWAITING), Hold(NoWord("n1")))
    told.recorder.took(remediation(AWAITING), ReportSilence("12:00:00"))
    reported = told.held_since("NoWord")
    told.recorder.took(remediation(AWAITING), steps.RecordEvidence(EVIDENCE))

    assert reported is not None
    assert told.held_since("NoWord") is None


CONTRADICTED_AT = "nodemend_evidence_contradicted_timestamp_seconds"


@pytest.mark.attack("U3")
def test_a_word_that_was_wrong_is_an_error_in_the_log_an_event_of_its_own_and_a_metric_that_stays() -> None:
    told = Told()
    for _ in range(3):
        told.recorder.held(remediation(RECOVERING), Hold(WordContradicted("anna", "boot-1")))
        told.scheduler.run(told.scheduler.now + 10.0)
    told.recorder.took(remediation(RECOVERING), steps.DropFinalizer())

    assert [line["level"] for line in told.lines] == ["info", "error", "info"]
    assert {event.reason for event in told.events[:3]} == {"NodeContradictedEvidence"}
    labels = {"kind": "ManualRemediation", "namespace": "nodemend-system", "name": "n1"}
    seen_at = told.registry.get_sample_value(CONTRADICTED_AT, labels)
    assert seen_at == (EPOCH + timedelta(seconds=20)).timestamp()


@pytest.mark.attack("U3")
@pytest.mark.parametrize(
    "step", [steps.ForgetEvidence(None, contradicted=True), steps.MarkReleased(contradicted=True)]
)
def test_a_release_that_is_broken_off_is_told_also_where_no_taint_of_ours_comes_off(step: Step) -> None:
    told = Told()
    told.recorder.took(remediation(RELEASING), step)

    assert "error" in [line["level"] for line in told.lines]
    assert "NodeContradictedEvidence" in [event.reason for event in told.events]


@pytest.mark.attack("U3")
def test_so_is_one_that_is_found_wrong_while_workloads_leave() -> None:
    told = Told()
    told.recorder.took(remediation(RELEASING), steps.Untaint(SILENT_NODE, contradicted=True, mark="m"))

    assert [line["level"] for line in told.lines] == ["info", "error"]
    labels = {"kind": "ManualRemediation", "namespace": "nodemend-system", "name": "n1"}
    assert told.registry.get_sample_value(CONTRADICTED_AT, labels) == EPOCH.timestamp()


def test_who_was_deposed_writes_no_event() -> None:
    told = Told()
    told.recorder.held(remediation(AWAITING), Hold(Deposed(6, 7)))

    assert told.events == []
    assert told.lines[0]["reason"] == "Deposed"


def test_before_the_target_is_recorded_the_owner_says_which_node_it_is() -> None:
    told = Told()
    owner = OwnerReference(api_version="v1", kind="Node", name="n1", uid="uid-of-owner")
    young = remediation(AWAITING.but(node_uid="", phase=Phase.PENDING)).but(
        metadata=ObjectMeta(name="n1", namespace="d", uid="rem-1", owner_references=(owner,))
    )
    told.recorder.held(young, Hold(NoWord("n1")))

    assert told.events[0].regarding.uid == "uid-of-owner"


def test_a_reason_that_a_person_gave_cannot_forge_anything() -> None:
    told = Told()
    nasty = EVIDENCE.but(reason="x\n\x1b[31mNormal  Fine")
    told.recorder.took(remediation(RELEASING), steps.RecordEvidence(nasty))

    assert "\n" not in told.events[0].note
    assert "\x1b" not in told.events[0].note
    assert len(told.lines) == 1
