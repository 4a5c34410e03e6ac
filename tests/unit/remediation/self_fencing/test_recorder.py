"""Log lines, metrics and events of a SelfRemediation."""

import io
from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry

from nodemend.api.self_remediation import SelfRemediationPhase
from nodemend.kube.events import EventRecord
from nodemend.remediation.self_fencing.controller import FencingRecorder, SelfRemediationRecorder
from nodemend.remediation.self_fencing.decide import (
    AccumulatingProof,
    PlaceMarker,
    ProofContradicted,
    RecordProgress,
    RecordProof,
    RemoveMarker,
    StartFencing,
    Step,
)
from nodemend.safety import lifecycle as steps
from nodemend.safety.holds import Hold
from nodemend.safety.release import ReleaseTicket
from nodemend.safety.time_proof import Progress
from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream
from nodemend.telemetry.metrics import Metrics
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.unit.remediation.self_fencing.fencing_worlds import (
    BY_NEW_BOOT,
    BY_TIME,
    MARKED,
    MARKER,
    NOTED,
    UNMARKED,
    remediation,
)
from tests.unit.safety.worlds import SILENT_NODE

PROGRESS = Progress({}, 72, 72, 3, done=True)
TICKET = ReleaseTicket("n1", "uid-1", "100", "boot-1", 7, BY_TIME)


class RecordedEvents:
    def __init__(self) -> None:
        process = SimulatedProcess(Scheduler(1), "remediator", HostClock())
        self.registry = CollectorRegistry()
        self.events: list[EventRecord] = []
        log = Log(
            LogStream(io.StringIO()),
            form=LogForm.JSON,
            level=LogLevel.INFO,
            fixed={},
            wall=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        metrics = Metrics(self.registry, program="p", version="1", monotonic=process.monotonic)
        self.recorder: FencingRecorder = SelfRemediationRecorder(log, metrics, self.events.append, process)


@pytest.mark.parametrize(
    ("step", "reason", "says"),
    [
        (
            PlaceMarker(UNMARKED, MARKER),
            "SelfFencingRequested",
            "Nodemend set the marker for boot boot-1 of node-7",
        ),
        (RecordProof(PROGRESS, BY_TIME), "BootEndProven", "Boot boot-1 of node-7 has ended (its watchdog)"),
        (steps.RecordEvidence(BY_NEW_BOOT), "NewBootObserved", "has ended: its agent"),
        (RemoveMarker(MARKED), "MarkerRemoved", "Removed the marker of node-7: its boot gate"),
        (steps.Release(TICKET), "ReleaseStarted", "because of evidence E4"),
        (steps.MarkReleased(), "WorkloadsReleased", "All pods and volumes that must leave node-7 have left"),
        (
            steps.ForgetEvidence(ProofContradicted("boot-1")),
            "EvidenceRevoked",
            "was alive after it was proven",
        ),
        (steps.RemoveTaint(SILENT_NODE, contradicted=True), "NodeContradictedEvidence", "may run twice"),
        (
            steps.RemoveTaint(SILENT_NODE),
            "OutOfServiceTaintRemoved",
            "Removed the out-of-service taint from node-7",
        ),
        (steps.Close(node_gone=False), "RemediationSucceeded", "node-7 is back on a new boot"),
        (steps.Close(node_gone=True), "RemediationSucceeded", "The Node node-7 is gone"),
        (steps.DropFinalizer(), "RemediationStopped", "was deleted before it succeeded"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_important_changes_are_events_on_the_node(step: Step, reason: str, says: str) -> None:
    reported = RecordedEvents()

    reported.recorder.took(remediation(NOTED.but(node_name="node-7")), step)

    (event,) = reported.events
    assert event.reason == reason
    assert says in event.note
    assert (event.regarding.name, event.regarding.uid) == ("node-7", "uid-1")


@pytest.mark.parametrize(
    "step", [steps.RecordEpoch(), StartFencing(), RecordProgress(PROGRESS), steps.ForgetTaint()]
)
def test_the_rest_is_not(step: Step) -> None:
    reported = RecordedEvents()

    reported.recorder.took(remediation(NOTED), step)

    assert reported.events == []


def test_an_end_that_came_after_its_success_is_no_stop() -> None:
    reported = RecordedEvents()

    reported.recorder.took(
        remediation(NOTED.but(phase=SelfRemediationPhase.SUCCEEDED)), steps.DropFinalizer()
    )

    assert reported.events == []


def test_a_hold_is_reported_and_progress_does_not_end_it() -> None:
    reported = RecordedEvents()
    held = Hold(AccumulatingProof(10, 72, 4, 4))
    labels = {
        "kind": "SelfRemediation",
        "namespace": "nodemend-system",
        "name": "n1",
        "reason": "AccumulatingProof",
        "released": "no",
    }
    name = "nodemend_remediation_held_since_timestamp_seconds"

    reported.recorder.held(remediation(NOTED), held)
    reported.recorder.took(remediation(NOTED), RecordProgress(PROGRESS))

    assert [event.reason for event in reported.events] == ["RemediationHeld"]
    assert reported.registry.get_sample_value(name, labels) is not None
    reported.recorder.took(remediation(NOTED), RecordProof(PROGRESS, BY_TIME))
    assert reported.registry.get_sample_value(name, labels) is None
