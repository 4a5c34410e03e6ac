"""What the feeder's machine promises, after any sequence of events."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from nodemend.agent.feeder import words as w
from nodemend.agent.feeder.machine import Feeder
from nodemend.agent.feeder.records import CLOSED, PUBLISHED, NoRecord, RefusedRecord
from nodemend.decide.feed_lease import FeedLease
from nodemend.decide.watchdog_class import SECOND, Physical

BOOT, LENGTH, WRITTEN = "this boot", 35 * SECOND, 5
EFFECTIVE = 2 * WRITTEN * SECOND
RULES = w.FeederRules(BOOT, LENGTH, EFFECTIVE, 2 * SECOND, SECOND // 2, 5 * SECOND, Physical())
DEVICE = w.Device("iTCO_wdt", WRITTEN, magic_close=True, nowayout=False)

# A story is what the world does between two wake-ups: time goes by, and something may happen.
pauses = st.integers(0, 15).map(lambda tenths: tenths * SECOND) | st.integers(0, 3 * SECOND)
happenings = st.sampled_from(
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
stories = st.lists(st.tuples(pauses, happenings), max_size=60)


@dataclass
class World:
    """Plays the shell, and keeps its own account of what the feeder may do."""

    now: int = 100 * SECOND
    record: FeedLease | NoRecord | RefusedRecord = field(default_factory=NoRecord)
    until: int = 0
    permitted: bool = False
    gate: str = ""
    gate_is_past: bool = False
    """An agent's record was seen, or a marker."""
    condemned: bool = False
    asked_at: int | None = None
    last_ping: int | None = None
    pings: int = 0

    def play(self, story: list[tuple[int, str]]) -> None:
        feeder = Feeder(RULES)
        self._obey(feeder, feeder.step(w.Begun(), self.now))
        for pause, happening in story:
            self.now += pause
            event = self._happen(happening)
            self._obey(feeder, feeder.step(event or self._look(), self.now))

    def _happen(self, happening: str) -> w.Event | None:
        match happening:
            case "renew":
                self.record = FeedLease(BOOT, self.now + LENGTH)
            case "renew late":
                self.record = FeedLease(BOOT, max(0, self.now + LENGTH - 30 * SECOND))
            case "condemn":
                self.record = FeedLease(BOOT, 0, condemned=True)
            case "garbage":
                self.record = RefusedRecord("garbage")
            case "too far":
                self.record = FeedLease(BOOT, self.now + LENGTH + 20 * SECOND)
            case "other boot":
                self.record = FeedLease("another", self.now + LENGTH)
            case "permit" | "no permit":
                self.permitted = happening == "permit"
            case "gate closed" | "gate published":
                self.gate = CLOSED if happening == "gate closed" else PUBLISHED
            case "record lost":
                self.record = NoRecord()
            case "clean" | "marked" | "failed" | "other marker" if self.asked_at is not None:
                return self._answer(happening, self.asked_at)
        return None

    def _answer(self, happening: str, asked_at: int) -> w.Event:
        self.asked_at = None
        match happening:
            case "clean":
                self.until = max(self.until, asked_at + LENGTH)
                return w.Answered(w.Clean(), asked_at)
            case "marked":
                self.condemned = True
                return w.Answered(w.Marked(), asked_at)
            case "other marker":
                self.gate_is_past = True
                return w.Answered(w.OtherMarker(), asked_at)
            case _:
                return w.Answered(w.CheckFailed("no answer"), asked_at)

    def _look(self) -> w.Looked:
        """What the feeder is told now, it may rely on."""
        record = self.record
        if isinstance(record, FeedLease) and record.boot_id == BOOT and record.until <= self.now + LENGTH:
            self.condemned |= record.condemned
            self.until = max(self.until, record.until)
        self.gate_is_past |= not isinstance(record, NoRecord)
        return w.Looked(self.record, self.permitted, self.gate)

    def _obey(self, feeder: Feeder, commands: tuple[w.Command, ...]) -> None:
        for command in commands:
            match command:
                case w.Open() | w.SetTimeout() | w.Ping():
                    self._check_ping(command)
                    self._obey(feeder, feeder.step(self._outcome(command), self.now))
                case w.TakeLock():
                    self._obey(feeder, feeder.step(w.LockTaken(), self.now))
                case w.Look():
                    self._obey(feeder, feeder.step(self._look(), self.now))
                case w.Ask():
                    assert self.until - self.now < LENGTH // 2
                    assert self.asked_at is None
                    self.asked_at = self.now
                case w.Disarm() | w.Exit():
                    raise AssertionError("nobody asked it to end")
                case w.TryReboot():
                    gap = self.last_ping is not None and self.now - self.last_ping >= EFFECTIVE
                    assert self.condemned or gap
                case w.ForgetGate():
                    assert self.gate_is_past
                    self.gate = ""
                case w.Note() | w.Tell() | w.Wait():
                    assert command != w.Note() or not isinstance(feeder.status.state, w.Armed | w.StoodDown)

    def _check_ping(self, command: w.Open | w.SetTimeout | w.Ping) -> None:
        assert not self.condemned
        assert command != w.Open() or self.gate != CLOSED or self.gate_is_past
        awaits_agent = self.gate == PUBLISHED and not self.gate_is_past
        assert self.now < self.until or self.permitted or awaits_agent
        assert self.last_ping is None or self.now - self.last_ping < EFFECTIVE
        self.last_ping = self.now
        self.pings += 1

    def _outcome(self, command: w.Open | w.SetTimeout | w.Ping) -> w.Event:
        match command:
            case w.Open():
                return w.Opened(DEVICE)
            case w.SetTimeout(seconds):
                return w.TimeoutSet(seconds)
            case w.Ping():
                return w.Pinged()


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
