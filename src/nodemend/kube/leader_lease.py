"""Who leads: a machine over one Lease. `step(event, now)` returns the one thing to do next.

Why no two processes may begin an action at the same instant
------------------------------------------------------------
Let D be the lease duration, R the renew deadline, and rho the bound on the rate error of every monotonic
clock: in t true seconds it advances by between (1 - rho)t and (1 + rho)t, also while its process is paused.

1. The Lease is written only by compare-and-swap on its UID and version, and every write changes its version.
2. A process leads only by a write that was answered (a claim, or a renewal of its own claim), and only until
   its clock shows R more than when it *sent* that write. Before each action it looks at its clock again.
3. A process claims a version only after it has itself known that very version for D, counted on its own clock
   from the moment the version was first in its hands, and for longer if the record asks for more. Two
   exceptions: a record that names itself, and a record left behind by a holder whose work had ended.
4. An absent Lease proves nothing about yesterday's holder. It is first placed, held by nobody, and then
   watched like any other. So every claim replaces a version that was known for a full lease duration.

Let B claim version v, and let W be the last write by which another process A leads that was committed before
this claim. B had v in its hands no earlier than W was committed, thus no earlier than A sent W. So B sent its
claim no earlier than D / (1 + rho) true seconds after A sent W, while A begins nothing later than
R / (1 - rho) true seconds after it. LeaseTiming refuses values for which the second, with the time to stop
the work, is not the smaller. And once the claim is committed A cannot renew: its compare-and-swap names an
older version. Nothing here asked how long a request or an answer was under way, whether an answer was lost,
who was paused, what a wall clock showed, or who deleted or edited the Lease meanwhile:

- A write without an answer may have been applied. It gives its sender nothing; the sender reads the Lease
  before it writes again. If it was applied, it only makes the others wait longer.
- A write that arrives late meets another version and is refused, or renews a Lease still in its own version.
- A pause can only make a process count from later moments, or find its time over when it wakes.
- A renewal that changed nothing (the wall clock stood still) gets its old version back and does not count.

Of two replicas with different settings the larger D wins, because it stands in the record. Only if the Lease
is deleted as well do the others not know it; so change D with one replica running.

What this does not give: a write begun in time may still be under way when its sender's time ends, and a
process may be paused between its last look at the clock and its first byte. Such a write has an old epoch.

The epoch
---------
It is the resourceVersion that the API server gave the claim. For Leases these are integers that grow with
every write and never fall, also when the Lease is deleted and made again, edited by hand, or claimed by a
request that arrives late. So every claim has a higher epoch than all claims before it, no two share one, and
nobody has to remember the highest. leaseTransitions is raised as well, for people; it falls when somebody
deletes the Lease, so nothing rests on it.

A restored etcd
---------------
After etcd was restored from a backup the Lease shows an older version than one that was seen before. Whoever
leads then loses its term, and a record that names a candidate is no longer free for it to take: another
process may have led since. Each term knows from which version on the Lease has not gone back
(`remembers_from`; why, is in leader_memory).
"""

from dataclasses import dataclass, replace
from typing import assert_never

from nodemend.kube.leader_memory import LeaseMemory, begin_memory
from nodemend.kube.leader_record import Failed, Found, LeaseNews, Missing, Outdated, Record
from nodemend.kube.leader_timing import LeaseTiming


@dataclass(frozen=True, slots=True)
class Look:
    """Read the Lease."""

    deadline: float


@dataclass(frozen=True, slots=True)
class Place:
    """Create the Lease, held by nobody."""

    deadline: float


@dataclass(frozen=True, slots=True)
class Claim:
    """Take over this version."""

    record: Record
    deadline: float


@dataclass(frozen=True, slots=True)
class Renew:
    record: Record
    deadline: float


@dataclass(frozen=True, slots=True)
class Release:
    record: Record
    deadline: float


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing until then, and for a random part of `spread` longer. `why` is empty when all is well."""

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


Command = Look | Place | Claim | Renew | Release | Wait | StopWork | Leave


@dataclass(frozen=True, slots=True)
class Begun:
    """First event of all."""


@dataclass(frozen=True, slots=True)
class Waited:
    pass


@dataclass(frozen=True, slots=True)
class WorkStopped:
    pass


@dataclass(frozen=True, slots=True)
class Resigned:
    """The work has ended for good. May come at any time, also instead of the outcome that is awaited."""


Event = Begun | LeaseNews | Waited | WorkStopped | Resigned


@dataclass(frozen=True, slots=True)
class Term:
    """One leadership, as far as the last answered write carries it."""

    epoch: int
    record: Record
    sent_at: float
    ends_at: float
    """Nothing is begun at or after this."""
    safe_until: float
    """From here on somebody else may lead."""
    remembers_from: int
    """The revision from which on the Lease has not gone back, as far as this process knows."""
    remembers_since: float
    """When this process began to watch."""


@dataclass(frozen=True, slots=True)
class _Sighting:
    """A version that is not ours, and since when we know it."""

    record: Record
    since: float


class LeaderLease:
    """Every command is answered by one event before the next command is given."""

    def __init__(self, identity: str, timing: LeaseTiming) -> None:
        if not identity:
            raise ValueError("a candidate needs an identity of its own")
        self._identity = identity
        self._timing = timing
        self._term: Term | None = None
        self._sighting: _Sighting | None = None
        self._memory: LeaseMemory | None = None
        self._restored = ""
        """The version that the Lease had when it was last seen to have gone back."""
        self._pending: Command = Leave()
        self._asked_at = 0.0
        self._renewal_due = 0.0
        self._resigned = False

    @property
    def term(self) -> Term | None:
        """The leadership now, if any. It is over at its `ends_at` whether or not a step comes."""
        return self._term

    @property
    def remembers_from(self) -> int:
        """What each claim and renewal says of its writer; 0 before the Lease was seen."""
        return self._memory.remembers_from if self._memory else 0

    def step(self, event: Event, now: float) -> Command:
        went_back = self._remember(event, now)
        if went_back and self._term is not None:
            self._asked_at = now
            self._pending = self._lose("the Lease went back: etcd was restored from a backup")
            return self._pending
        command = self._choose(event, now)
        if not isinstance(command, Wait):
            self._asked_at = now
        self._pending = command
        return command

    def _choose(self, event: Event, now: float) -> Command:
        if isinstance(event, Resigned):
            self._resigned, self._term = True, None
            # Whatever was under way may have been applied: read before giving up what we hold.
            return Look(now + self._timing.request_timeout)
        if self._resigned:
            return self._leave(event, now)
        if self._term is not None:
            return self._lead(self._term, event, now)
        return self._campaign(event, now)

    def _remember(self, event: Event, now: float) -> bool:
        """Whether the Lease shows an older version than before."""
        if isinstance(event, Missing):
            self._memory = None
        if not isinstance(event, Found):
            return False
        record, memory = event.record, self._memory
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

    def _campaign(self, event: Event, now: float) -> Command:
        match event:
            case Found(record):
                return self._consider(record, now)
            case Missing():
                self._sighting = None
                if isinstance(self._pending, Place):
                    return self._pause(now, "the namespace of the Lease is missing")
                return Place(now + self._timing.request_timeout)
            case Outdated():
                return self._pause(now)
            case Failed(why, retry_after):
                return self._pause(now, why, retry_after)
            case Begun() | Waited() | WorkStopped():
                return Look(now + self._timing.request_timeout)
            case Resigned():
                raise AssertionError("handled before")
            case _:
                assert_never(event)

    def _consider(self, record: Record, now: float) -> Command:
        if isinstance(self._pending, Claim):
            return self._take_office(self._pending.record, record, now)
        if record.holder == self._identity and record.version != self._restored:
            # Ours from a claim or a term that is over; nobody has it since, or the claim will be refused.
            return self._claim(record, now)
        if self._sighting is None or not _same(self._sighting.record, record):
            self._sighting = _Sighting(record, now)
        free_at = self._free_at(self._sighting)
        if now >= free_at:
            return self._claim(record, now)
        pause = self._pause(now)
        return pause if pause.until + pause.spread < free_at else Wait(free_at)

    def _take_office(self, claimed: Record, record: Record, now: float) -> Command:
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
        # Held by nobody: placed or released by a process that knew how long it must be left alone.
        wait = max(own, record.seconds) if record.holder else record.seconds or own
        return sighting.since + wait

    # Leader.

    def _lead(self, term: Term, event: Event, now: float) -> Command:
        if now >= term.ends_at:
            return self._lose("not renewed in time")
        match event:
            case Found(record) if isinstance(self._pending, Renew):
                return self._extend(term, record, now)
            case Found(record):
                return self._reassure(term, record, now)
            case Missing():
                return self._lose("the Lease was deleted")
            case Outdated():
                return self._look(term, now)
            case Failed(why, retry_after):
                return self._within(term, self._pause(now, why, retry_after))
            case Waited() if isinstance(self._pending, Wait) and self._pending.why:
                return self._look(term, now)
            case Waited():
                return self._renew(term, now)
            case Begun() | WorkStopped() | Resigned():
                raise AssertionError(f"{event} cannot come while leading")
            case _:
                assert_never(event)

    def _extend(self, term: Term, record: Record, now: float) -> Command:
        if not self._wrote(term.record, record):
            return self._within(term, self._pause(now, "the renewal changed nothing"))
        self._term = self._term_from(term.epoch, record)
        return self._rest(self._term)

    def _reassure(self, term: Term, record: Record, now: float) -> Command:
        """Still ours, in a version we did not know. Reading it extends nothing; it only lets us renew."""
        if record.uid != term.record.uid or record.holder != self._identity:
            return self._lose(f"the Lease is held by {record.holder or 'nobody'}")
        self._term = replace(term, record=record)
        if now < self._renewal_due:
            return self._within(self._term, Wait(self._renewal_due))
        return self._renew(self._term, now)

    def _term_from(self, epoch: int, record: Record) -> Term:
        """What the write that was just answered gives, counted from when it was asked for."""
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

    def _rest(self, term: Term) -> Wait:
        spread = self._timing.retry_period * self._timing.retry_jitter
        return Wait(term.sent_at + self._timing.retry_period, spread)

    def _renew(self, term: Term, now: float) -> Renew:
        self._renewal_due = now + self._timing.retry_period
        return Renew(term.record, min(now + self._timing.request_timeout, term.ends_at))

    def _look(self, term: Term, now: float) -> Look:
        return Look(min(now + self._timing.request_timeout, term.ends_at))

    def _lose(self, why: str) -> StopWork:
        self._term = None
        return StopWork(why)

    # Leaving.

    def _leave(self, event: Event, now: float) -> Command:
        """One read and one write at most: whoever waits for the Lease will have it anyway, only later."""
        if (
            isinstance(event, Found)
            and isinstance(self._pending, Look)
            and event.record.holder == self._identity
        ):
            return Release(event.record, now + self._timing.request_timeout)
        return Leave()

    # Pacing.

    def _pause(self, now: float, why: str = "", retry_after: float = 0.0) -> Wait:
        """Requests begin a retry period apart, and not before the server said so."""
        period = self._timing.retry_period
        until = max(self._asked_at + period, now + retry_after, now)
        return Wait(until, period * self._timing.retry_jitter, why)

    def _within(self, term: Term, wait: Wait) -> Wait:
        until = min(wait.until, term.ends_at)
        return Wait(until, min(wait.spread, term.ends_at - until), wait.why)

    def _wrote(self, before: Record, after: Record) -> bool:
        """Whether `after` is our own write on top of `before`, and a write at all."""
        return after.uid == before.uid and after.version != before.version and after.holder == self._identity


def _same(one: Record, other: Record) -> bool:
    return one.uid == other.uid and one.version == other.version
