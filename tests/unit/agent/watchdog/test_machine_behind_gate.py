"""The feeder's state machine between boot gate and agent: what lets it feed, and what ends that."""

import pytest

from nodemend.agent.watchdog import model as w
from nodemend.agent.watchdog.feeder import Feeder
from nodemend.agent.watchdog.records import CLOSED, PUBLISHED, NoRecord, RefusedRecord
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.watchdog_drivers import SECOND, Physical

BOOT = "this boot"
RULES = w.FeederRules(BOOT, 35 * SECOND, 10 * SECOND, 2 * SECOND, SECOND // 2, 5 * SECOND, Physical())
DEVICE = w.Device("iTCO_wdt", 30, magic_close=True, nowayout=False)
WAITING = w.FilesRead(NoRecord(), gate=CLOSED)
PUBLISHED_ALONE = w.FilesRead(NoRecord(), gate=PUBLISHED)


def begun() -> Feeder:
    feeder = Feeder(RULES)
    feeder.step(w.FeederStarted(), 0)
    feeder.step(w.LockTaken(), 0)
    return feeder


def let_in() -> Feeder:
    """A feeder behind a gate that has published this boot; at 1 s."""
    feeder = begun()
    assert feeder.step(PUBLISHED_ALONE, SECOND) == (w.Open(),)
    feeder.step(w.DeviceOpened(DEVICE), SECOND)
    feeder.step(PUBLISHED_ALONE, SECOND)
    feeder.step(w.TimeoutSet(5), SECOND)
    return feeder


def feeds(feeder: Feeder, looked: w.FilesRead, second: int) -> bool:
    """Step once and return True if the feeder is still armed."""
    commands = feeder.step(looked, second * SECOND)
    if w.Ping() in commands:
        feeder.step(w.Pinged(), second * SECOND)
    return isinstance(feeder.status.state, w.Armed)


def test_before_the_gate_has_published_the_device_is_not_opened() -> None:
    """Kubelet waits, so nothing needs to be fenced.

    An armed watchdog would reset the node if the API server became unreachable again.
    """
    feeder = begun()
    feeder.step(WAITING, SECOND)
    feeder.step(w.Answered(w.Clean(), SECOND), 2 * SECOND)

    commands = feeder.step(WAITING, 2 * SECOND)

    assert w.Open() not in commands
    assert feeder.status.why == "the boot gate has not published this boot yet"
    assert feeder.step(PUBLISHED_ALONE, 3 * SECOND) == (w.Open(),)


def test_before_there_is_an_agent_an_outage_ends_nothing() -> None:
    feeder = let_in()

    assert all(feeds(feeder, PUBLISHED_ALONE, second) for second in range(2, 600))


def test_it_still_sends_api_checks_and_a_marker_for_this_boot_ends_it() -> None:
    feeder = let_in()
    feeder.step(w.Answered(w.CheckFailed("no answer"), SECOND), 4 * SECOND)
    asked = [w.RunMarkerCheck() in feeder.step(w.Pinged(), second * SECOND) for second in range(4, 8)]
    assert any(asked)
    feeder.step(w.Answered(w.Marked(), 8 * SECOND), 8 * SECOND)
    feeder.step(PUBLISHED_ALONE, 9 * SECOND)

    assert isinstance(feeder.status.state, w.StoppedForFence)


@pytest.mark.parametrize(
    "record",
    [FeedLease(BOOT, 40 * SECOND), FeedLease(BOOT, 0), FeedLease("another"), RefusedRecord("torn")],
    ids=["of the agent", "that is over", "of another boot", "refused"],
)
def test_the_first_record_ends_that_permanently(record: FeedLease | RefusedRecord) -> None:
    """Any record ends it, even if it is lost later: the agent may have peers by then."""
    feeder = let_in()

    assert w.ForgetGate() in feeder.step(w.FilesRead(record, gate=PUBLISHED), 2 * SECOND)

    assert not all(feeds(feeder, PUBLISHED_ALONE, second) for second in range(3, 60))
    assert isinstance(feeder.status.state, w.Starving)


def test_a_marker_for_another_boot_ends_it_too() -> None:
    feeder = let_in()
    feeder.step(w.Answered(w.OtherMarker(), 2 * SECOND), 2 * SECOND)

    assert w.ForgetGate() in feeder.step(PUBLISHED_ALONE, 2 * SECOND)
    feeder.step(PUBLISHED_ALONE, 4 * SECOND)
    assert isinstance(feeder.status.state, w.Starving)


def test_a_restarted_feeder_continues() -> None:
    let_in()

    assert begun().step(PUBLISHED_ALONE, 200 * SECOND) == (w.Open(),)
