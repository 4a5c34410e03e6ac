"""Leader election as a state machine over one Lease: `step(event, now)` returns the next command.

Proof that no two processes start an action at the same instant
---------------------------------------------------------------
Let D be the lease duration, R the renew deadline, and rho the bound on the rate error of every monotonic
clock: in t true seconds it advances by between (1 - rho)t and (1 + rho)t, also while its process is paused.

1. The Lease is written only by compare-and-swap on its UID and version, and every write changes its version.
2. A process leads only by a write that was acknowledged (a claim, or a renewal of that claim), and only until
   its clock shows R more than when it *sent* that write. It reads its clock again before each action.
3. A process claims a version only after it has known exactly that version for D, measured on its own clock
   from the moment it first received the version, and for longer if the record requests more. Two exceptions:
   a record that names the process itself, and a record left behind by a holder whose work had ended.
4. An absent Lease proves nothing about its previous holder. It is first created without a holder, and then
   watched like any other. So every claim replaces a version that was known for a full lease duration, or one
   of the two records of step 3, whose holder leads no more.

Let B claim version v, and let W be the last write by which another process A leads that was committed before
this claim. B received v no earlier than W was committed, thus no earlier than A sent W. So B sent its claim
no earlier than D / (1 + rho) true seconds after A sent W, while A starts nothing later than R / (1 - rho)
true seconds after it. LeaseTiming refuses values for which the second bound, with the time to stop the work,
exceeds the first. Once the claim is committed, A cannot renew: its compare-and-swap names an older version.
The argument does not depend on how long a request or a response is in flight, on lost responses, on paused
processes, on any wall clock, or on deletions and edits of the Lease:

- A write without a response may have been applied. It grants its sender nothing; the sender reads the Lease
  before it writes again. If the write was applied, it only makes the other candidates wait longer.
- A write that arrives late meets another version and is refused, or renews a Lease still in its own version.
- A pause can only make a process count from a later moment, or find its term over when it resumes.
- A renewal that changed nothing (the wall clock did not advance) returns the old version and does not count.

If two replicas have different settings, the larger D applies, because the record contains it. The others lose
it only if the Lease is deleted as well; so change D while one replica is running.

This does not cover two cases: a write started in time may still be in flight when its sender's term ends, and
a process may be paused between its last check of the clock and its first byte. Such a write has an old epoch.

The epoch
---------
It is the resourceVersion that the API server gave the claim. For Leases these are integers that grow with
every write and never decrease, also when the Lease is deleted and created again, edited by hand, or claimed
by a request that arrives late. So every claim has a higher epoch than all claims before it, no two share one,
and no process has to remember the highest. leaseTransitions is also incremented, for people; it starts again
when the Lease is deleted, so nothing depends on it.

A restored etcd
---------------
After etcd was restored from a backup, the Lease shows an older version than one observed before. The leader
then loses its term, and a candidate may no longer claim a record that names it without a wait: another
process may have led since. Each term knows the version since which the Lease has not gone back
(`remembers_from`; the proof is below).

Proof that an epoch above `remembers_from` is of a term after which etcd was not restored
-----------------------------------------------------------------------------------------
1. After a restore from a backup the Lease shows an older version than one observed before. A candidate reads
   the Lease more often than once in a lease duration, and no process claims a restored Lease before that is
   over, so a candidate that was running before the restore observes that the Lease goes back. Its memory
   restarts.
2. Every version and every epoch in a restored etcd is at most the version that the Lease shows first.
3. Each claim and each renewal states the revision since which its writer remembers. A candidate that observes
   such a write happen knows as much as its writer: the writer named the version that it had written or
   watched before, and after a restore that version does not exist. So a process that starts while another
   leads remembers what the other remembers, and the memory is lost only if no process that has it is left.

A record proves nothing when it is first read: it may come from the backup, and its writer may be long gone.
Nor does a record that another client changed (`kubectl annotate`): only the holder changes `renewTime`.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, assert_never

from nodemend.api.meta import print_micro_time
from nodemend.api.upstream_types import Lease
from nodemend.api.well_known import LEADER_MEMORY
from nodemend.kube.outcome import (
    LeaseFailed,
    LeaseFound,
    LeaseMissing,
    LeaseOutdated,
    LeaseResult,
    Reply,
    understand_lease,
)
from nodemend.kube.request import LeaseAddress, Precondition, Request, create_lease, patch_lease

FIELD_MANAGER: Final = "nodemend-elector"
_MOST_TRANSITIONS: Final = 2**31 - 1
_REVISION: Final = re.compile(r"[0-9]{1,19}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Record:
    """One version of the Lease."""

    uid: str
    version: str
    holder: str
    """Empty if the Lease has no holder."""
    seconds: int
    """Seconds for which the record requests to be left alone; 0 if it does not say."""
    transitions: int
    renewed: str = ""
    """`renewTime` as written. It is compared, never used in arithmetic."""
    remembers_from: int = 0
    """The revision since which the holder knows the Lease (`LeaseMemory`); 0 if the record does not say."""

    @property
    def revision(self) -> int:
        """The version as an integer: it grows with every write of any Lease, also across deletions."""
        return int(self.version)


@dataclass(frozen=True, slots=True)
class Holder:
    """The fields that a claim or a renewal writes about its sender."""

    identity: str
    seconds: int
    remembers_from: int

    @property
    def memory(self) -> str:
        """Includes the identity: another program that takes the Lease leaves the annotation as it is."""
        return f"{self.remembers_from} {self.identity}"


def understand(reply: Reply) -> LeaseResult[Record]:
    return understand_lease(reply, _read)


def place_record(address: LeaseAddress, seconds: int, wall: datetime) -> Request:
    """Create the Lease without a holder, to be left alone for `seconds`."""
    return create_lease(address, {}, _spec("", seconds, wall), manager=FIELD_MANAGER)


def claim_record(address: LeaseAddress, record: Record, holder: Holder, wall: datetime) -> Request:
    """Take over the Lease in exactly this version."""
    moment = print_micro_time(wall)
    spec: dict[str, object] = {
        "holderIdentity": holder.identity,
        "leaseDurationSeconds": holder.seconds,
        "acquireTime": moment,
        "renewTime": moment,
        # For people. It starts again at 0 before it would overflow; the epoch does not depend on it.
        "leaseTransitions": (record.transitions + 1) % _MOST_TRANSITIONS,
    }
    return _patch(address, record, spec, holder.memory)


def renew_record(address: LeaseAddress, record: Record, holder: Holder, wall: datetime) -> Request:
    return _patch(address, record, _spec(holder.identity, holder.seconds, wall), holder.memory)


def release_record(address: LeaseAddress, record: Record, wall: datetime) -> Request:
    """Release the Lease in the same form as client-go: without a holder, for one second."""
    return _patch(address, record, _spec("", 1, wall))


def _spec(holder: str, seconds: int, wall: datetime) -> dict[str, object]:
    return {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": print_micro_time(wall)}


def _patch(
    address: LeaseAddress, record: Record, spec: dict[str, object], memory: str | None = None
) -> Request:
    change = {"metadata": {"annotations": {LEADER_MEMORY: memory}}, "spec": spec}
    only_if = Precondition(record.uid, record.version)
    return patch_lease(address, only_if, change, manager=FIELD_MANAGER)


def _memory_of(lease: Lease) -> int:
    """The revision that the current holder wrote about itself; 0 if another process wrote the annotation."""
    number, _, writer = lease.metadata.annotations.get(LEADER_MEMORY, "").partition(" ")
    if not writer or writer != lease.spec.holder_identity:
        return 0
    return int(number) if _REVISION.fullmatch(number) else 0


def _read(lease: Lease) -> LeaseFound[Record] | LeaseFailed:
    uid, version = lease.metadata.uid, lease.metadata.resource_version
    if not uid or not (version.isascii() and version.isdigit()):
        return LeaseFailed(f"a Lease with uid {uid!r} and resourceVersion {version!r} gives no epoch")
    spec = lease.spec
    return LeaseFound(
        Record(
            uid=uid,
            version=version,
            holder=spec.holder_identity or "",
            seconds=spec.lease_duration_seconds or 0,
            transitions=spec.lease_transitions or 0,
            renewed=spec.renew_time or "",
            remembers_from=_memory_of(lease),
        )
    )


@dataclass(frozen=True, slots=True)
class LeaseMemory:
    """One process's knowledge of the history of the Lease. Times are monotonic."""

    remembers_from: int
    """The Lease has not gone back since this revision."""
    since: float
    """Time at which this process itself started to watch."""
    newest: Record
    asked_at: float
    """Time at which it requested `newest`."""

    def goes_back_to(self, record: Record) -> bool:
        return record.revision < self.newest.revision

    def after(self, record: Record, *, asked_at: float, now: float, gap: float) -> "LeaseMemory":
        """The memory after one more read. Reads that are `gap` or more apart are not consecutive."""
        if self.goes_back_to(record) or now - self.asked_at >= gap:
            return begin_memory(record, asked_at=asked_at, now=now)
        known = self.remembers_from
        if record.remembers_from and record.renewed != self.newest.renewed:
            known = min(known, record.remembers_from)
        return replace(self, remembers_from=known, newest=record, asked_at=asked_at)


def begin_memory(record: Record, *, asked_at: float, now: float) -> LeaseMemory:
    return LeaseMemory(record.revision, now, record, asked_at)


class TimingError(ValueError):
    """Times that do not fit together, with the sum that shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTiming:
    """In seconds on the clock that measures them, except two ratios. The module docstring has the reasons."""

    lease_duration: int = 15
    """The other candidates leave an unchanged Lease alone for this long."""
    renew_deadline: float = 10.0
    """A leader starts nothing later than this after it sent its last successful renewal."""
    stop_within: float = 2.0
    """The time that the work has to end after it was cancelled."""
    retry_period: float = 2.0
    """The time from one read or renewal to the next."""
    retry_jitter: float = 0.2
    """The share of the retry period by which it may be longer, drawn each time."""
    request_timeout: float = 3.0
    """The time limit of one request."""
    clock_rate_error: float = 0.01
    """The maximum rate error of any monotonic clock, fast or slow: 0.01 is one second in a hundred."""

    def __post_init__(self) -> None:
        for name in ("lease_duration", "renew_deadline", "retry_period", "request_timeout"):
            if getattr(self, name) <= 0:
                raise TimingError(f"{name} is {getattr(self, name)}; it must be more than 0")
        if self.stop_within < 0 or self.retry_jitter < 0:
            raise TimingError("stop_within and retry_jitter cannot be negative")
        if not 0 <= self.clock_rate_error < 0.5:
            raise TimingError(f"clock_rate_error is {self.clock_rate_error}; it must be in [0, 0.5)")
        self._refuse_overlap()
        self._refuse_haste()

    @property
    def untaken_for(self) -> float:
        """Seconds after sending a renewal without another leader: this clock slow, the others fast."""
        return self.lease_duration * (1 - self.clock_rate_error) / (1 + self.clock_rate_error)

    def _refuse_overlap(self) -> None:
        needed = self.renew_deadline + self.stop_within
        if needed > self.untaken_for:
            raise TimingError(
                f"renew_deadline {self.renew_deadline:g} + stop_within {self.stop_within:g} = {needed:g} s, "
                f"but with clocks off by {self.clock_rate_error:.2%} a lease of {self.lease_duration} s is "
                f"safe for only {self.untaken_for:.2f} s"
            )

    def _refuse_haste(self) -> None:
        longest_pause = self.retry_period * (1 + self.retry_jitter)
        needed = longest_pause + 2 * self.request_timeout
        if needed > self.renew_deadline:
            raise TimingError(
                f"retry_period {longest_pause:g} (with jitter) + a renewal without an answer "
                f"{self.request_timeout:g} + the read after it {self.request_timeout:g} = {needed:g} s, but "
                f"renew_deadline is {self.renew_deadline:g}: one lost answer would cost the leadership"
            )


@dataclass(frozen=True, slots=True)
class ReadLeaderLease:
    deadline: float


@dataclass(frozen=True, slots=True)
class Place:
    """Create the Lease without a holder."""

    deadline: float


@dataclass(frozen=True, slots=True)
class Claim:
    """Take over this version of the Lease."""

    record: Record
    deadline: float


@dataclass(frozen=True, slots=True)
class Renew:
    record: Record
    deadline: float


@dataclass(frozen=True, slots=True)
class ReleaseLeadership:
    record: Record
    deadline: float


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Do nothing until `until`, plus a random part of `spread`. `why` is empty if nothing failed."""

    until: float
    spread: float = 0.0
    why: str = ""


@dataclass(frozen=True, slots=True)
class StopWork:
    """The term is over. The work must have ended by the `safe_until` of that term."""

    why: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Nothing is left to do."""


ElectionCommand = ReadLeaderLease | Place | Claim | Renew | ReleaseLeadership | WaitFor | StopWork | Leave


@dataclass(frozen=True, slots=True)
class CampaignStarted:
    """The first event of a campaign."""


@dataclass(frozen=True, slots=True)
class WaitOver:
    pass


@dataclass(frozen=True, slots=True)
class WorkStopped:
    pass


@dataclass(frozen=True, slots=True)
class Resigned:
    """The work has ended permanently. May arrive at any time, also instead of the pending outcome."""


ElectionEvent = CampaignStarted | LeaseResult[Record] | WaitOver | WorkStopped | Resigned


@dataclass(frozen=True, slots=True)
class Term:
    """One leader term, as granted by the last acknowledged write. Times are monotonic."""

    epoch: int
    record: Record
    sent_at: float
    ends_at: float
    """The leader starts nothing at or after this time."""
    safe_until: float
    """From this time on another process may lead."""
    remembers_from: int
    """The Lease has not gone back since this revision, as far as this process knows."""
    remembers_since: float
    """Time at which this process started to watch the Lease."""


@dataclass(frozen=True, slots=True)
class _Sighting:
    """A version of another process, and the time at which this process first received it."""

    record: Record
    since: float


class LeaderLease:
    """One candidate of an election. The caller answers each command with one event before the next one."""

    def __init__(self, identity: str, timing: LeaseTiming) -> None:
        if not identity:
            raise ValueError("a candidate needs a unique identity")
        self._identity = identity
        self._timing = timing
        self._term: Term | None = None
        self._sighting: _Sighting | None = None
        self._memory: LeaseMemory | None = None
        self._restored = ""
        """Version at which the Lease was last observed to have gone back."""
        self._pending: ElectionCommand = Leave()
        self._asked_at = 0.0
        self._renewal_due = 0.0
        self._resigned = False

    @property
    def term(self) -> Term | None:
        """The current leader term, or None. It is over at its `ends_at` even if no step happens."""
        return self._term

    @property
    def remembers_from(self) -> int:
        """The revision that each claim and renewal states; 0 before the first read of the Lease."""
        return self._memory.remembers_from if self._memory else 0

    def step(self, event: ElectionEvent, now: float) -> ElectionCommand:
        went_back = self._remember(event, now)
        if went_back and self._term is not None:
            self._asked_at = now
            self._pending = self._lose("the Lease went back: etcd was restored from a backup")
            return self._pending
        command = self._choose(event, now)
        if not isinstance(command, WaitFor):
            self._asked_at = now
        self._pending = command
        return command

    def _choose(self, event: ElectionEvent, now: float) -> ElectionCommand:
        if isinstance(event, Resigned):
            self._resigned, self._term = True, None
            # A pending write may have been applied: read the Lease before releasing it.
            return ReadLeaderLease(now + self._timing.request_timeout)
        if self._resigned:
            return self._leave(event, now)
        if self._term is not None:
            return self._lead(self._term, event, now)
        return self._campaign(event, now)

    def _remember(self, event: ElectionEvent, now: float) -> bool:
        """Remember the Lease that was read. True if it shows an older version than before."""
        if isinstance(event, LeaseMissing):
            self._memory = None
        if not isinstance(event, LeaseFound):
            return False
        record, memory = event.lease, self._memory
        went_back = memory is not None and memory.goes_back_to(record)
        if memory is None:
            self._memory = begin_memory(record, asked_at=self._asked_at, now=now)
        else:
            gap = self._timing.lease_duration
            self._memory = memory.after(record, asked_at=self._asked_at, now=now, gap=gap)
        if went_back:
            self._restored = record.version
        return went_back

    # Candidate.

    def _campaign(self, event: ElectionEvent, now: float) -> ElectionCommand:
        match event:
            case LeaseFound(record):
                return self._consider(record, now)
            case LeaseMissing():
                self._sighting = None
                if isinstance(self._pending, Place):
                    return self._pause(now, "the namespace of the Lease is missing")
                return Place(now + self._timing.request_timeout)
            case LeaseOutdated():
                return self._pause(now)
            case LeaseFailed(why, retry_after):
                return self._pause(now, why, retry_after)
            case CampaignStarted() | WaitOver() | WorkStopped():
                return ReadLeaderLease(now + self._timing.request_timeout)
            case Resigned():
                raise AssertionError("handled before")
            case _:
                assert_never(event)

    def _consider(self, record: Record, now: float) -> ElectionCommand:
        if isinstance(self._pending, Claim):
            return self._take_office(self._pending.record, record, now)
        if record.holder == self._identity and record.version != self._restored:
            # This process wrote it, in a claim or a term that is over. Either no other process has held the
            # Lease since, or the API server refuses the claim.
            return self._claim(record, now)
        if self._sighting is None or not _same(self._sighting.record, record):
            self._sighting = _Sighting(record, now)
        free_at = self._free_at(self._sighting)
        if now >= free_at:
            return self._claim(record, now)
        pause = self._pause(now)
        return pause if pause.until + pause.spread < free_at else WaitFor(free_at)

    def _take_office(self, claimed: Record, record: Record, now: float) -> ElectionCommand:
        self._sighting = None
        term = self._term_from(record.revision, record)
        if not self._wrote(claimed, record) or now >= term.ends_at:
            return self._pause(now, "the claim was answered with another record, or too late")
        self._term = term
        return self._rest(term)

    def _claim(self, record: Record, now: float) -> Claim:
        return Claim(record, now + self._timing.request_timeout)

    def _free_at(self, sighting: _Sighting) -> float:
        record, own = sighting.record, self._timing.lease_duration
        # Without a holder, a process created or released it, and recorded how long the others must wait.
        wait = max(own, record.seconds) if record.holder else record.seconds or own
        return sighting.since + wait

    # Leader.

    def _lead(self, term: Term, event: ElectionEvent, now: float) -> ElectionCommand:
        if now >= term.ends_at:
            return self._lose("not renewed in time")
        match event:
            case LeaseFound(record) if isinstance(self._pending, Renew):
                return self._extend(term, record, now)
            case LeaseFound(record):
                return self._reassure(term, record, now)
            case LeaseMissing():
                return self._lose("the Lease was deleted")
            case LeaseOutdated():
                return self._read_lease(term, now)
            case LeaseFailed(why, retry_after):
                return self._within(term, self._pause(now, why, retry_after))
            case WaitOver() if isinstance(self._pending, WaitFor) and self._pending.why:
                return self._read_lease(term, now)
            case WaitOver():
                return self._renew(term, now)
            case CampaignStarted() | WorkStopped() | Resigned():
                raise AssertionError(f"{event} cannot come while leading")
            case _:
                assert_never(event)

    def _extend(self, term: Term, record: Record, now: float) -> ElectionCommand:
        if not self._wrote(term.record, record):
            return self._within(term, self._pause(now, "the renewal changed nothing"))
        self._term = self._term_from(term.epoch, record)
        return self._rest(self._term)

    def _reassure(self, term: Term, record: Record, now: float) -> ElectionCommand:
        """Still the holder, at an unknown version. A read extends no term; it only permits a renewal."""
        if record.uid != term.record.uid or record.holder != self._identity:
            return self._lose(f"the Lease is held by {record.holder or 'nobody'}")
        self._term = replace(term, record=record)
        if now < self._renewal_due:
            return self._within(self._term, WaitFor(self._renewal_due))
        return self._renew(self._term, now)

    def _term_from(self, epoch: int, record: Record) -> Term:
        """The term that the acknowledged write grants, counted from the time at which it was sent."""
        sent_at = self._asked_at
        return Term(
            epoch=epoch,
            record=record,
            sent_at=sent_at,
            ends_at=sent_at + self._timing.renew_deadline,
            safe_until=sent_at + self._timing.untaken_for,
            remembers_from=self.remembers_from or record.revision,
            remembers_since=self._memory.since if self._memory else sent_at,
        )

    def _rest(self, term: Term) -> WaitFor:
        spread = self._timing.retry_period * self._timing.retry_jitter
        return WaitFor(term.sent_at + self._timing.retry_period, spread)

    def _renew(self, term: Term, now: float) -> Renew:
        self._renewal_due = now + self._timing.retry_period
        return Renew(term.record, min(now + self._timing.request_timeout, term.ends_at))

    def _read_lease(self, term: Term, now: float) -> ReadLeaderLease:
        return ReadLeaderLease(min(now + self._timing.request_timeout, term.ends_at))

    def _lose(self, why: str) -> StopWork:
        self._term = None
        return StopWork(why)

    # Leaving.

    def _leave(self, event: ElectionEvent, now: float) -> ElectionCommand:
        """One read and one write at most: if they fail, the other candidates only wait longer."""
        if (
            isinstance(event, LeaseFound)
            and isinstance(self._pending, ReadLeaderLease)
            and event.lease.holder == self._identity
        ):
            return ReleaseLeadership(event.lease, now + self._timing.request_timeout)
        return Leave()

    # Pacing.

    def _pause(self, now: float, why: str = "", retry_after: float = 0.0) -> WaitFor:
        """Requests start one retry period apart, and not before the server's Retry-After."""
        period = self._timing.retry_period
        until = max(self._asked_at + period, now + retry_after, now)
        return WaitFor(until, period * self._timing.retry_jitter, why)

    def _within(self, term: Term, wait: WaitFor) -> WaitFor:
        until = min(wait.until, term.ends_at)
        return WaitFor(until, min(wait.spread, term.ends_at - until), wait.why)

    def _wrote(self, before: Record, after: Record) -> bool:
        """True if `after` is this process's own write on top of `before`, and changed the version."""
        return after.uid == before.uid and after.version != before.version and after.holder == self._identity


def _same(one: Record, other: Record) -> bool:
    return one.uid == other.uid and one.version == other.version
