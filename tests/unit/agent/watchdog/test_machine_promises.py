"""Promises of the feeder's state machine after any sequence of events."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodemend.agent.watchdog import model as w
from nodemend.agent.watchdog.feeder import Feeder
from nodemend.agent.watchdog.records import CLOSED, PUBLISHED, NoRecord, RefusedRecord
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.watchdog_drivers import SECOND, Physical

BOOT, LENGTH, WRITTEN = "this boot", 35 * SECOND, 5
EFFECTIVE = 2 * WRITTEN * SECOND
RULES = w.FeederRules(BOOT, LENGTH, EFFECTIVE, 2 * SECOND, SECOND // 2, 5 * SECOND, Physical())
DEVICE = w.Device("iTCO_wdt", WRITTEN, magic_close=True, nowayout=False)

# A story is the events between two wake-ups: time passes, and something may happen.
pauses = st.integers(0, 15).map(lambda tenths: tenths * SECOND) | st.integers(0, 3 * SECOND)
incidents = st.sampled_from(
    [
        "nothing",
        "renew",
        "renew late",
        "condemn",
        "garbage",
        "too far",
        "other boot",
        "clean",
        "marked",
        "failed",
        "other marker",
        "permit",
        "no permit",
        "gate closed",
        "gate published",
        "record lost",
    ]
) | st.just("renew")
stories = st.lists(st.tuples(pauses, incidents), max_size=60)


@dataclass
class World:
    """Plays the feeder's I/O, and keeps its own account of what the feeder may do."""

    now: int = 100 * SECOND
    record: FeedLease | NoRecord | RefusedRecord = field(default_factory=NoRecord)
    until: int = 0
    permitted: bool = False
    gate: str = ""
    gate_is_past: bool = False
    """True once an agent's record or a marker was seen."""
    fence_requested: bool = False
    asked_at: int | None = None
    last_ping: int | None = None
    pings: int = 0

    def play(self, story: list[tuple[int, str]]) -> None:
        feeder = Feeder(RULES)
        self._obey(feeder, feeder.step(w.FeederStarted(), self.now))
        for pause, incident in story:
            self.now += pause
            event = self._happen(incident)
            self._obey(feeder, feeder.step(event or self._read_files(), self.now))

    def _happen(self, incident: str) -> w.FeederEvent | None:
        match incident:
            case "renew":
                self.record = FeedLease(BOOT, self.now + LENGTH)
            case "renew late":
                self.record = FeedLease(BOOT, max(0, self.now + LENGTH - 30 * SECOND))
            case "condemn":
                self.record = FeedLease(BOOT, 0, fence_requested=True)
            case "garbage":
                self.record = RefusedRecord("garbage")
            case "too far":
                self.record = FeedLease(BOOT, self.now + LENGTH + 20 * SECOND)
            case "other boot":
                self.record = FeedLease("another", self.now + LENGTH)
            case "permit" | "no permit":
                self.permitted = incident == "permit"
            case "gate closed" | "gate published":
                self.gate = CLOSED if incident == "gate closed" else PUBLISHED
            case "record lost":
                self.record = NoRecord()
            case "clean" | "marked" | "failed" | "other marker" if self.asked_at is not None:
                return self._answer(incident, self.asked_at)
        return None

    def _answer(self, incident: str, asked_at: int) -> w.FeederEvent:
        self.asked_at = None
        match incident:
            case "clean":
                self.until = max(self.until, asked_at + LENGTH)
                return w.Answered(w.Clean(), asked_at)
            case "marked":
                self.fence_requested = True
                return w.Answered(w.Marked(), asked_at)
            case "other marker":
                self.gate_is_past = True
                return w.Answered(w.OtherMarker(), asked_at)
            case _:
                return w.Answered(w.CheckFailed("no answer"), asked_at)

    def _read_files(self) -> w.FilesRead:
        """Return what the feeder reads now and may rely on from here."""
        record = self.record
        if isinstance(record, FeedLease) and record.boot_id == BOOT and record.until <= self.now + LENGTH:
            self.fence_requested |= record.fence_requested
            self.until = max(self.until, record.until)
        self.gate_is_past |= not isinstance(record, NoRecord)
        return w.FilesRead(self.record, self.permitted, self.gate)

    def _obey(self, feeder: Feeder, commands: tuple[w.FeederCommand, ...]) -> None:
        for command in commands:
            match command:
                case w.Open() | w.SetTimeout() | w.Ping():
                    self._check_ping(command)
                    self._obey(feeder, feeder.step(self._outcome(command), self.now))
                case w.TakeDeviceLock():
                    self._obey(feeder, feeder.step(w.LockTaken(), self.now))
                case w.ReadFiles():
                    self._obey(feeder, feeder.step(self._read_files(), self.now))
                case w.RunMarkerCheck():
                    assert self.until - self.now < LENGTH // 2
                    assert self.asked_at is None
                    self.asked_at = self.now
                case w.Disarm() | w.Exit():
                    raise AssertionError("nobody asked it to end")
                case w.TryReboot():
                    gap = self.last_ping is not None and self.now - self.last_ping >= EFFECTIVE
                    assert self.fence_requested or gap
                case w.ForgetGate():
                    assert self.gate_is_past
                    self.gate = ""
                case w.KeepResetLog() | w.WriteStatus() | w.SleepUntil():
                    assert command != w.KeepResetLog() or not isinstance(
                        feeder.status.state, w.Armed | w.StoppedGracefully
                    )

    def _check_ping(self, command: w.Open | w.SetTimeout | w.Ping) -> None:
        assert not self.fence_requested
        assert command != w.Open() or self.gate != CLOSED or self.gate_is_past
        awaits_agent = self.gate == PUBLISHED and not self.gate_is_past
        assert self.now < self.until or self.permitted or awaits_agent
        assert self.last_ping is None or self.now - self.last_ping < EFFECTIVE
        self.last_ping = self.now
        self.pings += 1

    def _outcome(self, command: w.Open | w.SetTimeout | w.Ping) -> w.FeederEvent:
        match command:
            case w.Open():
                return w.DeviceOpened(DEVICE)
            case w.SetTimeout(seconds):
                return w.TimeoutSet(seconds)
            case w.Ping():
                return w.Pinged()


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(stories)
def test_no_ping_without_a_lease_or_a_permit_nor_when_condemned_nor_after_a_gap(
    story: list[tuple[int, str]],
) -> None:
    World().play(story)


def test_the_world_of_these_tests_does_let_it_ping() -> None:
    world = World()
    world.play([(SECOND, "renew")] * 20)
    assert world.pings > 8
