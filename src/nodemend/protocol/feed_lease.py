"""The feed lease: the time until which the watchdog may be fed, and the check before every ping.

All times are nanoseconds of CLOCK_BOOTTIME, which continues while the machine sleeps and belongs to one boot.
A lease is valid only in the boot that it names.

Time synchronization slews that clock by up to a tenth. CLOCK_MONOTONIC_RAW is not slewed, but stops during
sleep. A lease ends on the clock that reaches its end first: `Lead` is how far the second clock ran ahead.
"""

from nodemend.protocol.values import SmallValue


class FeedLease(SmallValue):
    """Feed while the clock is below `until`; never again in this boot if the node must fence itself."""

    boot_id: str
    until: int = 0
    fence_requested: bool = False


def renew(lease: FeedLease, observed_at: int, length: int) -> FeedLease:
    """Extend the lease after a clean observation whose request was *sent* at `observed_at`.

    Never shortens a lease, and never renews that of a node that must fence itself.
    """
    if lease.fence_requested:
        return lease
    return FeedLease(lease.boot_id, max(lease.until, observed_at + length))


def fence_now(lease: FeedLease) -> FeedLease:
    """End the lease for the rest of this boot."""
    return FeedLease(lease.boot_id, 0, fence_requested=True)


def merge(lease: FeedLease, reported: FeedLease) -> FeedLease:
    """Merge two records of one boot: the later end; must fence itself if either record requires it."""
    if lease.fence_requested or reported.fence_requested:
        return fence_now(lease)
    return lease if reported.until <= lease.until else FeedLease(lease.boot_id, reported.until)


class OtherBoot(SmallValue):
    """The record belongs to a boot that is over."""


class TooFarAhead(SmallValue):
    """The record ends later than any observation made until now could justify."""

    by: int


def evaluate_record(
    reported: FeedLease, boot_id: str, length: int, now: int
) -> FeedLease | OtherBoot | TooFarAhead:
    """Return the record if it is acceptable.

    `now` is read after it, so no correct end is beyond now + `length`.
    """
    if reported.boot_id != boot_id:
        return OtherBoot()
    if reported.until > now + length:
        return TooFarAhead(reported.until - now - length)
    return reported


class Lead:
    """The lead of one clock over another within the last `length`, from periodic readings.

    A lease that was granted on the slower clock at any time in that period is over on the faster clock when
    the slower clock's reading plus this lead reaches the lease's end.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._apart = max(1, length // _KEPT)
        self._kept: list[tuple[int, int]] = []

    def read(self, slower: int, faster: int) -> int:
        """Return the lead, which is never negative. Both clocks were read just now."""
        ahead = faster - slower
        kept = [one for one in self._kept if one[0] >= slower - self._length - self._apart]
        if kept and slower < kept[-1][0] + self._apart:
            kept[-1] = (kept[-1][0], min(kept[-1][1], ahead))
        else:
            kept.append((slower, ahead))
        self._kept = kept
        return max(0, ahead - min(before for _, before in kept))


_KEPT = 16
"""Intervals per lease length; only the least value of each is kept, because the feeder's memory is small."""


class MayPing(SmallValue):
    """The device may be pinged immediately. Before a later ping the caller must check again."""


class LeaseOver(SmallValue):
    """Not now. A renewal would allow it again, as long as the device has not expired."""

    since: int


class GapTooLong(SmallValue):
    """Never again: the device should have reset the machine by now.

    It did not, so it counts its timeout twice, or machine and device were paused together. The remediator
    that waits for this node's reset counts W from a ping; a ping after such a gap would delay the reset
    beyond that count.
    """

    gap: int


class FenceRequested(SmallValue):
    """Never again in this boot: the node must fence itself."""


PingVerdict = MayPing | LeaseOver | GapTooLong | FenceRequested


_MAY_PING = MayPing()


def evaluate_ping(
    lease: FeedLease,
    last_ping: int | None,
    effective: int,
    now: int,
    *,
    unleased: bool = False,
    lead: int = 0,
) -> PingVerdict:
    """Return whether the device may be pinged at `now`. Opening it and setting its timeout are pings too.

    `last_ping` is None before the first one; `effective` is the time to reset, as `watchdog_drivers`
    computes it. `unleased`: no remediator relies on the end of the lease, not yet or no longer; all other
    checks apply. `lead` is how far the other clock has run ahead within the length of a lease.
    """
    if lease.fence_requested:
        return FenceRequested()
    if last_ping is not None and now - last_ping >= effective:
        return GapTooLong(now - last_ping)
    if now + lead >= lease.until and not unleased:
        return LeaseOver(lease.until)
    return _MAY_PING
