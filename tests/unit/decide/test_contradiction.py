"""Evidence that turned out to be wrong is said by one condition, in a phase of its own, whatever the kind."""

from collections.abc import Callable

import pytest

from nodemend.api import manual_remediation, power_cycle, self_remediation
from nodemend.api.conditions import Condition, ConditionStatus, find
from nodemend.decide import (
    manual_remediation_status,
    power_cycle_status,
    self_remediation_status,
)
from nodemend.decide import self_remediation as self_remediation_decisions
from nodemend.decide.contradiction import EVIDENCE_CONTRADICTED, is_contradiction
from nodemend.decide.facts import Present
from nodemend.decide.fencing_holds import ProofContradicted
from nodemend.decide.holds import Hold, HoldReason, NotBackYet, WordContradicted
from nodemend.decide.host_holds import BootOutlived, HostOn, SpokeAfterRelease
from nodemend.decide.power_cycle_steps import GiveUp
from nodemend.decide.remediation_steps import ClearVoidMark, Close, ForgetEvidence, MarkReleased
from tests.unit.decide import fencing_worlds, power_worlds, worlds

pytestmark = pytest.mark.attack("U3")

NOW = "2026-01-01T12:00:00Z"
Step = Hold | ForgetEvidence | MarkReleased | Close
Told = tuple[str, tuple[Condition, ...]]


def by_hand(*steps: Step) -> Told:
    status = worlds.RECOVERING
    for step in steps:
        status = manual_remediation_status.after(status, step, epoch=9, generation=4, now=NOW)
    return status.phase, status.conditions


def by_itself(*steps: Step) -> Told:
    status = fencing_worlds.RECOVERING
    for step in steps:
        status = self_remediation_status.after(status, step, epoch=9, generation=4, now=NOW)
    return status.phase, status.conditions


def by_power(*steps: Step | GiveUp) -> Told:
    status = power_worlds.POWERING_ON
    for step in steps:
        status = power_cycle_status.after(status, step, epoch=9, generation=4, now=NOW)
    return status.phase, status.conditions


KINDS = [
    (by_hand, WordContradicted("anna", "boot-1"), manual_remediation.Phase.CONTRADICTED),
    (by_itself, ProofContradicted("boot-1"), self_remediation.Phase.CONTRADICTED),
    (by_power, BootOutlived("metal/h1", "boot-1"), power_cycle.Phase.CONTRADICTED),
]
kinds = pytest.mark.parametrize(("life", "reason", "phase"), KINDS, ids=["hand", "itself", "power"])


def contradicted(conditions: tuple[Condition, ...]) -> str:
    found = find(conditions, EVIDENCE_CONTRADICTED)
    return found.reason if found is not None and found.status is ConditionStatus.TRUE else ""


@kinds
def test_the_old_boot_seen_after_the_release_is_a_phase_of_its_own(
    life: Callable[..., Told], reason: HoldReason, phase: str
) -> None:
    shown, conditions = life(Hold(reason))
    assert shown == phase
    assert contradicted(conditions) == type(reason).__name__


@kinds
def test_it_stays_said_when_the_node_is_back_on_a_new_boot(
    life: Callable[..., Told], reason: HoldReason, phase: str
) -> None:
    shown, conditions = life(Hold(reason), Hold(NotBackYet("n1")), Close(node_gone=False))
    assert shown.lower() == "succeeded"
    assert contradicted(conditions) == type(reason).__name__


@kinds
def test_a_release_that_was_broken_off_is_said_where_its_evidence_is_forgotten(
    life: Callable[..., Told], reason: HoldReason, phase: str
) -> None:
    assert contradicted(life(ForgetEvidence(HostOn("metal/h1"), contradicted=True))[1]) == "ReleaseBrokenOff"
    assert contradicted(life(ForgetEvidence(None, contradicted=True))[1]) == "ReleaseBrokenOff"
    assert contradicted(life(MarkReleased(contradicted=True))[1]) == "ReleaseBrokenOff"


@kinds
def test_evidence_that_falls_before_a_release_contradicts_nothing(
    life: Callable[..., Told], reason: HoldReason, phase: str
) -> None:
    for step in (ForgetEvidence(HostOn("metal/h1")), MarkReleased(), Hold(NotBackYet("n1"))):
        shown, conditions = life(step)
        assert shown != phase
        assert find(conditions, EVIDENCE_CONTRADICTED) is None


def test_a_power_cycle_that_is_given_up_for_it_has_failed_and_says_it() -> None:
    spoke = SpokeAfterRelease("metal/h1", "boot boot-1, by a new Node")
    shown, conditions = by_power(GiveUp(spoke, for_good=True))
    assert shown == power_cycle.Phase.FAILED
    assert contradicted(conditions) == "SpokeAfterRelease"
    assert is_contradiction(spoke, released=False)


@pytest.mark.parametrize(
    "step",
    [ForgetEvidence(ProofContradicted("boot-1")), Hold(ProofContradicted("boot-1"))],
    ids=["forgotten", "held"],
)
def test_a_proof_that_falls_before_its_release_is_no_alarm(step: ForgetEvidence | Hold) -> None:
    status = fencing_worlds.RELEASING
    told = self_remediation_status.after(status, step, epoch=9, generation=4, now=NOW)
    assert find(told.conditions, EVIDENCE_CONTRADICTED) is None


def test_one_that_an_older_version_held_for_it_says_so_too() -> None:
    reason = WordContradicted("anna", "boot-1")
    told = manual_remediation_status.after(worlds.RECOVERING, Hold(reason), epoch=9, generation=4, now=NOW)
    older = told.but(conditions=tuple(one for one in told.conditions if one.type != EVIDENCE_CONTRADICTED))
    assert not manual_remediation_status.tells(older, Hold(reason))
    assert manual_remediation_status.tells(told, Hold(reason))


def test_a_mark_is_cleared_before_new_evidence_which_it_would_void() -> None:
    """Whoever broke the release off died before that; the next boot is held back by its gate."""
    world = fencing_worlds.facts(
        fencing_worlds.remediation(fencing_worlds.NOTED),
        agent=Present(fencing_worlds.BACK),
        void_mark="rem-1.54.contradicted",
    )
    assert self_remediation_decisions.decide(world) == ClearVoidMark(worlds.SILENT_NODE)
