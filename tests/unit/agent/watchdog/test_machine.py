"""The feeder's state machine, one scenario at a time. test_machine_promises has the properties of every
scenario.
"""

import pytest

from nodemend.agent.watchdog import model as w
from nodemend.agent.watchdog.feeder import Feeder
from nodemend.agent.watchdog.records import NoRecord, RefusedRecord
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.watchdog_drivers import SECOND, Hardware, Physical, Unsupported, Virtual

BOOT = "this boot"
RULES = w.FeederRules(BOOT, 35 * SECOND, 10 * SECOND, 2 * SECOND, SECOND // 2, 5 * SECOND, Physical())
WITHOUT_CHECK = w.FeederRules(BOOT, 35 * SECOND, 10 * SECOND, 2 * SECOND, SECOND // 2, None, Physical())
DEVICE = w.Device("iTCO_wdt", 30, magic_close=True, nowayout=False)
NOTHING = w.FilesRead(NoRecord())


def at(seconds: float) -> int:
    return int(seconds * SECOND)


def lasting(until: float) -> w.FilesRead:
    return w.FilesRead(FeedLease(BOOT, at(until)))


def permitted(until: float) -> w.FilesRead:
    return w.FilesRead(FeedLease(BOOT, at(until)), permitted=True)


FENCE_REQUESTED = FeedLease(BOOT, 0, fence_requested=True)


def doings(commands: tuple[w.FeederCommand, ...]) -> list[w.FeederCommand]:
    """The commands without reports."""
    return [command for command in commands if not isinstance(command, w.WriteStatus)]


def status(feeder: Feeder) -> tuple[w.FeederState, str]:
    return feeder.status.state, feeder.status.why


def armed(rules: w.FeederRules = WITHOUT_CHECK, until: float = 40) -> Feeder:
    """A feeder that the agent feeds, last at 10 s."""
    feeder = Feeder(rules)
    feeder.step(w.FeederStarted(), at(10))
    feeder.step(w.LockTaken(), at(10))
    feeder.step(lasting(until), at(10))
    feeder.step(w.DeviceOpened(DEVICE), at(10))
    feeder.step(lasting(until), at(10))
    feeder.step(w.TimeoutSet(5), at(10))
    return feeder


def asks(feeder: Feeder, looked: w.FilesRead, second: float) -> bool:
    """True if it starts an API check after this read of its files and the ping that may follow."""
    commands = feeder.step(looked, at(second))
    if w.Ping() in commands:
        commands = feeder.step(w.Pinged(), at(second))
    return w.RunMarkerCheck() in commands


def test_the_lock_then_the_lease_then_the_device() -> None:
    feeder = Feeder(WITHOUT_CHECK)
    assert feeder.step(w.FeederStarted(), at(1)) == (w.TakeDeviceLock(),)
    assert feeder.step(w.LockTaken(), at(1)) == (w.ReadFiles(),)
    assert feeder.step(lasting(30), at(1)) == (w.Open(),)
    assert feeder.step(w.DeviceOpened(DEVICE), at(1)) == (w.ReadFiles(),)
    assert feeder.step(lasting(30), at(1)) == (w.SetTimeout(5),)
    assert doings(feeder.step(w.TimeoutSet(5), at(1))) == [w.SleepUntil(at(1.5))]
    assert status(feeder) == (w.Armed(), "")
    assert feeder.status.effective == at(10)
    assert feeder.step(lasting(30), at(1.5)) == (w.SleepUntil(at(2)),)
    assert feeder.step(lasting(30), at(2.8)) == (w.SleepUntil(at(3)),)
    assert feeder.step(lasting(30), at(3)) == (w.Ping(),)
    assert doings(feeder.step(w.Pinged(), at(3))) == [w.SleepUntil(at(3.5))]


def test_a_locked_out_feeder_retries_and_touches_nothing() -> None:
    feeder = Feeder(RULES)
    feeder.step(w.FeederStarted(), at(1))
    assert doings(feeder.step(w.LockRefused(), at(1))) == [w.SleepUntil(at(1.5))]
    assert status(feeder) == (w.LockedOut(), "")
    assert feeder.step(lasting(30), at(1.5)) == (w.TakeDeviceLock(),)
    assert feeder.step(w.LockTaken(), at(1.5)) == (w.ReadFiles(),)


def test_without_a_lease_the_device_is_not_even_opened() -> None:
    feeder = Feeder(WITHOUT_CHECK)
    feeder.step(w.LockTaken(), at(1))
    assert doings(feeder.step(NOTHING, at(1))) == [w.SleepUntil(at(1.5))]
    assert doings(feeder.step(lasting(2), at(2))) == [w.SleepUntil(at(2.5))]
    assert status(feeder) == (w.Waiting(), "")


def test_a_lease_that_ends_while_the_device_is_opened_leaves_its_timeout_alone() -> None:
    feeder = Feeder(WITHOUT_CHECK)
    feeder.step(w.LockTaken(), at(1))
    feeder.step(lasting(2), at(1))
    feeder.step(w.DeviceOpened(DEVICE), at(3))
    assert doings(feeder.step(lasting(2), at(3))) == [w.KeepResetLog(), w.SleepUntil(at(3.5))]
    assert status(feeder) == (w.Starving(at(3), permanent=False), "")
    assert feeder.status.effective == at(60)


def test_it_starves_when_the_lease_expires_and_feeds_again_after_a_timely_renewal() -> None:
    feeder = armed(until=12)
    assert doings(feeder.step(lasting(12), at(12))) == [w.KeepResetLog(), w.SleepUntil(at(12.5))]
    assert status(feeder) == (w.Starving(at(12), permanent=False), "")
    feeder.step(lasting(12), at(14))
    assert feeder.status.state == w.Starving(at(12), permanent=False)
    assert feeder.step(lasting(50), at(19.9)) == (w.Ping(),)
    feeder.step(w.Pinged(), at(19.9))
    assert status(feeder) == (w.Armed(), "")


@pytest.mark.attack("K4")
def test_after_a_gap_of_a_whole_reset_time_it_starves_permanently_and_tries_a_reboot() -> None:
    feeder = armed()
    assert doings(feeder.step(lasting(54), at(20))) == [w.KeepResetLog(), w.SleepUntil(at(20.5))]
    state, why = status(feeder)
    assert state == w.Starving(at(20), permanent=True)
    assert why.startswith("10000000000 ns passed since the last ping")
    assert doings(feeder.step(lasting(55), at(20.5))) == [w.TryReboot(), w.SleepUntil(at(21))]
    assert doings(feeder.step(lasting(56), at(21))) == [w.SleepUntil(at(21.5))]


def test_just_less_than_that_is_no_gap() -> None:
    feeder = armed()
    assert feeder.step(lasting(40), at(20) - 1) == (w.Ping(),)


def test_a_condemned_node_is_not_fed_again_and_one_reset_is_tried() -> None:
    feeder = armed()
    assert doings(feeder.step(w.FilesRead(FENCE_REQUESTED), at(12))) == [
        w.KeepResetLog(),
        w.SleepUntil(at(12.5)),
    ]
    assert feeder.status.state == w.StoppedForFence()
    assert doings(feeder.step(lasting(47), at(12.5))) == [w.TryReboot(), w.SleepUntil(at(13))]
    assert doings(feeder.step(lasting(47), at(13))) == [w.SleepUntil(at(13.5))]
    assert feeder.status.state == w.StoppedForFence()


def test_a_condemned_node_is_not_armed() -> None:
    feeder = Feeder(WITHOUT_CHECK)
    feeder.step(w.LockTaken(), at(1))
    assert doings(feeder.step(w.FilesRead(FENCE_REQUESTED), at(1))) == [
        w.KeepResetLog(),
        w.SleepUntil(at(1.5)),
    ]
    assert doings(feeder.step(w.FilesRead(FENCE_REQUESTED), at(1.5))) == [w.TryReboot(), w.SleepUntil(at(2))]


def test_each_starvation_starts_a_new_record() -> None:
    feeder = armed(until=12)
    reported, noted, *_ = feeder.step(lasting(12), at(12))
    assert isinstance(reported, w.WriteStatus)
    assert noted == w.KeepResetLog()
    assert w.KeepResetLog() not in feeder.step(lasting(12), at(12.5))
    feeder.step(lasting(15), at(13))
    feeder.step(w.Pinged(), at(13))
    assert w.KeepResetLog() in feeder.step(lasting(15), at(15))


def test_until_the_agent_takes_over_it_asks_the_api_server_itself() -> None:
    feeder = Feeder(RULES)
    feeder.step(w.LockTaken(), at(1))
    assert doings(feeder.step(NOTHING, at(1))) == [w.RunMarkerCheck(), w.SleepUntil(at(1.5))]
    assert doings(feeder.step(NOTHING, at(1.5))) == [w.SleepUntil(at(2))]
    assert feeder.step(w.Answered(w.Clean(), at(1)), at(3)) == (w.ReadFiles(),)
    assert feeder.step(NOTHING, at(3)) == (w.Open(),)
    assert feeder.status.lease == FeedLease(BOOT, at(36))


def test_one_check_at_a_time_and_not_too_often() -> None:
    feeder = Feeder(RULES)
    feeder.step(w.LockTaken(), at(1))
    feeder.step(NOTHING, at(1))
    assert w.RunMarkerCheck() not in feeder.step(NOTHING, at(9))
    feeder.step(w.Answered(w.CheckFailed("no answer"), at(1)), at(9))
    assert w.RunMarkerCheck() in feeder.step(NOTHING, at(9))
    assert status(feeder) == (w.Waiting(), "the API server could not be asked: no answer")
    feeder.step(w.Answered(w.CheckFailed("no answer"), at(9)), at(10))
    assert w.RunMarkerCheck() not in feeder.step(NOTHING, at(13.9))
    assert w.RunMarkerCheck() in feeder.step(NOTHING, at(14))


def test_a_marker_for_this_boot_ends_the_feeding() -> None:
    feeder = Feeder(RULES)
    feeder.step(w.LockTaken(), at(1))
    feeder.step(NOTHING, at(1))
    feeder.step(w.Answered(w.Marked(), at(1)), at(2))
    assert w.KeepResetLog() in feeder.step(NOTHING, at(2))
    assert w.TryReboot() in feeder.step(NOTHING, at(2.5))
    assert w.RunMarkerCheck() not in feeder.step(NOTHING, at(100))


def test_the_feeder_sends_no_api_check_while_the_agent_renews_in_time() -> None:
    feeder = armed(RULES, until=45)
    assert feeder.status.renewed_by_agent
    assert not any(asks(feeder, lasting(45), second) for second in range(11, 28))
    assert asks(feeder, lasting(45), 28)


def test_the_agent_s_report_of_a_marker_counts() -> None:
    feeder = armed(RULES)
    feeder.step(w.Answered(w.Marked(), at(9)), at(11))
    feeder.step(lasting(40), at(11))
    assert w.TryReboot() in feeder.step(lasting(40), at(11.5))


@pytest.mark.attack("V3")
def test_if_the_agent_is_silent_the_feeder_s_clean_api_checks_count_from_their_send_time() -> None:
    feeder = armed(RULES, until=30)
    assert asks(feeder, lasting(30), 13)
    assert feeder.step(w.Answered(w.Clean(), at(13)), at(15)) == (w.ReadFiles(),)
    assert not asks(feeder, lasting(30), 15)
    assert feeder.status.lease == FeedLease(BOOT, at(48))
    assert not feeder.status.renewed_by_agent
    for second in range(16, 31):
        assert not asks(feeder, lasting(30), second)
    assert feeder.status.state == w.Armed()
    assert asks(feeder, lasting(30), 31)


@pytest.mark.attack("V3")
def test_an_api_check_without_an_answer_extends_nothing() -> None:
    feeder = armed(RULES, until=29)
    assert asks(feeder, lasting(29), 12)
    for second in range(13, 29):
        feeder.step(w.Answered(w.CheckFailed("403"), at(second - 1)), at(second))
        asks(feeder, lasting(29), second)
    assert w.KeepResetLog() in feeder.step(lasting(29), at(29))
    assert feeder.status.state == w.Starving(at(29), permanent=False)


def test_a_stopped_feeder_sends_no_api_check() -> None:
    feeder = armed(RULES, until=29)
    assert not any(asks(feeder, permitted(29), second) for second in range(11, 60))


def test_a_long_lease_is_that_of_a_large_cluster_and_asks_less_often() -> None:
    long = w.FeederRules(BOOT, 350 * SECOND, 10 * SECOND, 2 * SECOND, SECOND // 2, 5 * SECOND, Physical())
    feeder = armed(long, until=190)
    assert asks(feeder, lasting(190), 16)
    feeder.step(w.Answered(w.CheckFailed("too many"), at(16)), at(17))
    assert not any(asks(feeder, lasting(190), second) for second in range(17, 66))
    assert asks(feeder, lasting(190), 66)


@pytest.mark.attack("S16")
def test_with_rejected_records_the_feeder_uses_its_own_api_checks() -> None:
    for record in (RefusedRecord("garbage"), FeedLease(BOOT, at(60))):
        feeder = Feeder(RULES)
        feeder.step(w.LockTaken(), at(1))
        assert doings(feeder.step(w.FilesRead(record), at(1))) == [w.RunMarkerCheck(), w.SleepUntil(at(1.5))]
        assert "the agent's lease file" in feeder.status.why
        feeder.step(w.Answered(w.Clean(), at(1)), at(2))
        assert feeder.step(w.FilesRead(record), at(2)) == (w.Open(),)


def test_a_record_of_another_boot_is_ignored() -> None:
    feeder = Feeder(RULES)
    feeder.step(w.LockTaken(), at(1))
    assert w.RunMarkerCheck() in feeder.step(w.FilesRead(FeedLease("another", at(30))), at(1))
    assert status(feeder) == (w.Waiting(), "the agent's lease file is of another boot")


def test_garbage_does_not_shorten_an_accepted_lease() -> None:
    feeder = armed()
    assert feeder.step(w.FilesRead(RefusedRecord("garbage")), at(12)) == (w.Ping(),)
    feeder.step(w.Pinged(), at(12))
    assert status(feeder) == (w.Armed(), "the agent's lease file is refused: garbage")


def test_a_device_that_cannot_be_opened_is_tried_again_without_a_gap() -> None:
    feeder = Feeder(WITHOUT_CHECK)
    feeder.step(w.LockTaken(), at(1))
    feeder.step(lasting(30), at(1))
    assert doings(feeder.step(w.OpenRefused("busy"), at(1))) == [w.SleepUntil(at(1.5))]
    assert status(feeder) == (w.Waiting(), "busy")
    assert feeder.step(lasting(30), at(20)) == (w.Open(),)


def test_a_ping_that_the_device_refuses_is_retried_a_limited_time() -> None:
    feeder = armed()
    feeder.step(lasting(40), at(12))
    feeder.step(w.PingFailed("input/output error"), at(12))
    assert feeder.status.why == "the device refused a ping: input/output error"
    assert feeder.step(lasting(40), at(14)) == (w.Ping(),)


def test_it_disarms_with_a_permit() -> None:
    feeder = armed()
    assert feeder.step(w.FeederStopRequested(permitted(40)), at(11)) == (w.Disarm(),)
    assert doings(feeder.step(w.Disarmed(proven=True), at(11))) == [w.Exit("disarmed")]
    assert status(feeder) == (w.Ended(), "disarmed")


def test_without_its_agent_it_feeds_on_by_the_permit() -> None:
    feeder = armed(until=14)
    assert feeder.step(permitted(14), at(12)) == (w.Ping(),)
    feeder.step(w.Pinged(), at(12))
    assert status(feeder) == (w.StoppedGracefully(), "")
    for second in range(14, 3600, 2):
        assert feeder.step(permitted(14), at(second)) == (w.Ping(),)
        feeder.step(w.Pinged(), at(second))
    assert feeder.step(w.FeederStopRequested(permitted(14)), at(3599)) == (w.Disarm(),)


def test_after_the_permit_is_removed_the_lease_decides_again() -> None:
    feeder = armed(until=14)
    for second in (12, 14, 16):
        feeder.step(permitted(14), at(second))
        feeder.step(w.Pinged(), at(second))
    assert feeder.step(lasting(40), at(18)) == (w.Ping(),)
    feeder.step(w.Pinged(), at(18))
    assert status(feeder) == (w.Armed(), "")
    assert armed(until=14).step(lasting(14), at(14))[-1] == w.SleepUntil(at(14.5))


def test_a_permit_does_not_revive_a_starved_node() -> None:
    fence_requested = armed()
    assert w.Ping() not in fence_requested.step(w.FilesRead(FENCE_REQUESTED, permitted=True), at(12))
    assert isinstance(fence_requested.status.state, w.StoppedForFence)
    gone = armed()
    assert w.Ping() not in gone.step(permitted(40), at(21))
    assert isinstance(gone.status.state, w.Starving)


def test_a_restarted_feeder_follows_the_permit_too() -> None:
    feeder = Feeder(WITHOUT_CHECK)
    feeder.step(w.FeederStarted(), at(100))
    feeder.step(w.LockTaken(), at(100))
    assert feeder.step(permitted(14), at(100)) == (w.Open(),)


def test_without_a_permit_it_leaves_the_device_armed_and_reports_it() -> None:
    lease = FeedLease(BOOT, at(40))
    unfed = [w.Exit("left armed: not fed")]
    feeder = armed()
    commands = feeder.step(w.FeederStopRequested(w.FilesRead(lease)), at(11))
    assert doings(commands) == [w.Exit("left armed: no acknowledged permit for this boot")]
    assert w.WriteStatus(feeder.status) in commands
    assert (
        doings(armed().step(w.FeederStopRequested(w.FilesRead(FENCE_REQUESTED, permitted=True)), at(11)))
        == unfed
    )
    assert doings(armed().step(w.FeederStopRequested(w.FilesRead(lease, permitted=True)), at(20))) == unfed


def test_nowayout_is_not_called_disarmed() -> None:
    feeder = armed()
    feeder.step(w.DeviceOpened(w.Device("iTCO_wdt", 30, magic_close=True, nowayout=True)), at(10))
    assert doings(feeder.step(w.FeederStopRequested(w.FilesRead(NoRecord(), permitted=True)), at(11))) == [
        w.Exit("left armed: the driver was loaded with nowayout")
    ]


def test_a_feeder_that_armed_nothing_just_ends() -> None:
    feeder = Feeder(RULES)
    feeder.step(w.LockTaken(), at(1))
    commands = feeder.step(w.FeederStopRequested(NOTHING), at(1))
    assert doings(commands) == [w.Exit("this feeder has armed nothing")]


def test_a_locked_out_feeder_leaves_the_status_to_the_lock_holder() -> None:
    feeder = Feeder(RULES)
    feeder.step(w.FeederStarted(), at(1))
    assert feeder.step(w.LockRefused(), at(1)) == (w.SleepUntil(at(1.5)),)
    assert feeder.step(w.FeederStopRequested(NOTHING), at(1)) == (w.Exit("this feeder has armed nothing"),)


def test_the_status_reports_the_watchdog_class() -> None:
    assert Feeder(RULES).status.watchdog_class == Unsupported("there is no watchdog device")
    virtual = w.FeederRules(BOOT, 35 * SECOND, 10 * SECOND, 2 * SECOND, SECOND, None, Virtual())
    assert isinstance(armed(virtual).status.watchdog_class, Unsupported)
    assert armed().status.watchdog_class == Hardware()
    for nowayout, expected in ((None, Unsupported), (False, Unsupported), (True, Hardware)):
        feeder = armed()
        feeder.step(w.DeviceOpened(w.Device("iTCO_wdt", 30, magic_close=False, nowayout=nowayout)), at(10))
        assert isinstance(feeder.status.watchdog_class, expected)
    device = armed().status.device
    assert device == w.Device("iTCO_wdt", 5, magic_close=True, nowayout=False)


@pytest.mark.attack("K3")
def test_a_device_that_only_raises_an_alarm_is_fed_and_promises_nothing() -> None:
    """This also holds after its timeout is set, when the device is described again."""
    feeder = Feeder(WITHOUT_CHECK)
    feeder.step(w.FeederStarted(), at(10))
    feeder.step(w.LockTaken(), at(10))
    feeder.step(lasting(40), at(10))
    feeder.step(
        w.DeviceOpened(w.Device("iTCO_wdt", 30, magic_close=True, nowayout=True, alarm_only=True)), at(10)
    )
    feeder.step(lasting(40), at(10))
    feeder.step(w.TimeoutSet(5), at(10))

    assert status(feeder)[0] == w.Armed()
    assert isinstance(feeder.status.watchdog_class, Unsupported)


@pytest.mark.attack("V6")
@pytest.mark.parametrize(("longest", "written"), [(None, 30), (5, 5), (40, 30)])
def test_no_more_is_written_to_the_device_than_was_in_this_boot(longest: int | None, written: int) -> None:
    rules = w.FeederRules(
        BOOT,
        35 * SECOND,
        60 * SECOND,
        2 * SECOND,
        SECOND // 2,
        None,
        Physical(),
        longest_timeout=longest,
    )
    feeder = Feeder(rules)
    feeder.step(w.FeederStarted(), at(1))
    feeder.step(w.LockTaken(), at(1))
    feeder.step(lasting(30), at(1))
    feeder.step(w.DeviceOpened(DEVICE), at(1))
    assert feeder.step(lasting(30), at(1)) == (w.SetTimeout(written),)
