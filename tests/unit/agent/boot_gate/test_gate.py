"""Conditions under which the boot gate lets kubelet start."""

import pytest

from nodemend.agent import exit_codes
from nodemend.agent.boot_gate.decide import (
    FORGET,
    CheckNow,
    GateClosed,
    GateOpen,
    GateOptions,
    NothingInstalled,
    count_absence,
    evaluate_absence,
    evaluate_check,
    evaluate_feeder,
    evaluate_gate,
    hold_back,
)
from nodemend.protocol.self_resets import MayStart, StaysGated

ARMED = {"boot": "this boot", "state": "armed", "last-ping": "100", "effective": "10"}


def test_the_gate_checks_the_api_once_the_watchdog_is_fed() -> None:
    assert evaluate_feeder(ARMED, "this boot", 109) == CheckNow()


@pytest.mark.parametrize(
    ("status", "now", "why"),
    [
        ({}, 101, "the feeder has not reported anything in this boot"),
        (ARMED | {"boot": "another"}, 101, "the feeder has not reported anything in this boot"),
        (ARMED | {"state": "waiting"}, 101, "the feeder is waiting: no reason reported"),
        (ARMED | {"state": "starving", "why": "a gap"}, 101, "the feeder is starving: a gap"),
        (ARMED | {"last-ping": "-"}, 101, "the feeder does not report when it last fed"),
        (ARMED | {"last-ping": "1_00"}, 101, "the feeder does not report when it last fed"),
        (ARMED | {"last-ping": "-1"}, 1, "the feeder does not report when it last fed"),
        (ARMED | {"effective": "+10"}, 101, "the feeder does not report when it last fed"),
        (ARMED | {"effective": "9" * 60}, 101, "the feeder does not report when it last fed"),
        ({"boot": "this boot", "state": "armed"}, 101, "the feeder does not report when it last fed"),
        (ARMED, 110, "the feeder was armed, and has not fed for long"),
        (ARMED, 99, "the feeder was armed, and has not fed for long"),
    ],
)
def test_otherwise_it_is_closed(status: dict[str, str], now: int, why: str) -> None:
    assert evaluate_feeder(status, "this boot", now) == GateClosed(why)


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
def test_it_opens_after_an_api_check_without_any_marker(code: int, opens: bool) -> None:
    assert isinstance(evaluate_check(code), GateOpen if opens else GateClosed)


def test_without_a_node_it_opens_and_reports_that_nothing_was_published() -> None:
    assert evaluate_check(exit_codes.NO_NODE) == GateOpen("there is no such Node")


@pytest.mark.parametrize("code", [exit_codes.CLEAN, exit_codes.ABSENT, exit_codes.NO_NODE])
def test_no_api_check_opens_it_before_the_watchdog_is_fed(code: int) -> None:
    assert evaluate_gate(GateClosed("the feeder is waiting"), code) == GateClosed("the feeder is waiting")
    assert isinstance(evaluate_gate(CheckNow(), code), GateOpen)


def test_a_marker_is_reported_as_the_reason_why_the_feeder_waits() -> None:
    assert evaluate_gate(GateClosed("waiting"), exit_codes.MARKED_FOR_ANOTHER_BOOT) == GateClosed(
        "an earlier boot was marked, and its remediation is not done"
    )


def test_after_too_many_resets_it_waits_for_an_operator() -> None:
    why = hold_back(StaysGated(3, 3600.0), "quiet splash")

    assert why == "it has reset itself 3 times within 60 minutes: an operator must check it"
    assert hold_back(MayStart(2), "quiet") == ""
    assert hold_back(StaysGated(3, 3600.0), f"quiet {FORGET}\n") == ""


def test_the_gate_reports_its_blockers_in_a_fixed_order() -> None:
    assert evaluate_gate(CheckNow(), exit_codes.CLEAN, "three resets") == GateClosed("three resets")
    assert evaluate_gate(GateClosed("waiting"), exit_codes.CLEAN, "three resets") == GateClosed("waiting")
    assert evaluate_gate(CheckNow(), exit_codes.MARKED, "three resets") == evaluate_check(exit_codes.MARKED)
    assert evaluate_gate(CheckNow(), exit_codes.FAILED, "three resets") == evaluate_check(exit_codes.FAILED)


WAITS = GateClosed("the feeder is waiting: 401")
PERSON, FIRST = GateOptions(by_person=True), GateOptions(first_boot=True)
MARKS = (exit_codes.MARKED, exit_codes.MARKED_FOR_DRILL, exit_codes.MARKED_FOR_ANOTHER_BOOT)


@pytest.mark.attack("V5")
@pytest.mark.parametrize("asked", [PERSON, FIRST])
def test_without_an_api_check_it_opens_unguarded_for_an_operator_and_an_unjoined_machine(
    asked: GateOptions,
) -> None:
    assert evaluate_gate(WAITS, exit_codes.FAILED) == WAITS
    found = evaluate_gate(WAITS, exit_codes.FAILED, asked=asked)
    assert isinstance(found, GateOpen)
    assert found.unguarded


@pytest.mark.attack("V5", "V10")
@pytest.mark.parametrize("asked", [PERSON, FIRST, GateOptions()])
@pytest.mark.parametrize("mark", MARKS)
def test_the_gate_never_opens_under_a_marker(asked: GateOptions, mark: int) -> None:
    for feeder in (WAITS, CheckNow()):
        assert evaluate_gate(feeder, mark, asked=asked) == evaluate_check(mark)
        assert isinstance(evaluate_gate(feeder, mark, "three resets", asked), GateClosed)


@pytest.mark.attack("V10")
@pytest.mark.parametrize("code", [exit_codes.STOPPED_GRACEFULLY, exit_codes.UNINSTALLED])
def test_it_opens_unguarded_if_no_component_relies_on_it_any_longer(code: int) -> None:
    for feeder in (WAITS, CheckNow()):
        found = evaluate_gate(feeder, code)
        assert isinstance(found, GateOpen)
        assert found.unguarded


@pytest.mark.attack("V5")
@pytest.mark.parametrize("asked", [GateOptions(by_person=True), GateOptions(first_boot=True)])
def test_after_an_api_check_that_acknowledged_a_marker_only_another_one_opens_it(asked: GateOptions) -> None:
    """The writer of the marker has read that the gate stays closed, and may have released the node's pods."""
    answered = GateOptions(asked.by_person, asked.first_boot, answered=True)
    for feeder in (WAITS, CheckNow()):
        assert isinstance(evaluate_gate(feeder, exit_codes.FAILED, asked=answered), GateClosed)
    assert evaluate_gate(CheckNow(), exit_codes.CLEAN, asked=answered) == GateOpen()
    assert isinstance(evaluate_gate(WAITS, exit_codes.STOPPED_GRACEFULLY, asked=answered), GateOpen)


def test_an_operator_who_opens_it_after_a_clean_api_check_has_a_guarded_boot() -> None:
    assert evaluate_gate(CheckNow(), exit_codes.CLEAN, asked=PERSON) == GateOpen()
    assert evaluate_gate(CheckNow(), exit_codes.CLEAN, "three resets", PERSON) == GateOpen()


def test_a_published_held_boot_opens_only_after_an_api_check_that_corrects_it() -> None:
    """Otherwise a marker for the boot before is enough to release its pods."""
    assert evaluate_gate(WAITS, exit_codes.FAILED, "three resets", PERSON) == WAITS
    assert isinstance(evaluate_gate(CheckNow(), exit_codes.FAILED, "three resets", PERSON), GateClosed)
    assert isinstance(evaluate_gate(CheckNow(), exit_codes.FAILED, "three resets", FIRST), GateClosed)


UNINSTALLED, SILENT, KILLED = exit_codes.UNINSTALLED, exit_codes.NO_ANSWER, -14


def accepted_gone_at(checks: list[tuple[float, int]]) -> float | None:
    """The time of the API check that opens the gate, or None."""
    gone = NothingInstalled()
    for now, code in checks:
        gone = count_absence(gone, code, now)
        if code == UNINSTALLED and evaluate_absence(gone, now) is None:
            return now
    return None


@pytest.mark.attack("V10")
def test_a_missing_installation_is_accepted_after_half_a_minute_and_three_api_checks() -> None:
    assert accepted_gone_at([(float(now), UNINSTALLED) for now in range(100, 140, 2)]) == 130.0
    assert accepted_gone_at([(100.0, UNINSTALLED), (140.0, UNINSTALLED)]) is None
    assert accepted_gone_at([(100.0, UNINSTALLED), (140.0, UNINSTALLED), (141.0, UNINSTALLED)]) == 141.0


@pytest.mark.attack("V10")
@pytest.mark.parametrize("silence", [SILENT, KILLED, -1])
def test_api_checks_without_an_answer_do_not_keep_the_gate_closed_forever(silence: int) -> None:
    """A machine that boots under load, or a slow server: every other API check times out."""
    checks = [(float(now), silence if now % 4 else UNINSTALLED) for now in range(100, 160, 2)]
    assert accepted_gone_at(checks) == 132.0


@pytest.mark.attack("V10")
@pytest.mark.parametrize("silence", [SILENT, KILLED])
def test_silence_alone_opens_nothing(silence: int) -> None:
    """A node that was cut off observes the same."""
    checks = [(100.0, UNINSTALLED), *((float(now), silence) for now in range(102, 400, 2))]
    assert accepted_gone_at(checks) is None
    assert isinstance(evaluate_gate(CheckNow(), silence), GateClosed)


@pytest.mark.attack("V10")
@pytest.mark.parametrize("answer", [exit_codes.FAILED, exit_codes.CLEAN, *MARKS])
def test_any_other_answer_restarts_the_count(answer: int) -> None:
    checks = [(float(now), answer if now == 128 else UNINSTALLED) for now in range(100, 164, 2)]
    assert accepted_gone_at(checks) == 160.0
