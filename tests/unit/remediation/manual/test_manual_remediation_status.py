"""The status after each step, for users and for the next pass."""

from typing import Any

import pytest

from nodemend.api.manual_remediation import ManualRemediationPhase, ManualRemediationStatus
from nodemend.api.meta import Condition, ConditionStatus, find
from nodemend.remediation.manual.decide import ReportSilence, StatusStep, after, tells
from nodemend.safety import holds
from nodemend.safety.holds import ConfirmationDisproved, Hold, NodeReady
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
from tests.unit.safety.worlds import AWAITING, EVIDENCE, RECOVERING, RELEASED, RELEASING

NOW, LATER = "2026-01-01T12:00:00Z", "2026-01-01T12:05:00Z"
EXPIRED = holds.ConfirmationExpired(601.0, 600.0)


def step(status: ManualRemediationStatus, taken: StatusStep, now: str = NOW) -> ManualRemediationStatus:
    return after(status, taken, epoch=9, generation=4, now=now)


def condition(status: ManualRemediationStatus, type_: str) -> tuple[ConditionStatus, str]:
    found = find(status.conditions, type_)
    assert found is not None
    return found.status, found.reason


CHANGES: list[tuple[ManualRemediationStatus, StatusStep, dict[str, Any]]] = [
    (ManualRemediationStatus(), RecordEpoch(), {"epoch": 9}),
    (
        AWAITING,
        RecordTarget("uid-2", "boot-2"),
        {
            "node_uid": "uid-2",
            "boot_id": "boot-2",
            "last_renew_time": "",
            "phase": ManualRemediationPhase.WAITING_FOR_CONFIRMATION,
        },
    ),
    (
        AWAITING,
        ReportSilence("12:01"),
        {"last_renew_time": "12:01", "phase": ManualRemediationPhase.WAITING_FOR_CONFIRMATION},
    ),
    (
        AWAITING.but(message="x"),
        RecordEvidence(EVIDENCE),
        {
            "evidence": EVIDENCE,
            "tainted": True,
            "phase": ManualRemediationPhase.RELEASING,
            "message": "",
            "released": False,
        },
    ),
    (
        RELEASING,
        ReportRemaining(RemainingWorkloads(3, 2)),
        {"pods_left": 3, "attachments_left": 2, "phase": ManualRemediationPhase.RELEASING},
    ),
    (
        RELEASING.but(pods_left=3, attachments_left=2, message="x"),
        MarkReleased(),
        {
            "released": True,
            "tainted": True,
            "pods_left": 0,
            "attachments_left": 0,
            "phase": ManualRemediationPhase.RECOVERING,
            "message": "",
        },
    ),
    (RELEASED, ForgetTaint(), {"tainted": False, "released": True, "evidence": EVIDENCE}),
    (
        RELEASING,
        ForgetEvidence(None),
        {
            "evidence": None,
            "tainted": False,
            "phase": ManualRemediationPhase.WAITING_FOR_CONFIRMATION,
            "message": "",
        },
    ),
    (
        RECOVERING,
        Close(node_gone=True),
        {"phase": ManualRemediationPhase.SUCCEEDED, "message": "The Node is gone."},
    ),
    (
        RECOVERING,
        Close(node_gone=False),
        {"phase": ManualRemediationPhase.SUCCEEDED, "message": "The node is back on a new boot."},
    ),
]


@pytest.mark.parametrize(
    ("before", "taken", "expected"), CHANGES, ids=[type(taken).__name__ for _, taken, _ in CHANGES]
)
def test_a_step_changes_what_it_says(
    before: ManualRemediationStatus, taken: StatusStep, expected: dict[str, Any]
) -> None:
    status = step(before, taken)
    assert {field: getattr(status, field) for field in expected} == expected
    assert status.observed_generation == 4


def test_a_hold_is_reported_with_a_message_and_a_reason() -> None:
    status = step(AWAITING, Hold(EXPIRED))
    assert status.message.startswith("The confirmation is 601 s old")
    assert condition(status, "Processing") == (ConditionStatus.TRUE, "ConfirmationExpired")
    reported = find(status.conditions, "Processing")
    assert reported is not None
    assert (reported.message, reported.observed_generation) == (status.message, 4)
    assert all(not other.message for other in status.conditions if other.type != "Processing")


def test_a_confirmation_that_was_disproved_is_not_accepted_again() -> None:
    for why in (NodeReady("n1"), ConfirmationDisproved()):
        assert step(RELEASING, ForgetEvidence(why)).disproved_generation == 4
    assert step(RELEASING, ForgetEvidence(EXPIRED)).disproved_generation == 0


def test_voided_evidence_has_a_reason() -> None:
    status = step(RELEASING, ForgetEvidence(EXPIRED))
    assert status.message.startswith("The confirmation is 601 s old")
    assert condition(status, "Processing")[1] == "ConfirmationExpired"
    assert condition(step(RELEASING, ForgetEvidence(None)), "Processing")[1] == "Stopping"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            step(AWAITING, ReportSilence("x")),
            {
                "Processing": (ConditionStatus.TRUE, "InProgress"),
                "Fenced": (ConditionStatus.FALSE, "WaitingForEvidence"),
                "WorkloadReleased": (ConditionStatus.FALSE, "WaitingForEvidence"),
                "Succeeded": (ConditionStatus.UNKNOWN, "InProgress"),
            },
        ),
        (
            step(AWAITING, RecordEvidence(EVIDENCE)),
            {
                "Fenced": (ConditionStatus.TRUE, "OperatorConfirmed"),
                "WorkloadReleased": (ConditionStatus.FALSE, "WorkloadsLeaving"),
            },
        ),
        (
            step(RELEASING, ForgetEvidence(holds.ConfirmationExpired(700, 600))),
            {
                "Processing": (ConditionStatus.TRUE, "ConfirmationExpired"),
                "Succeeded": (ConditionStatus.UNKNOWN, "InProgress"),
            },
        ),
        (step(RELEASING, MarkReleased()), {"WorkloadReleased": (ConditionStatus.TRUE, "WorkloadsGone")}),
        (
            step(RECOVERING, Close(node_gone=False)),
            {
                "Processing": (ConditionStatus.FALSE, "Recovered"),
                "Succeeded": (ConditionStatus.TRUE, "Recovered"),
            },
        ),
        (step(RECOVERING, Close(node_gone=True)), {"Succeeded": (ConditionStatus.TRUE, "NodeGone")}),
    ],
)
def test_conditions(
    status: ManualRemediationStatus, expected: dict[str, tuple[ConditionStatus, str]]
) -> None:
    assert {type_: condition(status, type_) for type_ in expected} == expected


def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    first = step(AWAITING, Hold(holds.WaitingForConfirmation("n1")))
    second = step(first, RecordEvidence(EVIDENCE), LATER)
    times = {one.type: one.last_transition_time for one in second.conditions}
    assert (times["Processing"], times["Fenced"]) == (NOW, LATER)


def test_a_stamp_leaves_what_others_said() -> None:
    before = step(RECOVERING, Close(node_gone=False))
    stamped = step(before, RecordEpoch(), LATER)
    assert stamped.conditions == before.conditions
    assert stamped.message == before.message


def test_the_same_kind_of_hold_is_not_reported_twice() -> None:
    reported = step(AWAITING, Hold(holds.KubeletActive(1.0, 40.0)))
    assert tells(reported, Hold(holds.KubeletActive(30.0, 40.0)))
    assert not tells(reported, Hold(holds.WaitingForConfirmation("n1")))
    assert not tells(AWAITING, Hold(holds.WaitingForConfirmation("n1")))


def test_another_condition_of_that_reason_does_not_count() -> None:
    other = Condition(
        type="Fenced", status=ConditionStatus.FALSE, reason="WaitingForConfirmation", last_transition_time=NOW
    )
    assert not tells(AWAITING.but(conditions=(other,)), Hold(holds.WaitingForConfirmation("n1")))


def test_nothing_is_reported_after_the_end() -> None:
    assert tells(
        RECOVERING.but(phase=ManualRemediationPhase.SUCCEEDED), Hold(holds.WaitingForConfirmation("n1"))
    )
