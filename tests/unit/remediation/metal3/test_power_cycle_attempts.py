"""The end of an attempt, the number of attempts, and the start of the next one."""

from dataclasses import replace

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.api.metal3_remediation import (
    Metal3RemediationPhase,
    Metal3RemediationSpec,
    Metal3RemediationStatus,
)
from nodemend.remediation import status as remediation_status
from nodemend.remediation.metal3 import holds as metal3_holds
from nodemend.remediation.metal3.decide import decide
from nodemend.remediation.metal3.model import (
    ClearPowerOff,
    FailAttempt,
    PowerFacts,
    ReplaceMachine,
    StartNextAttempt,
    Step,
    is_spent,
    pause_after,
)
from nodemend.safety import host_power
from nodemend.safety.facts import Absent, Present
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import ClearRevocation, Close, ForgetTaint, RemoveTaint
from tests.unit.remediation.metal3.power_worlds import (
    ASKED,
    BACK,
    BACK_ON,
    BACKING_OFF,
    ESCALATING,
    HELD,
    LET_GO,
    NEW_BOOT,
    NODELESS,
    OFF,
    OTHER_NODE,
    POWERING_ON,
    RELEASED,
    RETRYING,
    TAINTED_NODE,
    facts,
)
from tests.unit.safety.worlds import SILENT_NODE

H = "metal3/h1"
LATE = 600.0
OUTLIVED = replace(SILENT_NODE, ready=ConditionStatus.TRUE)
BACK_UNDER_OTHER_NAME = replace(OTHER_NODE, boot_id="boot-2", ready=ConditionStatus.TRUE)
NODELESS_OFF = NODELESS.but(phase=Metal3RemediationPhase.POWER_ON, seen_on_version="10", released=True)

BRINGING_BACK: list[tuple[str, PowerFacts, Step]] = [
    (
        "the taint is removed first",
        facts(RELEASED, OFF, node=Present(TAINTED_NODE)),
        RemoveTaint(TAINTED_NODE),
    ),
    ("then the taint is forgotten", facts(RELEASED, OFF), ForgetTaint()),
    ("of a Node that is gone too", facts(RELEASED, OFF, node=Absent()), ForgetTaint()),
    ("a mark of ours goes", facts(POWERING_ON, OFF, revocation="rem-1.9"), ClearRevocation(SILENT_NODE)),
    ("another's stays", facts(POWERING_ON, OFF, revocation="rem-2.9"), ClearPowerOff(OFF)),
    ("only then the power-off request is cleared", facts(POWERING_ON, OFF), ClearPowerOff(OFF)),
    (
        "whatever the host says",
        facts(POWERING_ON, replace(OFF, paused=True), in_phase_for=LATE),
        ClearPowerOff(replace(OFF, paused=True)),
    ),
    (
        "it waits until the host is on",
        facts(POWERING_ON, LET_GO),
        Hold(metal3_holds.WaitingForPowerOn(H, 600.0)),
    ),
    (
        "or somebody who can see it",
        facts(POWERING_ON, replace(LET_GO, detached=True)),
        Hold(host_power.HostPowerUncertain(H, host_power.Detached())),
    ),
    (
        "or its first status",
        facts(POWERING_ON, replace(LET_GO, powered_on=None)),
        Hold(host_power.HostPowerUncertain(H, host_power.PowerUnreported())),
    ),
    (
        "then it waits for the node",
        facts(POWERING_ON, BACK_ON),
        Hold(remediation_status.WaitingForNewBoot("n1")),
    ),
    (
        "up, but not Ready yet",
        facts(POWERING_ON, BACK_ON, node=Present(NEW_BOOT)),
        Hold(remediation_status.WaitingForNewBoot("n1")),
    ),
    (
        "a node that never was",
        facts(NODELESS_OFF, BACK_ON, node=Absent()),
        Hold(remediation_status.WaitingForNewBoot("", gone=True)),
    ),
    (
        "the very boot speaks again",
        facts(POWERING_ON, BACK_ON, node=Present(OUTLIVED)),
        Hold(metal3_holds.PowerOffContradicted(H, "boot-1")),
    ),
    (
        "under a new Node object too",
        facts(POWERING_ON, BACK_ON, node=Present(replace(OUTLIVED, uid="uid-2"))),
        Hold(metal3_holds.PowerOffContradicted(H, "boot-1")),
    ),
    (
        "a Ready one that names no boot is not it",
        facts(NODELESS_OFF, BACK_ON, node=Present(replace(OUTLIVED, boot_id=""))),
        Hold(remediation_status.WaitingForNewBoot("")),
    ),
    ("it is back", facts(POWERING_ON, BACK_ON, node=Present(BACK)), Close(node_gone=False)),
    (
        "as another Node of its name",
        facts(POWERING_ON, BACK_ON, node=Present(BACK_UNDER_OTHER_NAME)),
        Close(node_gone=False),
    ),
    (
        "it is here for the first time",
        facts(NODELESS_OFF, BACK_ON, node=Present(BACK)),
        Close(node_gone=False),
    ),
    (
        "back although held: the hold goes first",
        facts(POWERING_ON, HELD, node=Present(BACK)),
        ClearPowerOff(HELD),
    ),
    (
        "its host is gone",
        facts(POWERING_ON, Absent()),
        FailAttempt(metal3_holds.HostGone(H), permanent=True),
    ),
    (
        "its host is gone, and nobody knows which it was",
        facts(POWERING_ON.but(host=None), Absent()),
        FailAttempt(metal3_holds.HostGone("it had"), permanent=True),
    ),
    (
        "it did not go off in time",
        facts(ASKED, HELD, in_phase_for=LATE),
        FailAttempt(metal3_holds.NeverObservedOff(H, 300.0), permanent=False),
    ),
    (
        "the host was not on in time",
        facts(POWERING_ON, LET_GO, in_phase_for=LATE),
        FailAttempt(metal3_holds.NeverObservedOn(H, 600.0), permanent=False),
    ),
    (
        "the node was not back in time",
        facts(POWERING_ON, BACK_ON, in_phase_for=LATE),
        FailAttempt(remediation_status.WaitingForNewBoot("n1"), permanent=False),
    ),
    (
        "just before the timeout",
        facts(POWERING_ON, BACK_ON, in_phase_for=LATE - 0.5),
        Hold(remediation_status.WaitingForNewBoot("n1")),
    ),
]

PAUSING: list[tuple[str, PowerFacts, Step]] = [
    ("power comes back first", facts(BACKING_OFF, HELD, in_phase_for=LATE), ClearPowerOff(HELD)),
    (
        "it waits until the pause is over",
        facts(BACKING_OFF, BACK_ON, in_phase_for=29.0),
        Hold(metal3_holds.BackingOff(1.0, 1)),
    ),
    ("then the next attempt starts", facts(BACKING_OFF, BACK_ON, in_phase_for=30.0), StartNextAttempt()),
    (
        "the pauses get longer",
        facts(BACKING_OFF.but(retry_count=3), BACK_ON, in_phase_for=30.0),
        Hold(metal3_holds.BackingOff(90.0, 3)),
    ),
    ("unless it came back", facts(BACKING_OFF, BACK_ON, node=Present(BACK)), Close(node_gone=False)),
    ("and nothing of ours is on its host", facts(BACKING_OFF, HELD, node=Present(BACK)), ClearPowerOff(HELD)),
    (
        "Ready on the old boot is not back",
        facts(BACKING_OFF, BACK_ON, node=Present(OUTLIVED)),
        Hold(metal3_holds.BackingOff(25.0, 1)),
    ),
]


@pytest.mark.parametrize(
    ("world", "expected"),
    [pytest.param(world, step, id=name) for name, world, step in (*BRINGING_BACK, *PAUSING)],
)
def test_next_step(world: PowerFacts, expected: Step) -> None:
    assert decide(world) == expected


def test_pauses_double_up_to_half_an_hour() -> None:
    assert [pause_after(failed) for failed in (1, 2, 3, 6, 7, 8, 1000)] == [
        30,
        60,
        120,
        960,
        1800,
        1800,
        1800,
    ]


def failing(status: Metal3RemediationStatus, spec: Metal3RemediationSpec) -> FailAttempt:
    host = BACK_ON if status.released else HELD
    step = decide(facts(status, host, spec=spec, in_phase_for=LATE))
    assert isinstance(step, FailAttempt)
    return step


@pytest.mark.parametrize("failed", range(4))
def test_a_host_that_was_off_gets_all_its_attempts_and_one_more_switch_off(failed: int) -> None:
    """After the retries it is powered off once more, so that its Machine is replaced while it is off."""
    assert not failing(POWERING_ON.but(retry_count=failed), ESCALATING).permanent


@pytest.mark.parametrize(("failed", "permanent"), [(0, False), (2, False), (3, True), (4, True)])
def test_a_host_that_cannot_be_switched_off_is_given_up_after_its_retries(
    failed: int, permanent: bool
) -> None:
    assert failing(ASKED.but(retry_count=failed), ESCALATING).permanent is permanent


def test_a_retry_only_strategy_never_fails_permanently() -> None:
    assert not failing(ASKED.but(retry_count=99), RETRYING).permanent
    assert not failing(POWERING_ON.but(retry_count=99), RETRYING).permanent


@pytest.mark.parametrize(
    ("retries", "failed", "spent"),
    [(3, 3, False), (3, 4, True), (3, 5, True), (0, 0, False), (0, 1, True)],
)
def test_it_makes_one_attempt_and_the_configured_number_of_retries(
    retries: int, failed: int, spent: bool
) -> None:
    spec = Metal3RemediationSpec(delete_after_retries=retries)
    assert is_spent(facts(POWERING_ON.but(retry_count=failed), spec=spec)) is spent
    assert not is_spent(facts(POWERING_ON.but(retry_count=failed), spec=RETRYING))


def test_a_host_is_handed_over_powered_off_after_failed_attempts() -> None:
    spent = POWERING_ON.but(retry_count=4)
    assert decide(facts(spent, OFF)) == ReplaceMachine()
    assert decide(facts(spent.but(tainted=True), OFF)) == ForgetTaint()
    assert decide(facts(spent, OFF, spec=RETRYING)) == ClearPowerOff(OFF)
    assert decide(facts(spent, BACK_ON, node=Present(BACK))) == Close(node_gone=False)


@pytest.mark.parametrize("host", [BACK_ON, LET_GO, HELD, replace(OFF, paused=True), Absent()], ids=str)
def test_only_what_is_held_off_is_handed_over(host: host_power.HostFacts | Absent) -> None:
    assert decide(facts(POWERING_ON.but(retry_count=4), host)) != ReplaceMachine()
