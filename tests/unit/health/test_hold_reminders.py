"""One sentence per check for all targets that it holds, with the numbers."""

from nodemend.guard.state import CountScope, TargetIndex, TargetState, TargetStatus
from nodemend.health.reporting import HoldReminders
from nodemend.rules.request import FIRST

CLOSED = TargetStatus(TargetState.HELD, "TooManyUnhealthy", "Too many are unhealthy: 990 of 2,000.")
CROWDED = TargetStatus(TargetState.HELD, "TooManyAtOnce", "Too many at once.")
SPENT = TargetStatus(TargetState.REMEDIATING, "RemediesExhausted", "All remedies were tried.")


def a_target_index(**entries: TargetStatus) -> TargetIndex:
    target_index = TargetIndex()
    for number in range(10):
        target_index.upsert(f"n{number}", CountScope("workers"), TargetStatus(TargetState.HEALTHY))
    for name, entry in entries.items():
        target_index.upsert(name, CountScope("workers"), entry)
    return target_index


def test_after_five_minutes_there_is_one_sentence_with_numbers_reasons_and_what_would_change_it() -> None:
    reminders, counts = (
        HoldReminders("node"),
        a_target_index(n3=CLOSED, n1=CROWDED, n7=CLOSED).of_check("workers"),
    )
    assert reminders.update("workers", counts, 0.0) == ("", FIRST)
    assert reminders.update("workers", counts, 100.0) == ("", FIRST - 100.0)
    reported = "Held for 5 min without a break: 3 of 10 nodes (TooManyUnhealthy 2, TooManyAtOnce 1)."
    expected = f"{reported} n3: Too many are unhealthy: 990 of 2,000."
    assert reminders.update("workers", counts, FIRST) == (expected, 2 * FIRST)
    assert reminders.update("workers", counts, FIRST + 1.0) == ("", 2 * FIRST - 1.0)


def test_who_waits_for_a_person_after_the_last_remedy_is_held_and_who_is_just_remediated_is_not() -> None:
    reminders = HoldReminders("machine")
    counts = a_target_index(n1=SPENT, n2=TargetStatus(TargetState.REMEDIATING)).of_check("workers")
    reminders.update("workers", counts, 0.0)
    assert "1 of 10 machines (RemediesExhausted 1). n1: All" in reminders.update("workers", counts, FIRST)[0]


def test_a_check_without_held_nodes_is_forgotten_and_each_check_has_its_own_interval() -> None:
    reminders, held = HoldReminders("node"), a_target_index(n1=CLOSED).of_check("workers")
    reminders.update("workers", held, 0.0)
    assert reminders.update("others", a_target_index().of_check("workers"), 10.0) == ("", None)
    assert reminders.update("workers", a_target_index().of_check("workers"), 200.0) == ("", None)
    assert reminders.update("workers", held, FIRST) == ("", FIRST)
    reminders.forget("workers")
    assert reminders.update("workers", held, FIRST + 10.0) == ("", FIRST)
