"""The status of a SelfRemediation after each step."""

from typing import Any

import pytest

from nodemend.api.self_remediation import MarkedLease, SelfRemediationPhase, SelfRemediationStatus
from nodemend.remediation.self_fencing.decide import (
    AccumulatingProof,
    NoAgent,
    ProofContradicted,
    RecordMarker,
    RecordProgress,
    RecordProof,
    StartFencing,
    StatusStep,
)
from nodemend.remediation.self_fencing.status import after, tells
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import (
    Close,
    ForgetEvidence,
    ForgetTaint,
    MarkReleased,
    RecordEpoch,
    RecordEvidence,
    RecordTarget,
    RemainingWorkloads,
    ReportRemaining,
)
from nodemend.safety.time_proof import Anchor, PeerProof, Progress
from tests.unit.remediation.self_fencing.fencing_worlds import (
    BY_NEW_BOOT,
    BY_TIME,
    FENCING,
    MARKED,
    NOTED,
    PENDING,
    RECOVERING,
    RELEASED,
    RELEASING,
    proven,
)

PROGRESS = Progress({"a": PeerProof(Anchor("uid-a", "boot", 4), 41.2349)}, 41, 72, 1, done=False)
DONE = Progress({"a": PeerProof(Anchor("uid-a", "boot", 4), 72.5)}, 72, 72, 1, done=True)


def reported(status: SelfRemediationStatus, step: StatusStep) -> SelfRemediationStatus:
    return after(status, step, epoch=8, generation=3, now="2026-01-01T00:00:00Z")


def shown(status: SelfRemediationStatus) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status.value, one.reason) for one in status.conditions}


@pytest.mark.parametrize(
    ("before", "step", "changed"),
    [
        (PENDING, RecordEpoch(), {"epoch": 8, "conditions": ()}),
        (
            SelfRemediationStatus(),
            RecordTarget("u", "b", "n"),
            {"node_uid": "u", "boot_id": "b", "node_name": "n"},
        ),
        (PENDING, StartFencing(), {"phase": SelfRemediationPhase.FENCING}),
        (
            FENCING.but(proven=proven(40.0), proven_seconds=40, safe_time_seconds=72),
            RecordMarker(MARKED),
            {
                "marked": MarkedLease(uid="lease-1", version="71"),
                "proven": (),
                "proven_seconds": 0,
                "safe_time_seconds": 0,
            },
        ),
        (NOTED, RecordProgress(PROGRESS), {"proven_seconds": 41, "safe_time_seconds": 72}),
        (
            NOTED,
            RecordProof(DONE, BY_TIME),
            {
                "evidence": BY_TIME,
                "tainted": True,
                "phase": SelfRemediationPhase.RELEASING,
                "proven_seconds": 72,
            },
        ),
        (
            NOTED,
            RecordEvidence(BY_NEW_BOOT),
            {"evidence": BY_NEW_BOOT, "tainted": True, "phase": SelfRemediationPhase.RELEASING},
        ),
        (RELEASING, ReportRemaining(RemainingWorkloads(2, 1)), {"pods_left": 2, "attachments_left": 1}),
        (
            RELEASING.but(pods_left=2, attachments_left=1),
            MarkReleased(),
            {
                "released": True,
                "pods_left": 0,
                "attachments_left": 0,
                "phase": SelfRemediationPhase.RECOVERING,
            },
        ),
        (RELEASED, ForgetTaint(), {"tainted": False}),
        (
            RELEASING.but(proven=proven(72.0), proven_seconds=72, safe_time_seconds=72),
            ForgetEvidence(None),
            {
                "evidence": None,
                "tainted": False,
                "phase": SelfRemediationPhase.FENCING,
                "proven": (),
                "proven_seconds": 0,
                "safe_time_seconds": 0,
                "contradicted": False,
            },
        ),
        (RELEASING, ForgetEvidence(ProofContradicted("boot-1")), {"contradicted": True}),
        (RELEASING.but(contradicted=True), ForgetEvidence(None), {"contradicted": True}),
        (
            RECOVERING,
            Close(node_gone=False),
            {"phase": SelfRemediationPhase.SUCCEEDED, "message": "The node is back on a new boot."},
        ),
        (
            RECOVERING,
            Close(node_gone=True),
            {"phase": SelfRemediationPhase.SUCCEEDED, "message": "The Node is gone."},
        ),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_changes(before: SelfRemediationStatus, step: StatusStep, changed: dict[str, Any]) -> None:
    found = reported(before, step)

    assert {name: getattr(found, name) for name in changed} == changed
    assert found.observed_generation == 3


def test_what_is_counted_is_rounded_down() -> None:
    assert reported(NOTED, RecordProgress(PROGRESS)).proven[0].milliseconds == 41234


def test_the_progress_has_a_message() -> None:
    found = reported(NOTED, RecordProgress(PROGRESS))

    assert found.message.startswith("The node must reset itself: 41 s of 72 s are proven; 1 of its 1")
    assert shown(found)["Processing"] == ("True", "AccumulatingProof")
    assert shown(found)["Succeeded"] == ("Unknown", "InProgress")


def test_the_reason_for_voided_evidence_has_a_message() -> None:
    assert "boot-1" in reported(RELEASING, ForgetEvidence(ProofContradicted("boot-1"))).message
    assert reported(RELEASING.but(message="before"), ForgetEvidence(None)).message == ""


def test_the_conditions_of_a_life() -> None:
    before = reported(PENDING, StartFencing())
    assert shown(before)["Fenced"] == ("False", "WaitingForMarker")
    marked = reported(before, RecordMarker(MARKED))
    assert shown(marked)["Fenced"] == ("False", "MarkerPlaced")
    assert shown(marked)["WorkloadReleased"] == ("False", "WaitingForEvidence")
    proven_over = reported(marked, RecordProof(DONE, BY_TIME))
    assert shown(proven_over)["Fenced"] == ("True", "ProvenByTime")
    assert shown(proven_over)["WorkloadReleased"] == ("False", "WorkloadsLeaving")
    assert shown(reported(marked, RecordEvidence(BY_NEW_BOOT)))["Fenced"] == ("True", "NewBoot")
    released = reported(proven_over, MarkReleased())
    assert shown(released)["WorkloadReleased"] == ("True", "WorkloadsGone")
    assert shown(released)["Succeeded"] == ("Unknown", "InProgress")
    over = reported(released, Close(node_gone=False))
    assert shown(over)["Succeeded"] == ("True", "Recovered")
    assert shown(over)["Processing"] == ("False", "Recovered")
    assert shown(reported(released, Close(node_gone=True)))["Succeeded"] == ("True", "NodeGone")
    revoked = reported(proven_over, ForgetEvidence(ProofContradicted("boot-1")))
    assert shown(revoked)["Processing"] == ("True", "ProofContradicted")
    assert shown(reported(proven_over, ForgetEvidence(None)))["Processing"] == ("True", "Stopping")


def test_the_same_hold_is_written_once() -> None:
    held = Hold(AccumulatingProof(1, 72, 4, 4))
    found = reported(NOTED, held)

    assert not tells(NOTED, held)
    assert tells(found, Hold(AccumulatingProof(2, 72, 4, 4)))
    assert not tells(found, Hold(NoAgent("n1")))
    assert tells(RECOVERING.but(phase=SelfRemediationPhase.SUCCEEDED), held)
