"""The feed lease: until when the watchdog may be fed, and the one question that is asked before every ping.

All times are nanoseconds of CLOCK_BOOTTIME, which goes on while the machine sleeps and belongs to one boot. A
lease is worth something in the boot that it names, and nowhere else.

That clock is slewed by whoever keeps the time, by up to a tenth; CLOCK_MONOTONIC_RAW is not, and stands still
in sleep. A lease ends by whichever of the two comes first: `Lead` says by how much the second ran ahead.
"""

from nodemend.decide.small_value import SmallValue


class FeedLease(SmallValue):
    """Feed while the clock shows less than `until`. Condemned: never again in this boot."""

    boot_id: str
    until: int = 0
    condemned: bool = False


def renew(lease: FeedLease, observed_at: int, length: int) -> FeedLease:
    """After a clean observation whose request was *sent* at `observed_at`. Never shortens, never revives."""
    if lease.condemned:
        return lease
    return FeedLease(lease.boot_id, max(lease.until, observed_at + length))


def condemn(lease: FeedLease) -> FeedLease:
    """For the rest of this boot."""
    return FeedLease(lease.boot_id, 0, condemned=True)


def merge(lease: FeedLease, told: FeedLease) -> FeedLease:
    """What two records of one boot say together: the later end, and condemned if either is."""
    if lease.condemned or told.condemned:
        return condemn(lease)
    return lease if told.until <= lease.until else FeedLease(lease.boot_id, told.until)


class OtherBoot(SmallValue):
    """The record is of a boot that is over."""


class TooFarAhead(SmallValue):
    """It reaches further than any observation made by now could carry it."""

    by: int


def judge_record(told: FeedLease, boot_id: str, length: int, now: int) -> FeedLease | OtherBoot | TooFarAhead:
    """Whether to believe a record. `now` is from after it was read, so no honest end is beyond `length`."""
    if told.boot_id != boot_id:
        return OtherBoot()
    if told.until > now + length:
        return TooFarAhead(told.until - now - length)
    return told


class Lead:
    """How far one clock has run ahead of another within the last `length`, by readings from time to time.

    A lease that was given at any moment of that time, by the slower clock, is over by the faster one when the
    slower one, plus this, has come to its end.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._apart = max(1, length // _KEPT)
        self._kept: list[tuple[int, int]] = []

    def read(self, slower: int, faster: int) -> int:
        """Both read just now. Never negative: one that fell behind takes nothing away."""
        ahead = faster - slower
        kept = [one for one in self._kept if one[0] >= slower - self._length - self._apart]
        if kept and slower < kept[-1][0] + self._apart:
            kept[-1] = (kept[-1][0], min(kept[-1][1], ahead))
        else:
            kept.append((slower, ahead))
        self._kept = kept
        return max(0, ahead - min(before for _, before in kept))


_KEPT = 16
"""Stretches of one lease, of each of which the least is kept: the feeder's memory is small."""


class MayPing(SmallValue):
    """Now, and not later: whoever is given this pings at once, or asks again."""


class LeaseOver(SmallValue):
    """Not now. A renewal would allow it again, as long as the device has not run out."""

    since: int


class GapTooLong(SmallValue):
    """Never again: the device should have reset the machine by now.

    It did not, so it counts twice, or machine and device were paused together. Whoever waits for this node's
    reset counts W from a ping; one after such a gap would move the reset beyond what they count.
    """

    gap: int


class IsCondemned(SmallValue):
    """Never again."""


PingVerdict = MayPing | LeaseOver | GapTooLong | IsCondemned


_MAY_PING = MayPing()


def judge_ping(
    lease: FeedLease,
    last_ping: int | None,
    effective: int,
    now: int,
    *,
    unleased: bool = False,
    lead: int = 0,
) -> PingVerdict:
    """May the device be pinged (or opened, or given its timeout, which are pings too) at `now`?

    `last_ping` is None before the first one; `effective` is the time to reset, as `watchdog_class` tells it.
    `unleased`: nobody counts on the lease's end, no more or not yet. All else holds as ever. `lead`: so far
    the other clock has run ahead within the length of a lease.
    """
    if lease.condemned:
        return IsCondemned()
    if last_ping is not None and now - last_ping >= effective:
        return GapTooLong(now - last_ping)
    if now + lead >= lease.until and not unleased:
        return LeaseOver(lease.until)
    return _MAY_PING
