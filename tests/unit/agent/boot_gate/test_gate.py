"""When kubelet may start."""

import pytest

from nodemend.agent.api_check import exit_codes
from nodemend.agent.boot_gate.gate import (
    FORGET,
    Asked,
    AskNow,
    Closed,
    Go,
    Gone,
    count_gone,
    hold_back,
    judge,
    judge_feeder,
    judge_gone,
    judge_look,
)
from nodemend.decide.self_resets import MayStart, StaysGated

ARMED = {"boot": "this boot", "state": "armed", "last-ping": "100", "effective": "10"}


def test_a_look_counts_once_the_watchdog_is_fed() -> None:
    assert judge_feeder(ARMED, "this boot", 109) == AskNow()


@pytest.mark.parametrize(
    ("status", "now", "why"),
    [
        ({}, 101, "the feeder has not told anything in this boot"),
        (ARMED | {"boot": "another"}, 101, "the feeder has not told anything in this boot"),
        (ARMED | {"state": "waiting"}, 101, "the feeder is waiting: no reason told"),
        (ARMED | {"state": "starving", "why": "a gap"}, 101, "the feeder is starving: a gap"),
        (ARMED | {"last-ping": "-"}, 101, "the feeder does not tell when it fed last"),
        ({"boot": "this boot", "state": "armed"}, 101, "the feeder does not tell when it fed last"),
        (ARMED, 110, "the feeder was armed, and has not fed for long"),
        (ARMED, 99, "the feeder was armed, and has not fed for long"),
    ],
)
def test_otherwise_it_is_closed(status: dict[str, str], now: int, why: str) -> None:
    assert judge_feeder(status, "this boot", now) == Closed(why)


@pytest.mark.parametrize(
    ("code", "opens"),
    [
        (exit_codes.CLEAN, True),
        (exit_codes.ABSENT, True),
        (exit_codes.MARKED, False),
        (exit_codes.MARKED_FOR_ANOTHER_BOOT, False),
        (exit_codes.FAILED, False),
        (-14, False),
    ],
)
def test_it_opens_after_a_look_without_any_marker(code: int, opens: bool) -> None:
    assert isinstance(judge_look(code), Go if opens else Closed)


def test_without_a_node_it_opens_and_says_that_nothing_was_published() -> None:
    assert judge_look(exit_codes.NO_NODE) == Go("there is no such Node")


@pytest.mark.parametrize("code", [exit_codes.CLEAN, exit_codes.ABSENT, exit_codes.NO_NODE])
def test_no_look_opens_it_before_the_watchdog_is_fed(code: int) -> None:
    assert judge(Closed("the feeder is waiting"), code) == Closed("the feeder is waiting")
    assert isinstance(judge(AskNow(), code), Go)


def test_a_marker_is_told_as_the_reason_why_the_feeder_waits() -> None:
    assert judge(Closed("waiting"), exit_codes.MARKED_FOR_ANOTHER_BOOT) == Closed(
        "an earlier boot was marked, and its remediation is not done"
    )


def test_after_too_many_resets_it_waits_for_a_person() -> None:
    why = hold_back(StaysGated(3, 3600.0), "quiet splash")

    assert why == "it has reset itself 3 times within 60 minutes: somebody should look"
    assert hold_back(MayStart(2), "quiet") == ""
    assert hold_back(StaysGated(3, 3600.0), f"quiet {FORGET}\n") == ""


def test_who_waits_is_told_what_else_stands_in_the_way_first() -> None:
    assert judge(AskNow(), exit_codes.CLEAN, "three resets") == Closed("three resets")
    assert judge(Closed("waiting"), exit_codes.CLEAN, "three resets") == Closed("waiting")
    assert judge(AskNow(), exit_codes.MARKED, "three resets") == judge_look(exit_codes.MARKED)
    assert judge(AskNow(), exit_codes.FAILED, "three resets") == judge_look(exit_codes.FAILED)


WAITS = Closed("the feeder is waiting: 401")
PERSON, FIRST = Asked(by_person=True), Asked(first_boot=True)
MARKS = (exit_codes.MARKED, exit_codes.MARKED_FOR_DRILL, exit_codes.MARKED_FOR_ANOTHER_BOOT)


@pytest.mark.attack("V5")
@pytest.mark.parametrize("asked", [PERSON, FIRST])
def test_without_a_look_it_opens_unguarded_for_a_person_and_for_a_machine_that_was_no_node_yet(
    asked: Asked,
) -> None:
    assert judge(WAITS, exit_codes.FAILED) == WAITS
    found = judge(WAITS, exit_codes.FAILED, asked=asked)
    assert isinstance(found, Go)
    assert found.unguarded


@pytest.mark.attack("V5", "V10")
@pytest.mark.parametrize("asked", [PERSON, FIRST, Asked()])
@pytest.mark.parametrize("mark", MARKS)
def test_nobody_opens_it_under_a_marker(asked: Asked, mark: int) -> None:
    for feeder in (WAITS, AskNow()):
        assert judge(feeder, mark, asked=asked) == judge_look(mark)
        assert isinstance(judge(feeder, mark, "three resets", asked), Closed)


@pytest.mark.attack("V10")
@pytest.mark.parametrize("code", [exit_codes.STOOD_DOWN, exit_codes.UNINSTALLED])
def test_it_opens_unguarded_where_nobody_relies_on_it_any_more(code: int) -> None:
    for feeder in (WAITS, AskNow()):
        found = judge(feeder, code)
        assert isinstance(found, Go)
        assert found.unguarded


@pytest.mark.attack("V5")
@pytest.mark.parametrize("asked", [Asked(by_person=True), Asked(first_boot=True)])
def test_after_a_look_that_answered_a_marker_nobody_opens_it_without_another_look(asked: Asked) -> None:
    """Whoever wrote the marker was told that it stays closed, and may release the node's pods by now."""
    answered = Asked(asked.by_person, asked.first_boot, answered=True)
    for feeder in (WAITS, AskNow()):
        assert isinstance(judge(feeder, exit_codes.FAILED, asked=answered), Closed)
    assert judge(AskNow(), exit_codes.CLEAN, asked=answered) == Go()
    assert isinstance(judge(WAITS, exit_codes.STOOD_DOWN, asked=answered), Go)


def test_a_person_who_opens_it_with_a_clean_look_has_a_guarded_boot() -> None:
    assert judge(AskNow(), exit_codes.CLEAN, asked=PERSON) == Go()
    assert judge(AskNow(), exit_codes.CLEAN, "three resets", PERSON) == Go()


def test_where_others_may_know_that_it_is_held_back_opening_takes_a_look_that_tells_otherwise() -> None:
    """A marker for the boot before is enough then to release its pods."""
    assert judge(WAITS, exit_codes.FAILED, "three resets", PERSON) == WAITS
    assert isinstance(judge(AskNow(), exit_codes.FAILED, "three resets", PERSON), Closed)
    assert isinstance(judge(AskNow(), exit_codes.FAILED, "three resets", FIRST), Closed)


UNINSTALLED, SILENT, KILLED = exit_codes.UNINSTALLED, exit_codes.NO_ANSWER, -14


def believed_gone_at(looks: list[tuple[float, int]]) -> float | None:
    """The time of the look that opens the gate."""
    gone = Gone()
    for now, code in looks:
        gone = count_gone(gone, code, now)
        if code == UNINSTALLED and judge_gone(gone, now) is None:
            return now
    return None


@pytest.mark.attack("V10")
def test_that_nothing_is_installed_is_believed_after_half_a_minute_and_three_looks() -> None:
    assert believed_gone_at([(float(now), UNINSTALLED) for now in range(100, 140, 2)]) == 130.0
    assert believed_gone_at([(100.0, UNINSTALLED), (140.0, UNINSTALLED)]) is None
    assert believed_gone_at([(100.0, UNINSTALLED), (140.0, UNINSTALLED), (141.0, UNINSTALLED)]) == 141.0


@pytest.mark.attack("V10")
@pytest.mark.parametrize("silence", [SILENT, KILLED, -1])
def test_looks_without_an_answer_do_not_keep_the_gate_closed_for_ever(silence: int) -> None:
    """A machine that boots under load, or a slow server: every other look ends too late."""
    looks = [(float(now), silence if now % 4 else UNINSTALLED) for now in range(100, 160, 2)]
    assert believed_gone_at(looks) == 132.0


@pytest.mark.attack("V10")
@pytest.mark.parametrize("silence", [SILENT, KILLED])
def test_silence_alone_opens_nothing(silence: int) -> None:
    """That is what a node that was cut off sees."""
    looks = [(100.0, UNINSTALLED), *((float(now), silence) for now in range(102, 400, 2))]
    assert believed_gone_at(looks) is None
    assert isinstance(judge(AskNow(), silence), Closed)


@pytest.mark.attack("V10")
@pytest.mark.parametrize("answer", [exit_codes.FAILED, exit_codes.CLEAN, *MARKS])
def test_any_other_answer_begins_the_count_anew(answer: int) -> None:
    looks = [(float(now), answer if now == 128 else UNINSTALLED) for now in range(100, 164, 2)]
    assert believed_gone_at(looks) == 160.0
