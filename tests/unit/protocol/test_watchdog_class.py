"""The class and the effective time of a watchdog."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.protocol.watchdog_drivers import (
    KNOWN_DRIVERS,
    SECOND,
    Drill,
    Hardware,
    Machine,
    Physical,
    Software,
    Undetermined,
    Unsupported,
    Virtual,
    WatchdogClass,
    effective_time,
    evaluate_class,
    seconds_to_write,
)

ESB, TCO, SOFT = "i6300ESB timer", "iTCO_wdt", "Software Watchdog"
MILLISECOND = SECOND // 1000


@pytest.mark.attack("K3")
@pytest.mark.parametrize(
    ("identity", "machine", "expected"),
    [
        (ESB, Physical(), Unsupported("a virtual machine can be paused, and its watchdog with it")),
        (TCO, Physical(), Hardware()),
        (SOFT, Physical(), Software()),
        ("never heard of", Physical(), Hardware()),
        (ESB, Virtual(), Unsupported("a virtual machine can be paused, and its watchdog with it")),
        (SOFT, Virtual(), Unsupported("a virtual machine can be paused, and its watchdog with it")),
        (TCO, Undetermined(), Unsupported("it is not known whether this is a virtual machine")),
        (None, Physical(), Unsupported("there is no watchdog device")),
        (None, Virtual(), Unsupported("there is no watchdog device")),
    ],
)
def test_class(identity: str | None, machine: Machine, expected: WatchdogClass) -> None:
    assert evaluate_class(identity, machine) == expected


def test_a_device_that_is_disarmed_by_the_feeder_s_death_does_not_protect() -> None:
    why = "closing the device disarms it: the driver must be loaded with nowayout"
    for machine in (Physical(), Virtual()):
        assert evaluate_class(ESB, machine, closing_disarms=True) == Unsupported(why)


@pytest.mark.parametrize(
    ("identity", "written", "milliseconds"),
    [
        (ESB, 10, 10_070),
        (ESB, 1, 1_007),
        (TCO, 30, 60_000),
        (SOFT, 30, 30_000),
        ("never heard of", 10, 20_000),
    ],
)
def test_the_effective_time_is_not_the_number_that_was_written(
    identity: str, written: int, milliseconds: int
) -> None:
    assert effective_time(identity, written) == milliseconds * MILLISECOND


@pytest.mark.parametrize(
    ("identity", "drill", "milliseconds"),
    [
        (TCO, Drill(TCO, 10, 21_000 * MILLISECOND), 21_000),
        # One quick reset does not prove that the next is as quick.
        (TCO, Drill(TCO, 10, 12_000 * MILLISECOND), 20_000),
        ("other", Drill("other", 10, 12_000 * MILLISECOND), 12_000),
        ("other", Drill("other", 10, 25_000 * MILLISECOND), 25_000),
        ("other", Drill("other", 10, 4_000 * MILLISECOND), 10_000),
        # A drill of another driver, or with another timeout, does not count.
        ("other", Drill(TCO, 10, 12_000 * MILLISECOND), 20_000),
        ("other", Drill("other", 9, 12_000 * MILLISECOND), 20_000),
    ],
)
def test_a_drill(identity: str, drill: Drill, milliseconds: int) -> None:
    assert effective_time(identity, 10, drill) == milliseconds * MILLISECOND


@pytest.mark.parametrize(
    ("identity", "wanted", "written"),
    [(ESB, 10, 9), (TCO, 10, 5), (TCO, 11, 5), (SOFT, 10, 10), ("never heard of", 10, 5), (TCO, 1, 1)],
)
def test_what_is_written_to_be_reset_in_time(identity: str, wanted: int, written: int) -> None:
    assert seconds_to_write(identity, wanted * SECOND) == written


@given(st.sampled_from([*KNOWN_DRIVERS, "never heard of"]), st.integers(2, 4000))
def test_what_is_written_resets_within_what_was_wanted_and_one_more_would_not(
    identity: str, wanted: int
) -> None:
    written = seconds_to_write(identity, wanted * SECOND)
    assert effective_time(identity, written) <= wanted * SECOND < effective_time(identity, written + 1)


def test_no_device_in_the_table_resets_sooner_than_requested() -> None:
    assert all(driver.permille >= 1000 for driver in KNOWN_DRIVERS.values())


@pytest.mark.attack("K3")
def test_a_device_that_only_raises_an_alarm_does_not_reset() -> None:
    for identity in (TCO, SOFT, "never heard of"):
        found = evaluate_class(identity, Physical(), alarm_only=True)
        assert found == Unsupported("the device raises an alarm and resets nothing (WDIOF_ALARMONLY)")


@pytest.mark.attack("K4")
def test_a_machine_that_may_be_put_to_sleep_promises_nothing() -> None:
    for identity in (TCO, SOFT, "never heard of"):
        found = evaluate_class(identity, Physical(), may_sleep=True)
        assert found == Unsupported("the machine may be put to sleep: mask sleep.target")
