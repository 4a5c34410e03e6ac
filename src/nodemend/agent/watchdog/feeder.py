"""State machine of the feeder, without I/O: `step(event, now)` returns the next commands.

Guarantees, after any sequence of events:

1. The feeder pings, opens the device or sets its timeout (each is a ping) only in the step that has just
   received the content of the lease file, and only if at that moment the lease lasts, the agent's permit
   exists, or the boot gate has published this boot and no agent has started. The loop does it at once.
2. It never does so when a whole effective reset time has passed since its last ping.
3. After the agent or the API server orders fencing, it never pings again in this boot.
4. It disarms the device only while it feeds it, and only with the agent's permit.
"""

from nodemend.agent.watchdog import model as w
from nodemend.agent.watchdog.records import CLOSED, PUBLISHED, NoRecord, RefusedRecord
from nodemend.protocol.feed_lease import (
    FeedLease,
    FenceRequested,
    GapTooLong,
    LeaseOver,
    MayPing,
    OtherBoot,
    PingVerdict,
    TooFarAhead,
    evaluate_ping,
    evaluate_record,
    fence_now,
    merge,
    renew,
)
from nodemend.protocol.watchdog_drivers import effective_time, evaluate_class, seconds_to_write

# The rest is comments, because docstrings occupy locked memory.
#
# Permit: an agent that must stop first publishes that no release may rely on this node's watchdog, and writes
# the permit once the API server acknowledges that. While the permit exists, the feeder feeds the device
# without a lease, so that removing the agents from a cluster resets no node. A restarted agent removes the
# permit before it publishes again that a release may rely on the watchdog.
#
# Before the agent starts: the boot gate publishes its boot without peers before kubelet starts, and the
# remediator never releases such a boot by time. This holds until the API server acknowledges the agent's
# first renewal; the agent then writes its first record, before it publishes more. So from the gate's
# publication to the agent's first record the feeder feeds the device without a lease: an API server that
# returns for a moment must not reset the nodes that began to start. Before the publication the feeder does
# not open the device: kubelet waits, and there is no workload to end. The first record, or any marker, ends
# both for the rest of the boot.
#
# Lease renewal: the agent renews the lease by its records. When less than half of the lease is left, the
# feeder also checks the API server itself: before there is an agent, when the agent is dead, and when its
# records are refused. A clean answer counts from the start of the check, as for the agent's own reads. A
# marker for this boot makes the feeder stop at once, so its own renewals never prolong the wait for the reset
# of a marked boot. A node with a dead agent is fed while it reaches the API server, where the remediator can
# mark it like any other node. The feeder renews no contact, so such a node does not count as a peer.


_READS_PER_LEASE = 7
"""Maximum number of the feeder's own API checks per lease length. It starts them with half of the lease left,
so three fit into the rest."""


class Feeder:
    """The next event answers TakeDeviceLock, ReadFiles, Open, SetTimeout, Ping, Disarm or SleepUntil."""

    def __init__(self, rules: w.FeederRules) -> None:
        self._rules = rules
        self._state: w.FeederState = w.LockedOut()
        self._lease = FeedLease(rules.boot_id)
        self._why = ""
        self._refusal = ""
        self._device: w.Device | None = None
        self._class = evaluate_class(None, rules.machine)
        self._effective: int | None = None
        self._timeout_set = False
        self._last_ping: int | None = None
        self._stopped_gracefully = False
        self._gate = ""
        self._gate_is_past = False
        self._lead = 0
        self._renewed_by_agent = False
        self._asking = False
        self._ask_again_at = 0
        self._last_status: w.FeederStatus | None = None
        self._notes_now = False
        self._tried_reboot = False

    def step(self, event: w.FeederEvent, now: int) -> tuple[w.FeederCommand, ...]:
        match event:
            case w.FeederStarted():
                return (w.TakeDeviceLock(),)
            case w.LockTaken():
                self._become(w.Waiting())
                return (w.ReadFiles(),)  # Only now: data from before the feeder had the lock may be outdated.
            case w.LockRefused():
                return self._rest(now)
            case w.FilesRead():
                return self._looked(event, now)
            case w.DeviceOpened() | w.OpenRefused() | w.TimeoutSet() | w.Pinged() | w.PingFailed():
                return self._done(event, now)
            case w.Answered():
                return self._answered(event)
            case w.FeederStopRequested(looked):
                self._heed(looked, now)
                return self._stop(now)
            case w.Disarmed(proven):
                how = "disarmed" if proven else "closed with the magic byte; the kernel does not say more"
                return self._exit(how)

    # The lease.

    def _looked(self, looked: w.FilesRead, now: int) -> tuple[w.FeederCommand, ...]:
        if isinstance(self._state, w.LockedOut):
            return (w.TakeDeviceLock(),)
        self._heed(looked, now)
        return self._decide(now)

    def _heed(self, looked: w.FilesRead, now: int) -> None:
        self._stopped_gracefully, self._lead = looked.permitted, looked.lead
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
        match evaluate_record(record, self._rules.boot_id, self._rules.lease_length, now):
            case OtherBoot():
                self._refusal = "the agent's lease file is of another boot"
            case TooFarAhead(by):
                self._refusal = f"the agent's lease file reaches {by} ns too far ahead"
            case FeedLease() as accepted:
                self._refusal = ""
                self._renew(merge(self._lease, accepted), by_agent=True)

    def _renew(self, lease: FeedLease, *, by_agent: bool) -> None:
        if lease.until > self._lease.until:
            self._renewed_by_agent = by_agent
        self._lease = lease

    def _answered(self, event: w.Answered) -> tuple[w.FeederCommand, ...]:
        self._asking = False
        match event.answer:
            case w.Marked():
                self._lease = fence_now(self._lease)
                self._why = "the API server shows a marker for this boot"
            case w.OtherMarker():
                self._gate_is_past = True
                self._why = "the API server shows a marker for another boot, or a drill's"
            case w.Clean():
                self._why = ""
                self._renew(renew(self._lease, event.asked_at, self._rules.lease_length), by_agent=False)
            case w.CheckFailed(why):
                self._why = f"the API server could not be asked: {why}"
        return (w.ReadFiles(),)

    # The decision to feed.

    def _decide(self, now: int) -> tuple[w.FeederCommand, ...]:
        match self._evaluate_ping(now):
            case FenceRequested():
                return self._end_this_boot(now)
            case GapTooLong(gap):
                return self._end_after_gap(gap, now)
            case LeaseOver():
                if self._device is not None:
                    self._starve(now, permanent=False)
                return self._rest(now)
            case MayPing():
                return self._feed(now)

    def _evaluate_ping(self, now: int) -> PingVerdict:
        # Without a device there was no ping, so there is no gap to judge.
        effective = self._effective or 0
        unleased = self._stopped_gracefully or self._gate_says(PUBLISHED)
        return evaluate_ping(self._lease, self._last_ping, effective, now, unleased=unleased, lead=self._lead)

    def _gate_says(self, gate_status: str) -> bool:
        return self._gate == gate_status and not self._gate_is_past

    def _feed(self, now: int) -> tuple[w.FeederCommand, ...]:
        if self._device is None and self._gate_says(CLOSED):
            self._why = "the boot gate has not published this boot yet"
            return self._rest(now)
        if isinstance(self._state, w.Starving) and self._state.permanent:
            return self._rest(now)
        if (
            self._timeout_set
            and self._last_ping is not None
            and now < self._last_ping + self._rules.ping_every
        ):
            return self._rest(now)
        # The time of the check, not of the ping that follows: too early a time can only starve the device
        # sooner.
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
        self, event: w.DeviceOpened | w.OpenRefused | w.TimeoutSet | w.Pinged | w.PingFailed, now: int
    ) -> tuple[w.FeederCommand, ...]:
        match event:
            case w.DeviceOpened(device):
                self._device = device
                self._class = evaluate_class(
                    device.identity,
                    self._rules.machine,
                    closing_disarms=device.closing_disarms,
                    alarm_only=device.alarm_only,
                    may_sleep=self._rules.may_sleep,
                )
                self._learn_timeout(device.timeout_seconds)
                return (w.ReadFiles(),)
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

    def _starve(self, now: int, *, permanent: bool) -> None:
        self._notes_now = not isinstance(self._state, w.Starving)
        since = self._state.since if isinstance(self._state, w.Starving) else now
        self._state = w.Starving(since, permanent=permanent)

    def _end_this_boot(self, now: int) -> tuple[w.FeederCommand, ...]:
        if not isinstance(self._state, w.StoppedForFence):
            # Record it first: after a reboot that works, nothing can be written.
            self._state, self._notes_now = w.StoppedForFence(), True
            return self._rest(now)
        return self._try_reboot(now)

    def _end_after_gap(self, gap: int, now: int) -> tuple[w.FeederCommand, ...]:
        """End the boot without waiting for W: it slept or was paused, so its workloads may run elsewhere."""
        if not (isinstance(self._state, w.Starving) and self._state.permanent):
            self._why = f"{gap} ns passed since the last ping: the device should have reset this machine"
            self._starve(now, permanent=True)
            return self._rest(now)
        return self._try_reboot(now)

    def _try_reboot(self, now: int) -> tuple[w.FeederCommand, ...]:
        if self._tried_reboot:
            return self._rest(now)
        self._tried_reboot = True
        return (w.TryReboot(), *self._rest(now))

    # The end of a step.

    def _become(self, state: w.FeederState) -> None:
        self._state, self._why = state, ""

    def _become_fed(self) -> None:
        self._become(w.StoppedGracefully() if self._stopped_gracefully else w.Armed())

    def _rest(self, now: int) -> tuple[w.FeederCommand, ...]:
        ask = (w.RunMarkerCheck(),) if self._asks_now(now) else ()
        forget = (w.ForgetGate(),) if self._gate and self._gate_is_past else ()
        # After the status is published, because the recorder reads it.
        note, self._notes_now = (w.KeepResetLog(),) if self._notes_now else (), False
        # More often than it pings, so that a boot that must end does not live on.
        until = now + self._rules.read_interval
        if isinstance(self._state, w.Armed | w.StoppedGracefully) and self._last_ping is not None:
            until = max(now, min(until, self._last_ping + self._rules.ping_every))
        return (*self._tell(), *note, *forget, *ask, w.SleepUntil(until))

    def _tell(self) -> tuple[w.FeederCommand, ...]:
        """Publish the status if it changed. Only the feeder that holds the lock does."""
        status = self.status
        if status == self._last_status or isinstance(self._state, w.LockedOut):
            return ()
        self._last_status = status
        return (w.WriteStatus(status),)

    def _asks_now(self, now: int) -> bool:
        every, length = self._rules.check_every, self._rules.lease_length
        if every is None or self._asking or now < self._ask_again_at:
            return False
        if self._stopped_gracefully or self._lease.until - now >= length // 2:
            return False
        if isinstance(self._state, w.LockedOut | w.StoppedForFence):
            return False
        # A long lease means a large cluster, whose API server cannot serve every node at the usual interval.
        self._asking, self._ask_again_at = True, now + max(every, length // _READS_PER_LEASE)
        return True

    def _stop(self, now: int) -> tuple[w.FeederCommand, ...]:
        if self._device is None:
            return self._exit("this feeder has armed nothing")
        fed = isinstance(self._state, w.Armed | w.StoppedGracefully) and isinstance(
            self._evaluate_ping(now), MayPing
        )
        if not (self._stopped_gracefully and fed):
            why = "not fed" if self._stopped_gracefully else "no acknowledged permit for this boot"
            return self._exit(f"left armed: {why}")
        if self._device.nowayout:
            return self._exit("left armed: the driver was loaded with nowayout")
        return (w.Disarm(),)

    def _exit(self, why: str) -> tuple[w.FeederCommand, ...]:
        if isinstance(self._state, w.LockedOut):
            return (w.Exit(why),)
        self._state, self._why = w.Ended(), why
        return (*self._tell(), w.Exit(why))

    @property
    def status(self) -> w.FeederStatus:
        return w.FeederStatus(
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
