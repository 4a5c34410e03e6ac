"""What becomes of a recovery: what is written of it, and what is done."""

from dataclasses import replace

import pytest

from nodemend.api.node_health_check import RecoveryPhase
from nodemend.decide import guard_holds
from nodemend.decide.escalation import Trying
from nodemend.decide.holds import Hold
from nodemend.decide.node_health import Healthy, NodeHealth, Unjudged
from nodemend.decide.recovery import (
    PASSES,
    Begin,
    End,
    Over,
    Owe,
    Recovering,
    RecoveryFacts,
    Step,
    decide_recovery,
    progress,
    spell_phase,
    still_missing,
)
from nodemend.decide.remediation_request import Create, Escalate, Leave, Request, Withdraw

OWED, RUNNING, SUCCEEDED, FAILED, OVERDUE = RecoveryPhase
TIMEOUT = 600.0
AT_WORK = Recovering(ending=False, succeeded=False, trying=Trying(0, 100.0, failed=False))
DONE = replace(AT_WORK, succeeded=True)
BROKEN = replace(AT_WORK, trying=Trying(0, 100.0, failed=True))
LATE = replace(AT_WORK, trying=Trying(0, TIMEOUT, failed=False))
GOING = replace(AT_WORK, ending=True)
HELD = Hold(guard_holds.DryRun(policy_exists=True))


@pytest.mark.parametrize(
    ("written", "there", "owing", "expected"),
    [
        # Nothing of it, and then it is owed.
        (None, None, False, Over()),
        (None, None, True, OWED),
        (OWED, None, False, OWED),
        (OWED, None, True, OWED),
        # Its object came.
        (OWED, AT_WORK, False, RUNNING),
        (OWED, DONE, False, SUCCEEDED),
        (OWED, BROKEN, False, FAILED),
        (OWED, LATE, False, OVERDUE),
        (RUNNING, AT_WORK, False, RUNNING),
        (RUNNING, DONE, False, SUCCEEDED),
        (RUNNING, BROKEN, False, FAILED),
        (RUNNING, LATE, False, OVERDUE),
        # An alarm ends when it succeeds after all, not by itself and not with a new leader's clock.
        (FAILED, AT_WORK, False, FAILED),
        (FAILED, LATE, False, FAILED),
        (OVERDUE, AT_WORK, False, OVERDUE),
        (OVERDUE, BROKEN, False, FAILED),
        (FAILED, DONE, False, SUCCEEDED),
        (OVERDUE, DONE, False, SUCCEEDED),
        # It succeeded: that stands until its object is gone, whatever comes.
        (SUCCEEDED, DONE, False, SUCCEEDED),
        (SUCCEEDED, AT_WORK, True, SUCCEEDED),
        (SUCCEEDED, GOING, False, SUCCEEDED),
        (SUCCEEDED, None, False, Over()),
        (SUCCEEDED, None, True, Over()),
        # It gives way to a remediation, and is owed until the node is well again.
        (RUNNING, AT_WORK, True, OWED),
        (FAILED, BROKEN, True, OWED),
        (OWED, GOING, False, OWED),
        # Somebody deleted it.
        (RUNNING, GOING, False, RUNNING),
        (FAILED, GOING, False, FAILED),
        (RUNNING, None, False, Over()),
        (FAILED, None, False, Over()),
        (OVERDUE, None, False, Over()),
        # The status was lost: what is there is written anew.
        (None, AT_WORK, False, RUNNING),
        (None, BROKEN, False, FAILED),
        (None, GOING, False, Over()),
    ],
)
def test_what_is_written_next(
    written: RecoveryPhase | None, there: Recovering | None, owing: bool, expected: RecoveryPhase | Over
) -> None:
    assert progress(written, there, TIMEOUT, owing=owing) == expected


WELL = RecoveryFacts(written=None, there=None, timeout=TIMEOUT, missing=0.0)
UNWELL = replace(WELL, missing=None)


@pytest.mark.parametrize(
    ("wanted", "facts", "expected"),
    [
        # The remediation goes when it is written that a recovery is owed, and the recovery comes after it.
        (Withdraw(), replace(WELL, remediating=True), Owe()),
        (Withdraw(), replace(WELL, remediating=True, written=FAILED), Owe()),
        (Withdraw(), replace(WELL, remediating=True, written=OWED), Withdraw()),
        (Leave(), replace(WELL, remediating=True, written=OWED), Leave()),
        (Leave(), replace(WELL, written=OWED), Begin()),
        (Leave(), replace(WELL, written=OWED, missing=0.5), Leave(0.5)),
        # Nobody owes one, or the node is not well.
        (Leave(), WELL, Leave()),
        (Leave(30.0), replace(UNWELL, written=OWED), Leave(30.0)),
        (Create(), replace(UNWELL, written=OWED), Create()),
        (HELD, replace(UNWELL, written=OWED), HELD),
        (Withdraw(), replace(UNWELL, remediating=True), Withdraw()),
        (Escalate(1), replace(UNWELL, remediating=True), Escalate(1)),
        # It is at work: it is given its time.
        (Leave(), replace(WELL, written=RUNNING, there=AT_WORK), Leave(500.0)),
        (Leave(), replace(WELL, written=OVERDUE, there=LATE), Leave()),
        (Leave(), replace(WELL, written=FAILED, there=BROKEN), Leave()),
        (Leave(), replace(WELL, written=RUNNING, there=DONE), Leave(500.0)),
        (Leave(), replace(WELL, written=SUCCEEDED, there=DONE), End()),
        (Leave(), replace(WELL, written=SUCCEEDED, there=GOING), Leave()),
        # The node fails again: nothing begins beside a recovery, and a hold leaves it alone.
        (Create(), replace(UNWELL, written=RUNNING, there=AT_WORK), Owe()),
        (Create(), replace(UNWELL, written=FAILED, there=BROKEN), Owe()),
        (Create(), replace(UNWELL, written=OWED, there=AT_WORK), End()),
        (Create(), replace(UNWELL, written=SUCCEEDED, there=DONE), End()),
        (Create(), replace(UNWELL, written=OWED, there=GOING), Leave()),
        (HELD, replace(UNWELL, written=RUNNING, there=AT_WORK), HELD),
        (HELD, replace(UNWELL, written=RUNNING, there=GOING), HELD),
    ],
)
def test_what_is_done(wanted: Request, facts: RecoveryFacts, expected: Request | Step) -> None:
    assert decide_recovery(wanted, facts) == expected


@pytest.mark.parametrize(
    ("health", "missing"),
    [
        (Healthy(10), 20.0),
        (Healthy(30), 0.0),
        (Healthy(40), 0.0),
        (Healthy(None), None),
        (Unjudged("x"), None),
    ],
)
def test_a_node_is_well_when_it_was_ready_for_the_delay(health: NodeHealth, missing: float | None) -> None:
    assert still_missing(health, 30.0) == missing


def test_what_people_said_and_who_is_at_work_holds_a_recovery_and_a_storm_does_not() -> None:
    assert guard_holds.TooManyUnhealthy in PASSES
    said = (guard_holds.Paused, guard_holds.DryRun, guard_holds.Excluded, guard_holds.OtherRemediation)
    assert not set(said) & set(PASSES)


def test_each_phase_says_something_else_and_an_alarm_says_what_to_do() -> None:
    told = {phase: spell_phase(phase, "SwitchOn ns/n1") for phase in RecoveryPhase}
    assert len(set(told.values())) == len(told)
    assert all("delete the SwitchOn ns/n1" in told[phase] for phase in (FAILED, OVERDUE))
    assert spell_phase(OWED, "SwitchOn ns/n1", "Paused by anna.") == "Paused by anna."
