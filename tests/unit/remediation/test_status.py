"""Contradicted evidence has one condition and its own phase, for every kind."""

from collections.abc import Callable

import pytest

from nodemend.api import manual_remediation, metal3_remediation, self_remediation
from nodemend.api.condition_types import EVIDENCE_CONTRADICTED
from nodemend.api.meta import Condition, ConditionStatus, find
from nodemend.remediation.manual import decide
from nodemend.remediation.manual.decide import ConfirmationContradicted
from nodemend.remediation.metal3 import status as power_cycle_status
from nodemend.remediation.metal3.holds import ActiveAfterRelease, PowerOffContradicted
from nodemend.remediation.metal3.model import FailAttempt
from nodemend.remediation.self_fencing import decide as self_remediation_decisions
from nodemend.remediation.self_fencing import status as self_remediation_status
from nodemend.remediation.self_fencing.decide import ProofContradicted
from nodemend.remediation.status import WaitingForNewBoot, is_contradiction
from nodemend.safety.facts import Present
from nodemend.safety.holds import Contradicts, Hold, HoldReason
from nodemend.safety.host_power import HostOn
from nodemend.safety.lifecycle import ClearRevocation, Close, ForgetEvidence, MarkReleased
from tests.unit.remediation.metal3 import power_worlds
from tests.unit.remediation.self_fencing import fencing_worlds
from tests.unit.safety import worlds
from tests.unit.safety.hold_reasons import all_hold_reasons

pytestmark = pytest.mark.attack("U3")

NOW = "2026-01-01T12:00:00Z"
Step = Hold | ForgetEvidence | MarkReleased | Close
RecordedEvents = tuple[str, tuple[Condition, ...]]


def by_hand(*steps: Step) -> RecordedEvents:
    status = worlds.RECOVERING
    for step in steps:
        status = decide.after(status, step, epoch=9, generation=4, now=NOW)
    return status.phase, status.conditions


def by_itself(*steps: Step) -> RecordedEvents:
    status = fencing_worlds.RECOVERING
    for step in steps:
        status = self_remediation_status.after(status, step, epoch=9, generation=4, now=NOW)
    return status.phase, status.conditions


def by_power(*steps: Step | FailAttempt) -> RecordedEvents:
    status = power_worlds.POWERING_ON
    for step in steps:
        status = power_cycle_status.after(status, step, epoch=9, generation=4, now=NOW)
    return status.phase, status.conditions


KINDS = [
    (
        by_hand,
        ConfirmationContradicted("anna", "boot-1"),
        manual_remediation.ManualRemediationPhase.CONTRADICTED,
    ),
    (by_itself, ProofContradicted("boot-1"), self_remediation.SelfRemediationPhase.CONTRADICTED),
    (
        by_power,
        PowerOffContradicted("metal/h1", "boot-1"),
        metal3_remediation.Metal3RemediationPhase.CONTRADICTED,
    ),
]
kinds = pytest.mark.parametrize(("life", "reason", "phase"), KINDS, ids=["hand", "itself", "power"])


def contradicted(conditions: tuple[Condition, ...]) -> str:
    found = find(conditions, EVIDENCE_CONTRADICTED)
    return found.reason if found is not None and found.status is ConditionStatus.TRUE else ""


@kinds
def test_the_old_boot_observed_after_the_release_is_a_separate_phase(
    life: Callable[..., RecordedEvents], reason: HoldReason, phase: str
) -> None:
    shown, conditions = life(Hold(reason))
    assert shown == phase
    assert contradicted(conditions) == reason.reason


@kinds
def test_it_stays_said_when_the_node_is_back_on_a_new_boot(
    life: Callable[..., RecordedEvents], reason: HoldReason, phase: str
) -> None:
    shown, conditions = life(Hold(reason), Hold(WaitingForNewBoot("n1")), Close(node_gone=False))
    assert shown.lower() == "succeeded"
    assert contradicted(conditions) == reason.reason


@kinds
def test_a_release_that_was_broken_off_is_said_where_its_evidence_is_forgotten(
    life: Callable[..., RecordedEvents], reason: HoldReason, phase: str
) -> None:
    assert contradicted(life(ForgetEvidence(HostOn("metal/h1"), contradicted=True))[1]) == "ReleaseAborted"
    assert contradicted(life(ForgetEvidence(None, contradicted=True))[1]) == "ReleaseAborted"
    assert contradicted(life(MarkReleased(contradicted=True))[1]) == "ReleaseAborted"


@kinds
def test_evidence_that_falls_before_a_release_contradicts_nothing(
    life: Callable[..., RecordedEvents], reason: HoldReason, phase: str
) -> None:
    for step in (ForgetEvidence(HostOn("metal/h1")), MarkReleased(), Hold(WaitingForNewBoot("n1"))):
        shown, conditions = life(step)
        assert shown != phase
        assert find(conditions, EVIDENCE_CONTRADICTED) is None


def test_a_power_cycle_that_is_given_up_for_it_has_failed_and_says_it() -> None:
    spoke = ActiveAfterRelease("metal/h1", "boot boot-1, by a new Node")
    shown, conditions = by_power(FailAttempt(spoke, permanent=True))
    assert shown == metal3_remediation.Metal3RemediationPhase.FAILED
    assert contradicted(conditions) == "ActiveAfterRelease"
    assert is_contradiction(spoke, released=False)


@pytest.mark.parametrize(
    "step",
    [ForgetEvidence(ProofContradicted("boot-1")), Hold(ProofContradicted("boot-1"))],
    ids=["forgotten", "held"],
)
def test_a_proof_that_falls_before_its_release_is_no_alarm(step: ForgetEvidence | Hold) -> None:
    status = fencing_worlds.RELEASING
    reported = self_remediation_status.after(status, step, epoch=9, generation=4, now=NOW)
    assert find(reported.conditions, EVIDENCE_CONTRADICTED) is None


def test_one_that_an_older_version_held_for_it_says_so_too() -> None:
    reason = ConfirmationContradicted("anna", "boot-1")
    reported = decide.after(worlds.RECOVERING, Hold(reason), epoch=9, generation=4, now=NOW)
    older = reported.but(
        conditions=tuple(one for one in reported.conditions if one.type != EVIDENCE_CONTRADICTED)
    )
    assert not decide.tells(older, Hold(reason))
    assert decide.tells(reported, Hold(reason))


def test_a_mark_is_cleared_before_new_evidence_which_it_would_void() -> None:
    """The leader that revoked the release died before that; the gate holds back the next boot."""
    world = fencing_worlds.facts(
        fencing_worlds.remediation(fencing_worlds.NOTED),
        agent=Present(fencing_worlds.BACK),
        revocation="rem-1.54.contradicted",
    )
    assert self_remediation_decisions.decide(world) == ClearRevocation(worlds.SILENT_NODE)


def test_the_reasons_that_contradict_evidence() -> None:
    """A closed list: any other reason leaves a remediation uncontradicted."""
    found = {kind.reason: kind.contradicts for kind in all_hold_reasons()}
    assert {reason: when for reason, when in found.items() if when is not Contradicts.NEVER} == {
        "PowerOffContradicted": Contradicts.ALWAYS,
        "ActiveAfterRelease": Contradicts.ALWAYS,
        "ProofContradicted": Contradicts.ONCE_RELEASED,
        "ConfirmationContradicted": Contradicts.ONCE_RELEASED,
    }
