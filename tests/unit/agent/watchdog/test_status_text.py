"""The feeder's status as text."""

import pytest

from nodemend.agent.watchdog import model as w
from nodemend.agent.watchdog.model import format_status, parse_status
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.watchdog_drivers import Hardware, Software, Unsupported, WatchdogClass

DEVICE = w.Device("iTCO_wdt", 5, magic_close=True, nowayout=None)


def status(
    state: w.FeederState, device: w.Device | None = DEVICE, found: WatchdogClass | None = None, why: str = ""
) -> w.FeederStatus:
    lease = FeedLease("b", 40)
    return w.FeederStatus(state, why, lease, True, 35, device, found or Hardware(), 10, 7)


def test_a_written_report_is_read_back() -> None:
    assert parse_status(format_status(status(w.Armed()), "b", [])) == {
        "boot": "b",
        "state": "armed",
        "lease-until": "40",
        "lease-length": "35",
        "lease-by": "agent",
        "reads": "1",
        "class": "hardware",
        "effective": "10",
        "last-ping": "7",
        "driver": "iTCO_wdt",
        "written-seconds": "5",
        "magic-close": "yes",
        "nowayout": "unknown",
    }


def test_weaknesses_are_reported() -> None:
    starving = status(w.Starving(9, permanent=True), None, Unsupported("no device"), "a\ngap")
    reported = parse_status(format_status(starving, "b", ["locked-memory", "oom-protection"]))
    assert reported["lacking"] == "locked-memory,oom-protection"
    assert (reported["class"], reported["unsupported-because"]) == ("unsupported", "no device")
    assert (reported["starving-since"], reported["for-good"], reported["why"]) == ("9", "yes", "a gap")
    assert "driver" not in reported


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (w.Waiting(), "waiting"),
        (w.StoppedForFence(), "condemned"),
        (w.LockedOut(), "locked-out"),
        (w.Ended(), "ended"),
    ],
)
def test_every_state_has_a_text(state: w.FeederState, word: str) -> None:
    assert parse_status(format_status(status(state, found=Software()), "b", []))["state"] == word


@pytest.mark.parametrize(
    "text", [b"", b"something else\nstate armed\n", b"nodemend-feeder-status two\nstate armed\n"]
)
def test_an_unrelated_text_reports_nothing(text: bytes) -> None:
    assert parse_status(text) == {}


@pytest.mark.parametrize("end", ["\r", "\x0b", "\x0c", "\x1c"])
def test_nothing_but_a_line_feed_ends_a_line(end: str) -> None:
    """Otherwise a driver's name or a reason could forge a class that was never evaluated."""
    text = format_status(status(w.Armed(), why=f"slow{end}class software"), "b", [])

    assert parse_status(text)["class"] == "hardware"
    assert parse_status(text.replace(b"\n", end.encode(), 1)) == {}


def test_no_fact_takes_more_than_a_line() -> None:
    device = w.Device("odd\nclass hardware", 5, magic_close=True, nowayout=None)
    found = parse_status(
        format_status(status(w.Armed(), device, Unsupported("odd\nclass hardware")), "b", [])
    )

    assert found["class"] == "unsupported"
    assert found["driver"] == "odd class hardware"
