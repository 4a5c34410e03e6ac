"""The recorded phase of a recovery, and the next step."""

from dataclasses import replace

import pytest

from nodemend.api.node_health_check import RecoveryPhase
from nodemend.rules.node import Healthy, NodeHealth, Unjudged
from nodemend.rules.request import (
    PASSES,
    Create,
    CreateRecovery,
    DeleteRecovery,
    DeleteRemediation,
    Escalate,
    MarkRecoveryPending,
    NoAction,
    Recovering,
    RecoveryFacts,
    RemedyAttempt,
    Request,
    Step,
    decide_recovery,
    progress,
    spell_phase,
    still_missing,
)
from nodemend.safety import guard_holds
from nodemend.safety.holds import Hold

PENDING, RUNNING, SUCCEEDED, FAILED, OVERDUE = RecoveryPhase
TIMEOUT = 600.0
IN_PROGRESS = Recovering(ending=False, succeeded=False, trying=RemedyAttempt(0, 100.0, failed=False))
DONE = replace(IN_PROGRESS, succeeded=True)
BROKEN = replace(IN_PROGRESS, trying=RemedyAttempt(0, 100.0, failed=True))
LATE = replace(IN_PROGRESS, trying=RemedyAttempt(0, TIMEOUT, failed=False))
GOING = replace(IN_PROGRESS, ending=True)
HELD = Hold(guard_holds.DryRun(policy_exists=True))


@pytest.mark.parametrize(
    ("written", "there", "owing", "expected"),
    [
        # No recovery, and then a pending one.
        (None, None, False, None),
        (None, None, True, PENDING),
        (PENDING, None, False, PENDING),
        (PENDING, None, True, PENDING),
        # Its object exists.
        (PENDING, IN_PROGRESS, False, RUNNING),
        (PENDING, DONE, False, SUCCEEDED),
        (PENDING, BROKEN, False, FAILED),
        (PENDING, LATE, False, OVERDUE),
        (RUNNING, IN_PROGRESS, False, RUNNING),
        (RUNNING, DONE, False, SUCCEEDED),
        (RUNNING, BROKEN, False, FAILED),
        (RUNNING, LATE, False, OVERDUE),
        # An alarm ends only if the recovery succeeds after all, not by itself and not by a new leader's
        # clock.
        (FAILED, IN_PROGRESS, False, FAILED),
        (FAILED, LATE, False, FAILED),
        (OVERDUE, IN_PROGRESS, False, OVERDUE),
        (OVERDUE, BROKEN, False, FAILED),
        (FAILED, DONE, False, SUCCEEDED),
        (OVERDUE, DONE, False, SUCCEEDED),
        # It succeeded: this phase stays until its object is gone, in every case.
        (SUCCEEDED, DONE, False, SUCCEEDED),
        (SUCCEEDED, IN_PROGRESS, True, SUCCEEDED),
        (SUCCEEDED, GOING, False, SUCCEEDED),
        (SUCCEEDED, None, False, None),
        (SUCCEEDED, None, True, None),
        # It yields to a remediation, and is pending until the node is healthy again.
        (RUNNING, IN_PROGRESS, True, PENDING),
        (FAILED, BROKEN, True, PENDING),
        (PENDING, GOING, False, PENDING),
        # Another client deleted its object.
        (RUNNING, GOING, False, RUNNING),
        (FAILED, GOING, False, FAILED),
        (RUNNING, None, False, None),
        (FAILED, None, False, None),
        (OVERDUE, None, False, None),
        # The status was lost: it is written again from the existing object.
        (None, IN_PROGRESS, False, RUNNING),
        (None, BROKEN, False, FAILED),
        (None, GOING, False, None),
    ],
)
def test_what_is_written_next(
    written: RecoveryPhase | None,
    there: Recovering | None,
    owing: bool,
    expected: RecoveryPhase | None,
) -> None:
    assert progress(written, there, TIMEOUT, owing=owing) == expected


WELL = RecoveryFacts(written=None, there=None, timeout=TIMEOUT, missing=0.0)
UNWELL = replace(WELL, missing=None)


@pytest.mark.parametrize(
    ("wanted", "facts", "expected"),
    [
        # The remediation is deleted once the pending recovery is recorded, and the recovery starts after
        # that.
        (DeleteRemediation(), replace(WELL, remediating=True), MarkRecoveryPending()),
        (DeleteRemediation(), replace(WELL, remediating=True, written=FAILED), MarkRecoveryPending()),
        (DeleteRemediation(), replace(WELL, remediating=True, written=PENDING), DeleteRemediation()),
        (NoAction(), replace(WELL, remediating=True, written=PENDING), NoAction()),
        (NoAction(), replace(WELL, written=PENDING), CreateRecovery()),
        (NoAction(), replace(WELL, written=PENDING, missing=0.5), NoAction(0.5)),
        # No recovery is pending, or the node is not healthy.
        (NoAction(), WELL, NoAction()),
        (NoAction(30.0), replace(UNWELL, written=PENDING), NoAction(30.0)),
        (Create(), replace(UNWELL, written=PENDING), Create()),
        (HELD, replace(UNWELL, written=PENDING), HELD),
        (DeleteRemediation(), replace(UNWELL, remediating=True), DeleteRemediation()),
        (Escalate(1), replace(UNWELL, remediating=True), Escalate(1)),
        # It is running, and has until its timeout.
        (NoAction(), replace(WELL, written=RUNNING, there=IN_PROGRESS), NoAction(500.0)),
        (NoAction(), replace(WELL, written=OVERDUE, there=LATE), NoAction()),
        (NoAction(), replace(WELL, written=FAILED, there=BROKEN), NoAction()),
        (NoAction(), replace(WELL, written=RUNNING, there=DONE), NoAction(500.0)),
        (NoAction(), replace(WELL, written=SUCCEEDED, there=DONE), DeleteRecovery()),
        (NoAction(), replace(WELL, written=SUCCEEDED, there=GOING), NoAction()),
        # The node fails again: nothing starts beside a recovery, and a hold does not touch it.
        (Create(), replace(UNWELL, written=RUNNING, there=IN_PROGRESS), MarkRecoveryPending()),
        (Create(), replace(UNWELL, written=FAILED, there=BROKEN), MarkRecoveryPending()),
        (Create(), replace(UNWELL, written=PENDING, there=IN_PROGRESS), DeleteRecovery()),
        (Create(), replace(UNWELL, written=SUCCEEDED, there=DONE), DeleteRecovery()),
        (Create(), replace(UNWELL, written=PENDING, there=GOING), NoAction()),
        (HELD, replace(UNWELL, written=RUNNING, there=IN_PROGRESS), HELD),
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
def test_a_node_is_recovered_after_it_was_ready_for_the_delay(
    health: NodeHealth, missing: float | None
) -> None:
    assert still_missing(health, 30.0) == missing


def test_pauses_and_remediations_in_progress_hold_a_recovery_and_a_storm_does_not() -> None:
    assert guard_holds.TooManyUnhealthy in PASSES
    said = (guard_holds.Paused, guard_holds.DryRun, guard_holds.Excluded, guard_holds.OtherRemediation)
    assert not set(said) & set(PASSES)


def test_each_phase_says_something_else_and_an_alarm_says_what_to_do() -> None:
    reported = {phase: spell_phase(phase, "SwitchOn ns/n1") for phase in RecoveryPhase}
    assert len(set(reported.values())) == len(reported)
    assert all("delete the SwitchOn ns/n1" in reported[phase] for phase in (FAILED, OVERDUE))
    assert spell_phase(PENDING, "SwitchOn ns/n1", "Paused by anna.") == "Paused by anna."
