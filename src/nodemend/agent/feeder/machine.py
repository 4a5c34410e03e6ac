"""The feeder, without a device: `step(event, now)` says what to do next.

What it promises, after any sequence of events:

1. It pings, opens the device and sets its timeout (each is a ping) only in the step in which it has just been
   told the content of the lease file, and only if the lease lasted at that moment, or the agent's permit was
   there, or no agent had begun behind a gate. The shell does it at once.
2. It never does so when a whole effective time to reset has gone by since it last did.
3. A condemned lease, by the agent's word or by the API server's, is never followed by a ping in this boot.
4. It disarms only while it feeds, and only with the agent's permit.

The permit. An agent that is told to end publishes that no release may rest on this node's watchdog, and
leaves the permit once that is acknowledged. While it is there the device is fed without a lease: taking the
agents off a cluster must not reset it. An agent that comes back takes the permit away before it publishes
anything else.

Before there is an agent. A boot gate publishes its boot without peers before kubelet starts, and of such a
boot nothing is ever released by time. That stands until the agent's first renewal is acknowledged, and the
agent leaves its first record then, before it publishes more. So from the gate's publication to the agent's
first record the device is fed without a lease: an API server that is back for a moment must not reset the
nodes that began to start. Before the publication it is not opened: kubelet waits, and there is nothing to
end. The first record, or any marker, ends both for the rest of the boot.

Who renews the lease. The agent does, by its records. When less than half of the lease is left the feeder
asks the API server as well: before there is an agent, when it is dead, and when its records cannot be
believed. A clean answer counts from when it was asked for, as the agent's own looks do, and a marker for this
boot condemns: so whoever waits for the reset of a marked boot waits no longer. A node whose agent is dead is
fed for as long as it reaches the API server, where it can be marked like any other. It renews no contact, so
nobody counts on it as a peer.
"""

from nodemend.agent.feeder import words as w
from nodemend.agent.feeder.records import CLOSED, PUBLISHED, NoRecord, RefusedRecord
from nodemend.decide.feed_lease import (
    FeedLease,
    GapTooLong,
    IsCondemned,
    LeaseOver,
    MayPing,
    OtherBoot,
    PingVerdict,
    TooFarAhead,
    condemn,
    judge_ping,
    judge_record,
    merge,
    renew,
)
from nodemend.decide.watchdog_class import WatchdogClass, effective_time, judge_class, seconds_to_write

_LOOKS_A_LEASE = 7
"""Of its own, at most: three of them fit into what is left when it begins to ask."""


class Feeder:
    """Every command but Ask, ForgetGate, TryReboot, Note, Tell and Exit is answered by one event at once."""

    def __init__(self, rules: w.FeederRules) -> None:
        self._rules = rules
        self._state: w.State = w.LockedOut()
        self._lease = FeedLease(rules.boot_id)
        self._why = ""
        self._refusal = ""
        self._device: w.Device | None = None
        self._class = judge_class(None, rules.machine)
        self._effective: int | None = None
        self._timeout_set = False
        self._last_ping: int | None = None
        self._stood_down = False
        self._gate = ""
        self._gate_is_past = False
        self._lead = 0
        self._renewed_by_agent = False
        self._asking = False
        self._ask_again_at = 0
        self._told: tuple[object, ...] = ()
        self._notes_now = False
        self._tried_reboot = False

    def step(self, event: w.Event, now: int) -> tuple[w.Command, ...]:
        match event:
            case w.Begun():
                return (w.TakeLock(),)
            case w.LockTaken():
                self._become(w.Waiting())
                return (w.Look(),)  # Only now: what was read before we had the lock may be long past.
            case w.LockRefused():
                return self._rest(now)
            case w.Looked():
                return self._looked(event, now)
            case w.Opened() | w.OpenRefused() | w.TimeoutSet() | w.Pinged() | w.PingFailed():
                return self._done(event, now)
            case w.Answered():
                return self._answered(event)
            case w.StopAsked(looked):
                self._heed(looked, now)
                return self._stop(now)
            case w.Disarmed(proven):
                how = "disarmed" if proven else "closed with the magic byte; the kernel does not say more"
                return self._exit(how)

    # What is known of the lease.

    def _looked(self, looked: w.Looked, now: int) -> tuple[w.Command, ...]:
        if isinstance(self._state, w.LockedOut):
            return (w.TakeLock(),)
        self._heed(looked, now)
        return self._decide(now)

    def _heed(self, looked: w.Looked, now: int) -> None:
        self._stood_down, self._lead = looked.permitted, looked.lead
        self._gate = looked.gate
        self._gate_is_past |= not isinstance(looked.record, NoRecord)
        match looked.record:
            case NoRecord():
                return
            case RefusedRecord(why):
                self._refusal = f"the agent's lease file is refused: {why}"
            case FeedLease() as record:
                self._believe(record, now)

    def _believe(self, record: FeedLease, now: int) -> None:
        match judge_record(record, self._rules.boot_id, self._rules.lease_length, now):
            case OtherBoot():
                self._refusal = "the agent's lease file is of another boot"
            case TooFarAhead(by):
                self._refusal = f"the agent's lease file reaches {by} ns too far ahead"
            case FeedLease() as believed:
                self._refusal = ""
                self._renew(merge(self._lease, believed), by_agent=True)

    def _renew(self, lease: FeedLease, *, by_agent: bool) -> None:
        if lease.until > self._lease.until:
            self._renewed_by_agent = by_agent
        self._lease = lease

    def _answered(self, event: w.Answered) -> tuple[w.Command, ...]:
        self._asking = False
        match event.answer:
            case w.Marked():
                self._lease = condemn(self._lease)
                self._why = "the API server shows a marker for this boot"
            case w.OtherMarker():
                self._gate_is_past = True
                self._why = "the API server shows a marker for another boot, or a drill's"
            case w.Clean():
                self._why = ""
                self._renew(renew(self._lease, event.asked_at, self._rules.lease_length), by_agent=False)
            case w.CheckFailed(why):
                self._why = f"the API server could not be asked: {why}"
        return (w.Look(),)

    # To feed or not.

    def _decide(self, now: int) -> tuple[w.Command, ...]:
        match self._judge_ping(now):
            case IsCondemned():
                return self._end_this_boot(now)
            case GapTooLong(gap):
                return self._end_after_gap(gap, now)
            case LeaseOver():
                if self._device is not None:
                    self._starve(now, for_good=False)
                return self._rest(now)
            case MayPing():
                return self._feed(now)

    def _judge_ping(self, now: int) -> PingVerdict:
        # Without a device nothing was pinged, and there is no gap to judge.
        effective = self._effective or 0
        unleased = self._stood_down or self._gate_says(PUBLISHED)
        return judge_ping(self._lease, self._last_ping, effective, now, unleased=unleased, lead=self._lead)

    def _gate_says(self, standing: str) -> bool:
        return self._gate == standing and not self._gate_is_past

    def _feed(self, now: int) -> tuple[w.Command, ...]:
        if self._device is None and self._gate_says(CLOSED):
            self._why = "the boot gate has not published this boot yet"
            return self._rest(now)
        if isinstance(self._state, w.Starving) and self._state.for_good:
            return self._rest(now)
        if (
            self._timeout_set
            and self._last_ping is not None
            and now < self._last_ping + self._rules.ping_every
        ):
            return self._rest(now)
        # Dated to the check, not to the ping that follows: too early a date can only starve sooner.
        self._last_ping = now
        if self._device is None:
            return (w.Open(),)
        if not self._timeout_set:
            return (w.SetTimeout(self._seconds_to_write(self._device.identity)),)
        return (w.Ping(),)

    def _seconds_to_write(self, identity: str) -> int:
        seconds = seconds_to_write(identity, self._rules.wanted_reset)
        longest = self._rules.longest_timeout
        return seconds if longest is None else min(seconds, longest)

    def _done(
        self, event: w.Opened | w.OpenRefused | w.TimeoutSet | w.Pinged | w.PingFailed, now: int
    ) -> tuple[w.Command, ...]:
        match event:
            case w.Opened(device):
                self._device = device
                closing_disarms = device.closing_disarms
                self._class = judge_class(
                    device.identity,
                    self._rules.machine,
                    closing_disarms=closing_disarms,
                    alarm_only=device.alarm_only,
                    may_sleep=self._rules.may_sleep,
                )
                self._learn_timeout(device.timeout_seconds)
                return (w.Look(),)
            case w.OpenRefused(why):
                self._last_ping = None
                self._why = why
            case w.TimeoutSet(seconds):
                self._timeout_set = True
                self._learn_timeout(seconds)
                self._become_fed()
            case w.Pinged():
                self._become_fed()
            case w.PingFailed(why):
                self._why = f"the device refused a ping: {why}"
        return self._rest(now)

    def _learn_timeout(self, seconds: int) -> None:
        if self._device is not None:
            device = self._device
            self._device = w.Device(
                device.identity, seconds, device.magic_close, device.nowayout, device.alarm_only
            )
            self._effective = effective_time(device.identity, seconds, self._rules.drill)

    def _starve(self, now: int, *, for_good: bool) -> None:
        self._notes_now = not isinstance(self._state, w.Starving)
        since = self._state.since if isinstance(self._state, w.Starving) else now
        self._state = w.Starving(since, for_good=for_good)

    def _end_this_boot(self, now: int) -> tuple[w.Command, ...]:
        if not isinstance(self._state, w.Condemned):
            # The record of it goes first: after a reboot that works nothing is written any more.
            self._state, self._notes_now = w.Condemned(), True
            return self._rest(now)
        return self._try_reboot(now)

    def _end_after_gap(self, gap: int, now: int) -> tuple[w.Command, ...]:
        """The machine slept, or was paused: what it ran may run elsewhere by now. It does not wait for W."""
        if not (isinstance(self._state, w.Starving) and self._state.for_good):
            self._why = f"{gap} ns passed since the last ping: the device should have reset this machine"
            self._starve(now, for_good=True)
            return self._rest(now)
        return self._try_reboot(now)

    def _try_reboot(self, now: int) -> tuple[w.Command, ...]:
        if self._tried_reboot:
            return self._rest(now)
        self._tried_reboot = True
        return (w.TryReboot(), *self._rest(now))

    # The end of a step.

    def _become(self, state: w.State) -> None:
        self._state, self._why = state, ""

    def _become_fed(self) -> None:
        self._become(w.StoodDown() if self._stood_down else w.Armed())

    def _rest(self, now: int) -> tuple[w.Command, ...]:
        ask = (w.Ask(),) if self._asks_now(now) else ()
        forget = (w.ForgetGate(),) if self._gate and self._gate_is_past else ()
        # After the status: by that the record is kept.
        note, self._notes_now = (w.Note(),) if self._notes_now else (), False
        until = now + self._rules.look_every  # More often than it pings: who is condemned should not live on.
        if isinstance(self._state, w.Armed | w.StoodDown) and self._last_ping is not None:
            until = max(now, min(until, self._last_ping + self._rules.ping_every))
        return (*self._tell(), *note, *forget, *ask, w.Wait(until))

    def _tell(self) -> tuple[w.Command, ...]:
        """The status is that of the feeder that has the lock; told when it has changed."""
        facts = self._facts()
        if facts == self._told or isinstance(self._state, w.LockedOut):
            return ()
        self._told = facts
        return (w.Tell(w.Status(*facts)),)

    def _asks_now(self, now: int) -> bool:
        every, length = self._rules.check_every, self._rules.lease_length
        if every is None or self._asking or now < self._ask_again_at:
            return False
        if self._stood_down or self._lease.until - now >= length // 2:
            return False
        if isinstance(self._state, w.LockedOut | w.Condemned):
            return False
        # A long lease is that of a large cluster, whose API server cannot answer everybody so often.
        self._asking, self._ask_again_at = True, now + max(every, length // _LOOKS_A_LEASE)
        return True

    def _stop(self, now: int) -> tuple[w.Command, ...]:
        if self._device is None:
            return self._exit("nothing is armed by us")
        fed = isinstance(self._state, w.Armed | w.StoodDown) and isinstance(self._judge_ping(now), MayPing)
        if not (self._stood_down and fed):
            why = "not fed" if self._stood_down else "no acknowledged permit for this boot"
            return self._exit(f"left armed: {why}")
        if self._device.nowayout:
            return self._exit("left armed: the driver was loaded with nowayout")
        return (w.Disarm(),)

    def _exit(self, why: str) -> tuple[w.Command, ...]:
        if isinstance(self._state, w.LockedOut):
            return (w.Exit(why),)
        self._state, self._why = w.Ended(), why
        return (*self._tell(), w.Exit(why))

    @property
    def status(self) -> w.Status:
        return w.Status(*self._facts())

    def _facts(
        self,
    ) -> tuple[w.State, str, FeedLease, bool, int, w.Device | None, WatchdogClass, int | None, int | None]:
        """As a status has them. They are compared with every look, and told when they have changed."""
        return (
            self._state,
            self._why or self._refusal,
            self._lease,
            self._renewed_by_agent,
            self._rules.lease_length,
            self._device,
            self._class,
            self._effective,
            self._last_ping,
        )
