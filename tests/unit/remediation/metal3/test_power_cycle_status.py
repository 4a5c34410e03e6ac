"""The status after each step, for users and for the next pass."""

from typing import Any

import pytest

from nodemend.api.meta import Condition, ConditionStatus, find
from nodemend.api.metal3_remediation import Metal3RemediationPhase, Metal3RemediationStatus
from nodemend.remediation import status as remediation_status
from nodemend.remediation.metal3 import holds as metal3_holds
from nodemend.remediation.metal3.model import (
    FailAttempt,
    PreparePowerOff,
    RecordHostTarget,
    ReplaceMachine,
    StartNextAttempt,
    StatusStep,
)
from nodemend.remediation.metal3.status import after, tells
from nodemend.safety import holds, host_power
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import (
    Close,
    ForgetEvidence,
    ForgetTaint,
    MarkReleased,
    RecordEpoch,
    RecordEvidence,
    RemainingWorkloads,
    ReportRemaining,
)
from tests.unit.remediation.metal3.power_worlds import (
    ASKED,
    BACKING_OFF,
    BOUND,
    EARLIER,
    FAILED,
    FRESH,
    HELD_HOST,
    POWERING_ON,
    PROOF,
    RELEASED,
    RELEASING,
    SUCCEEDED,
)

NOW, LATER = "2026-01-01T12:00:00Z", "2026-01-01T12:05:00Z"
FELL = host_power.HostOn("metal3/h1")
WAITED = metal3_holds.WaitingForPowerOff("metal3/h1", 300.0)


def step(status: Metal3RemediationStatus, taken: StatusStep, now: str = NOW) -> Metal3RemediationStatus:
    return after(status, taken, epoch=9, generation=4, now=now)


def condition(status: Metal3RemediationStatus, type_: str) -> tuple[ConditionStatus, str]:
    found = find(status.conditions, type_)
    assert found is not None
    return found.status, found.reason


CHANGES: list[tuple[Metal3RemediationStatus, StatusStep, dict[str, Any]]] = [
    (FRESH, RecordEpoch(), {"epoch": 9}),
    (
        FRESH,
        RecordHostTarget("n1", "uid-1", "boot-1", HELD_HOST),
        {
            "node_name": "n1",
            "node_uid": "uid-1",
            "boot_id": "boot-1",
            "host": HELD_HOST,
            "seen_on_version": "",
        },
    ),
    (
        ASKED,
        RecordHostTarget("n1", "uid-1", "boot-2", HELD_HOST),
        {"boot_id": "boot-2", "seen_on_version": "", "power_off_events": None, "seen_off": None},
    ),
    (
        BOUND.but(message="x"),
        PreparePowerOff("10", (EARLIER,)),
        {
            "phase": Metal3RemediationPhase.POWER_OFF,
            "seen_on_version": "10",
            "power_off_events": (EARLIER,),
            "message": "",
        },
    ),
    (
        ASKED.but(message="x"),
        RecordEvidence(PROOF),
        {
            "evidence": PROOF,
            "tainted": True,
            "released": False,
            "phase": Metal3RemediationPhase.RELEASE,
            "message": "",
        },
    ),
    (
        RELEASING,
        ReportRemaining(RemainingWorkloads(3, 2)),
        {"pods_left": 3, "attachments_left": 2, "phase": Metal3RemediationPhase.RELEASE},
    ),
    (
        RELEASING.but(pods_left=3, attachments_left=2, message="x"),
        MarkReleased(),
        {
            "released": True,
            "tainted": True,
            "evidence": PROOF,
            "pods_left": 0,
            "attachments_left": 0,
            "phase": Metal3RemediationPhase.POWER_ON,
            "message": "",
        },
    ),
    (ASKED, MarkReleased(), {"released": True, "tainted": False, "evidence": None}),
    (RELEASED, ForgetTaint(), {"tainted": False, "released": True, "evidence": PROOF}),
    (
        RELEASING,
        ForgetEvidence(FELL),
        {
            "evidence": None,
            "tainted": False,
            "phase": Metal3RemediationPhase.POWER_OFF,
            "seen_on_version": "",
            "retry_count": 0,
        },
    ),
    (RELEASING, ForgetEvidence(None), {"evidence": None, "seen_on_version": "", "message": ""}),
    (
        ASKED,
        FailAttempt(WAITED, permanent=False),
        {"phase": Metal3RemediationPhase.BACKING_OFF, "retry_count": 1, "released": False},
    ),
    (
        ASKED.but(retry_count=3),
        FailAttempt(WAITED, permanent=True),
        {"phase": Metal3RemediationPhase.FAILED, "retry_count": 4},
    ),
    (
        POWERING_ON.but(phase=Metal3RemediationPhase.BACKING_OFF, retry_count=2, message="x"),
        StartNextAttempt(),
        {
            "phase": Metal3RemediationPhase.PENDING,
            "retry_count": 2,
            "evidence": None,
            "tainted": False,
            "released": False,
            "seen_on_version": "",
            "message": "",
            "node_uid": "uid-1",
            "host": HELD_HOST,
        },
    ),
    (
        POWERING_ON.but(retry_count=4, message="x"),
        ReplaceMachine(),
        {"phase": Metal3RemediationPhase.DELETING_MACHINE, "retry_count": 4, "message": "", "released": True},
    ),
    (
        POWERING_ON,
        Close(node_gone=False),
        {"phase": Metal3RemediationPhase.SUCCEEDED, "message": "The node is back on a new boot."},
    ),
    (ASKED, Hold(WAITED), {"phase": Metal3RemediationPhase.POWER_OFF, "seen_on_version": "10"}),
]


@pytest.mark.parametrize(
    ("before", "taken", "expected"), CHANGES, ids=[type(taken).__name__ for _, taken, _ in CHANGES]
)
def test_a_step_changes_what_it_says(
    before: Metal3RemediationStatus, taken: StatusStep, expected: dict[str, Any]
) -> None:
    status = step(before, taken)
    assert {field: getattr(status, field) for field in expected} == expected
    assert status.observed_generation == 4


@pytest.mark.parametrize(
    ("before", "taken"), [pair[:2] for pair in CHANGES if not isinstance(pair[1], RecordEpoch)]
)
def test_the_epoch_is_written_by_a_stamp_alone(before: Metal3RemediationStatus, taken: StatusStep) -> None:
    assert step(before, taken).epoch == before.epoch


@pytest.mark.parametrize("taken", [Hold(FELL), FailAttempt(FELL, permanent=False), ForgetEvidence(FELL)])
def test_the_reason_is_reported_with_a_message_and_its_name(taken: StatusStep) -> None:
    status = step(RELEASING, taken)
    assert status.message.startswith("metal3/h1 is on although")
    reported = find(status.conditions, "Processing")
    assert reported is not None
    assert (reported.reason, reported.message, reported.observed_generation) == ("HostOn", status.message, 4)
    assert all(not other.message for other in status.conditions if other.type != "Processing")


def test_evidence_that_is_forgotten_at_the_end_needs_no_reason() -> None:
    assert condition(step(RELEASING, ForgetEvidence(None)), "Processing")[1] == "Stopping"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            step(BOUND, PreparePowerOff("10", (EARLIER,))),
            {
                "Processing": (ConditionStatus.TRUE, "InProgress"),
                "Fenced": (ConditionStatus.FALSE, "WaitingForEvidence"),
                "WorkloadReleased": (ConditionStatus.FALSE, "WaitingForEvidence"),
                "Succeeded": (ConditionStatus.UNKNOWN, "InProgress"),
            },
        ),
        (
            step(ASKED, RecordEvidence(PROOF)),
            {
                "Fenced": (ConditionStatus.TRUE, "PoweredOff"),
                "WorkloadReleased": (ConditionStatus.FALSE, "WorkloadsLeaving"),
            },
        ),
        (
            step(RELEASING, MarkReleased()),
            {
                "Fenced": (ConditionStatus.FALSE, "PowerRestored"),
                "WorkloadReleased": (ConditionStatus.TRUE, "WorkloadsGone"),
            },
        ),
        (
            step(ASKED, FailAttempt(WAITED, permanent=False)),
            {
                "Processing": (ConditionStatus.TRUE, "WaitingForPowerOff"),
                "Succeeded": (ConditionStatus.UNKNOWN, "InProgress"),
            },
        ),
        (
            step(ASKED, FailAttempt(WAITED, permanent=True)),
            {
                "Processing": (ConditionStatus.FALSE, "WaitingForPowerOff"),
                "Succeeded": (ConditionStatus.FALSE, "WaitingForPowerOff"),
            },
        ),
        (
            step(BACKING_OFF, StartNextAttempt()),
            {
                "Processing": (ConditionStatus.TRUE, "InProgress"),
                "WorkloadReleased": (ConditionStatus.FALSE, "WaitingForEvidence"),
            },
        ),
        (
            step(POWERING_ON, ReplaceMachine()),
            {
                "Processing": (ConditionStatus.TRUE, "InProgress"),
                "Succeeded": (ConditionStatus.UNKNOWN, "InProgress"),
            },
        ),
        (
            step(POWERING_ON, Close(node_gone=False)),
            {
                "Processing": (ConditionStatus.FALSE, "Recovered"),
                "Succeeded": (ConditionStatus.TRUE, "Recovered"),
            },
        ),
    ],
)
def test_conditions(
    status: Metal3RemediationStatus, expected: dict[str, tuple[ConditionStatus, str]]
) -> None:
    assert {type_: condition(status, type_) for type_ in expected} == expected


def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    first = step(ASKED, Hold(WAITED))
    second = step(first, RecordEvidence(PROOF), LATER)
    times = {one.type: one.last_transition_time for one in second.conditions}
    assert (times["Processing"], times["Fenced"]) == (NOW, LATER)


def test_a_stamp_leaves_what_others_said() -> None:
    before = step(POWERING_ON, Close(node_gone=False))
    stamped = step(before, RecordEpoch(), LATER)
    assert stamped.conditions == before.conditions
    assert stamped.message == before.message


def test_the_same_kind_of_hold_is_not_reported_twice() -> None:
    reported = step(ASKED, Hold(metal3_holds.WaitingForPowerOff("metal3/h1", 300.0)))
    assert tells(reported, Hold(WAITED))
    assert not tells(reported, Hold(holds.NodeReady("n1")))
    assert not tells(ASKED, Hold(WAITED))


def test_another_condition_of_that_reason_does_not_count() -> None:
    other = Condition(
        type="Fenced", status=ConditionStatus.FALSE, reason="WaitingForPowerOff", last_transition_time=NOW
    )
    assert not tells(ASKED.but(conditions=(other,)), Hold(WAITED))


@pytest.mark.parametrize("over", [SUCCEEDED, FAILED])
def test_nothing_is_reported_after_the_end(over: Metal3RemediationStatus) -> None:
    assert tells(over, Hold(WAITED))


def test_a_new_doubt_about_the_host_is_reported() -> None:
    reported = step(ASKED, Hold(host_power.HostPowerUncertain("metal3/h1", host_power.PausedHost())))
    assert not tells(
        reported, Hold(host_power.HostPowerUncertain("metal3/h1", host_power.HostInError("error", "x")))
    )


def test_a_host_that_may_run_again_is_not_called_fenced() -> None:
    status = step(POWERING_ON, FailAttempt(remediation_status.WaitingForNewBoot("n1"), permanent=False))
    assert condition(status, "Fenced")[0] is not ConditionStatus.TRUE
