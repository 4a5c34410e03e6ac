"""The published watchdog report: a promise if it holds, and a reason if it does not."""

import pytest

from nodemend.agent.watchdog.model import (
    Armed,
    Device,
    Ended,
    FeederState,
    FeederStatus,
    Starving,
    StoppedGracefully,
    Waiting,
    format_status,
    parse_status,
)
from nodemend.agent.watchdog.records import WatchdogStatus, evaluate_watchdog, longest_lease
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.watchdog_drivers import SECOND, Hardware, Software, Unsupported, WatchdogClass

DEVICE = Device("i6300ESB timer", 9, magic_close=True, nowayout=True)
PINGED = 100 * SECOND
W = 9_063_000_000


def reported(
    state: FeederState,
    found: WatchdogClass,
    device: Device | None = DEVICE,
    why: str = "",
    boot: str = "boot-1",
) -> dict[str, str]:
    """The parsed status as the feeder writes it."""
    ping, effective = (PINGED, W) if device else (None, None)
    status = FeederStatus(state, why, FeedLease(boot), False, 35 * SECOND, device, found, effective, ping)
    return parse_status(format_status(status, boot, []))


def unsupported(why: str) -> tuple[str, str]:
    return "unsupported", why


@pytest.mark.parametrize("state", [Armed(), Starving(PINGED, permanent=False)])
def test_a_device_that_runs_is_what_it_is(state: FeederState) -> None:
    found = evaluate_watchdog(reported(state, Hardware()), "boot-1", PINGED + W - 1, tested=True)

    assert found == WatchdogStatus("hardware", "i6300ESB timer", 9.0, 9.063, "")


@pytest.mark.attack("K3")
def test_a_watchdog_that_never_reset_this_machine_is_not_called_hardware() -> None:
    found = evaluate_watchdog(reported(Armed(), Hardware()), "boot-1", PINGED + 1)
    assert found == WatchdogStatus("untested", "i6300ESB timer", 9.0, 9.063, "")
    soft = evaluate_watchdog(reported(Armed(), Software()), "boot-1", PINGED + 1)
    assert soft.kind == "software"


@pytest.mark.parametrize("now", [PINGED - 1, PINGED + W])
def test_a_watchdog_that_was_exceeded_without_a_reset_is_untrusted(now: int) -> None:
    found = evaluate_watchdog(reported(Armed(), Hardware()), "boot-1", now)

    assert (found.kind, found.why) == unsupported(
        "it was not fed for longer than it should take to reset, and has not reset the machine"
    )


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({}, "no feeder has reported anything in this boot"),
        (reported(Armed(), Hardware(), boot="boot-0"), "no feeder has reported anything in this boot"),
        (reported(Waiting(), Unsupported("-"), None, why="no lease"), "the feeder is waiting: no lease"),
        (reported(Ended(), Hardware(), why="disarmed"), "the feeder is ended: disarmed"),
        (reported(StoppedGracefully(), Hardware()), "its agent was stopped: it is fed without one"),
        (reported(Armed(), Unsupported("a virtual machine")), "a virtual machine"),
        (
            {"boot": "boot-1", "state": "armed", "class": "magic"},
            "the feeder reports an unknown class of watchdog",
        ),
        (
            {"boot": "boot-1", "state": "armed", "class": "unsupported", "unsupported-because": ""},
            "the feeder reports an unknown class of watchdog",
        ),
        (
            {"boot": "boot-1", "state": "armed", "class": "hardware", "last-ping": "-5", "effective": "9"},
            "the feeder does not report when it last fed, or its effective timeout",
        ),
        (
            {"boot": "boot-1", "state": "armed", "class": "hardware", "last-ping": "5", "effective": "0"},
            "the feeder does not report when it last fed, or its effective timeout",
        ),
    ],
)
def test_the_reason_for_an_unusable_watchdog_is_published(status: dict[str, str], why: str) -> None:
    found = evaluate_watchdog(status, "boot-1", PINGED + 1)

    assert (found.kind, found.why) == unsupported(why)


def test_the_accepted_lease_length_is_the_value_of_this_boot() -> None:
    assert longest_lease(reported(Armed(), Hardware()), "boot-1") == 35.0
    assert longest_lease(reported(Armed(), Hardware()), "boot-2") is None
    assert longest_lease({}, "boot-1") is None


@pytest.mark.parametrize("digits", [20, 400, 5000])
@pytest.mark.parametrize("name", ["effective", "last-ping", "written-seconds", "lease-length"])
def test_numbers_longer_than_any_clock_value_are_rejected(name: str, digits: int) -> None:
    status = reported(Armed(), Hardware()) | {name: "9" * digits}
    found = evaluate_watchdog(status, "boot-1", PINGED)

    assert (found.kind == "unsupported") == (name in ("effective", "last-ping"))
    assert max(found.written, found.effective) < 10.0
    assert (longest_lease(status, "boot-1") is None) == (name == "lease-length")
