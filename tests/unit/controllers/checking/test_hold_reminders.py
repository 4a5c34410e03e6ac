"""One sentence a check for whatever is held under it, with the numbers."""

from nodemend.controllers.checking.hold_reminders import HoldReminders
from nodemend.controllers.checking.standings import Entry, Place, Standing, Standings
from nodemend.decide.hold_reminder import FIRST

CLOSED = Entry(Standing.HELD, "TooManyUnhealthy", "Too many are unhealthy: 990 of 2,000.")
CROWDED = Entry(Standing.HELD, "TooManyAtOnce", "Too many at once.")
SPENT = Entry(Standing.REMEDIATING, "RemediesExhausted", "All remedies were tried.")


def a_book(**entries: Entry) -> Standings:
    book = Standings()
    for number in range(10):
        book.enter(f"n{number}", Place("workers"), Entry(Standing.HEALTHY))
    for name, entry in entries.items():
        book.enter(name, Place("workers"), entry)
    return book


def test_after_five_minutes_there_is_one_sentence_with_numbers_reasons_and_what_would_change_it() -> None:
    reminders, tally = HoldReminders("node"), a_book(n3=CLOSED, n1=CROWDED, n7=CLOSED).of_check("workers")
    assert reminders.look("workers", tally, 0.0) == ("", FIRST)
    assert reminders.look("workers", tally, 100.0) == ("", FIRST - 100.0)
    told = "Held for 5 min without a break: 3 of 10 nodes (TooManyUnhealthy 2, TooManyAtOnce 1)."
    expected = f"{told} n3: Too many are unhealthy: 990 of 2,000."
    assert reminders.look("workers", tally, FIRST) == (expected, 2 * FIRST)
    assert reminders.look("workers", tally, FIRST + 1.0) == ("", 2 * FIRST - 1.0)


def test_who_waits_for_a_person_after_the_last_remedy_is_held_and_who_is_just_remediated_is_not() -> None:
    reminders = HoldReminders("machine")
    tally = a_book(n1=SPENT, n2=Entry(Standing.REMEDIATING)).of_check("workers")
    reminders.look("workers", tally, 0.0)
    assert "1 of 10 machines (RemediesExhausted 1). n1: All" in reminders.look("workers", tally, FIRST)[0]


def test_a_check_with_nobody_held_is_forgotten_and_each_check_has_its_own_time() -> None:
    reminders, held = HoldReminders("node"), a_book(n1=CLOSED).of_check("workers")
    reminders.look("workers", held, 0.0)
    assert reminders.look("others", a_book().of_check("workers"), 10.0) == ("", None)
    assert reminders.look("workers", a_book().of_check("workers"), 200.0) == ("", None)
    assert reminders.look("workers", held, FIRST) == ("", FIRST)
    reminders.forget("workers")
    assert reminders.look("workers", held, FIRST + 10.0) == ("", FIRST)
