"""State machine of the agent, which decides whether this node may continue: `step` returns its commands.

It renews the node's Lease. An acknowledged renewal that shows no marker is a clean read: it lets the feeder
continue for G from when the renewal was *sent*. While renewals fail, the agent retries sooner, reads the
Lease in parallel, and after some failures in a row asks its peers, in at most two rounds. It counts no other
time: without a clean read the feed lease ends by itself, even if the agent no longer runs.

On a stop request it stops gracefully: it publishes that no release may rely on this node's watchdog, and once
the API server acknowledges that, the feeder continues without a lease. An agent that cannot publish this
leaves the lease to its end.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, assert_never

from nodemend.agent.certificates import CertificateStatus
from nodemend.agent.state import ActiveTerms, AgentIdentity, AgentState, Renewal
from nodemend.api.agent import AgentReport, PeerEntry, PeerProposal, WatchdogReport
from nodemend.kube.outcome import LeaseFailed, LeaseFound, LeaseMissing, LeaseOutdated
from nodemend.protocol.peers import PeerReply, Poll, Verdict, conclude, first_round, second_round
from nodemend.protocol.timing import RenewalPace
from nodemend.records.agent_lease import AgentLease, AgentLeaseResult


@dataclass(slots=True)
class PeerRounds:
    """`began` is the time of the first question: no answer is worth more than a clean read at that time."""

    peers: tuple[PeerEntry, ...]
    began: float
    healthy_wanted: int = 1
    _asked: list[PeerEntry] = field(default_factory=list)
    _said: dict[str, PeerReply] = field(default_factory=dict)

    def open_first(self, chance: float) -> tuple[PeerEntry, ...]:
        return self._ask(first_round(self.peers, chance))

    def open_second(self) -> tuple[PeerEntry, ...]:
        return self._ask(second_round(self.peers, self._asked))

    def note(self, peer: str, answer: PeerReply) -> None:
        """Record an answer. Only the first answer of each peer counts, and only if this node asked it."""
        if any(one.name == peer for one in self._asked):
            self._said.setdefault(peer, answer)

    @property
    def all_answered(self) -> bool:
        return len(self._said) == len(self._asked)

    def conclude(self) -> Verdict:
        said = list(self._said.values())
        return conclude(
            Poll(
                peers=len(self.peers),
                healthy=said.count(PeerReply.HEALTHY),
                fence_requested=said.count(PeerReply.FENCE_NOW),
                out_of_reach=said.count(PeerReply.API_OUT_OF_REACH),
                all_asked=len(self._asked) == len(self.peers),
                healthy_wanted=self.healthy_wanted,
            )
        )

    def _ask(self, chosen: tuple[PeerEntry, ...]) -> tuple[PeerEntry, ...]:
        self._asked.extend(chosen)
        return chosen


# Commands. All times are of the node's own clock, which advances while the machine sleeps.


@dataclass(frozen=True, slots=True)
class ReadLease:
    deadline: float


@dataclass(frozen=True, slots=True)
class CreateLease:
    report: AgentReport
    deadline: float


@dataclass(frozen=True, slots=True)
class RenewLease:
    known: AgentLease
    report: AgentReport
    deadline: float


@dataclass(frozen=True, slots=True)
class AskPeers:
    """Ask all peers at once. Each answer is a PeerAnswered; RoundEnded follows by the deadline."""

    round: int
    peers: tuple[PeerEntry, ...]
    deadline: float


@dataclass(frozen=True, slots=True)
class StartParallelRead:
    """Read the Lease about every `every` seconds, at random intervals, in parallel, until StopParallelReads.

    Each read ends within `within` seconds of its sending, and ParallelReadEnded reports its answer. At most
    `most` reads run at once.
    """

    every: float
    within: float
    most: int


@dataclass(frozen=True, slots=True)
class StopParallelReads:
    """Start no further parallel reads. The running ones still report."""


@dataclass(frozen=True, slots=True)
class FeedUntil:
    """The feeder may ping until then. Must be written before the commands that follow start."""

    until: float


@dataclass(frozen=True, slots=True)
class FenceNow:
    """Never feed this boot again, and reset it at once; in a drill, when its feed lease ends."""

    why: str
    at_once: bool = True


@dataclass(frozen=True, slots=True)
class StopGracefully:
    """Write the permit: it is acknowledged that no release relies on the watchdog. The last command."""


@dataclass(frozen=True, slots=True)
class ResumeFeeding:
    """Remove an earlier agent's permit. Must be done before the commands that follow start."""


@dataclass(frozen=True, slots=True)
class Remember:
    """Store the state. Must be done before the commands that follow start: they publish its promises."""

    memory: AgentState


@dataclass(frozen=True, slots=True)
class WaitUntil:
    until: float


ImmediateCommand = (
    StartParallelRead | StopParallelReads | FeedUntil | FenceNow | StopGracefully | ResumeFeeding | Remember
)
HeartbeatCommand = ReadLease | CreateLease | RenewLease | AskPeers | WaitUntil | ImmediateCommand

# Events.


@dataclass(frozen=True, slots=True)
class HeartbeatStarted:
    """The first event."""


@dataclass(frozen=True, slots=True)
class WaitEnded:
    pass


@dataclass(frozen=True, slots=True)
class ParallelReadEnded:
    """A parallel read, sent at `asked_at` or later, has ended.

    It arrives at any time. The commands that follow run at once, and none of them waits.
    """

    news: AgentLeaseResult
    asked_at: float


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The agent must stop. It does not wait for running commands."""


@dataclass(frozen=True, slots=True)
class PeerAnswered:
    round: int
    peer: str
    answer: PeerReply


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """All peers have answered, or the deadline has passed."""

    round: int


HeartbeatEvent = (
    HeartbeatStarted
    | AgentLeaseResult
    | WaitEnded
    | StopRequested
    | PeerAnswered
    | RoundEnded
    | ParallelReadEnded
)


Commands = tuple[HeartbeatCommand, ...]

_AGAIN_AFTER: Final = 1.0
"""Seconds between attempts of an agent that must stop: it has little time."""
_MAX_PARALLEL_READS: Final = 8
"""Maximum number of parallel reads beside a renewal."""
_PARALLEL_READ_INTERVAL: Final = 0.4
"""Fraction of a feed lease without a clean read or a verdict by peers, after which parallel reads start
again. In an outage that affects all nodes, the peers' verdict arrives sooner."""
_MARKED: Final = "a marker is on its Lease"


class Heartbeat:
    """The state machine. An event answers each read, create, renewal, peer round or wait before the next."""

    def __init__(
        self, who: AgentIdentity, memory: AgentState | None, *, chance: float, healthy_wanted: int = 1
    ) -> None:
        """`chance`, in [0, 1), selects the peers that are asked first."""
        self._who = who
        self._memory = memory or AgentState(active_terms=ActiveTerms())
        self._chance = chance
        self._healthy_wanted = healthy_wanted
        self._known: AgentLease | None = None
        self._asked_at = 0.0
        self._unslewed = 0.0
        """Unslewed clock at the current step."""
        self._placing = False
        self._renewal: Renewal | None = None
        self._failures = 0
        self._round = 0
        self._rounds: PeerRounds | None = None
        self._looking = False
        self._fence_requested = False
        self._stopping = False
        self._resumed = False
        self._wall_offset: float | None = None
        """Wall clock minus this node's own clock, when they were last read."""
        self.renewed = False
        """True once the API server has acknowledged a renewal by this process."""

    def out_of_reach(self, unslewed: float) -> bool:
        """True if this node reports to peers that it cannot reach the API server either."""
        contact = self._memory.contact
        return contact is not None and contact.out_of_reach(unslewed)

    @property
    def memory(self) -> AgentState:
        """State after the last step."""
        return self._memory

    def learn(self, watchdog: WatchdogReport, longest_lease: float | None) -> None:
        """Record the feeder's latest report; the next renewal publishes it."""
        self._who = replace(self._who, watchdog=watchdog, longest_lease=longest_lease)

    @property
    def trusted_at(self) -> tuple[float, ...]:
        """Wall clock times of the last settled contact. A certificate valid at one keeps limited trust."""
        settled = self._memory.settled
        return settled.trusted_at if settled else ()

    def learn_certificate(self, holding: CertificateStatus, wall: datetime, now: float) -> None:
        """Record the current certificate, which the next renewal publishes.

        Later renewals drop the peers if no peer would accept it, and add them again once peers would.
        """
        self._wall_offset = wall.timestamp() - now
        self._who = self._who.certified(holding, wall, self._memory.active_terms.feed_lease)

    def step(self, event: HeartbeatEvent, now: float, unslewed: float) -> Commands:
        """Return the commands that follow an event.

        Both clocks are read just now: `now` is for deadlines and the feed lease, `unslewed` for the contact
        age.
        """
        if self._fence_requested:
            return ()
        self._unslewed = unslewed
        match event:
            case HeartbeatStarted() | WaitEnded():
                return self._read_lease(now)
            case LeaseFound(lease):
                return self._found(lease, now)
            case StopRequested():
                self._stopping, self._known = True, None
                return self._read_lease(now)
            case LeaseMissing() if not self._placing:
                self._known, self._memory = None, self._memory.compare(self._who, None)
                return self._write(None, now)
            case LeaseOutdated():
                self._known = None
                return self._read_lease(now)
            case LeaseMissing() | LeaseFailed():  # The namespace of the Lease is missing.
                return self._failed(now)
            case PeerAnswered(number, peer, answer):
                return self._heard(number, now, said=(peer, answer))
            case RoundEnded(number):
                return self._heard(number, now)
            case ParallelReadEnded(news, asked_at):
                return self._looked(news, asked_at)
            case _:
                assert_never(event)

    # The Lease.

    def _read_lease(self, now: float) -> Commands:
        if self._known is not None:
            return self._write(self._known, now)
        self._renewal, self._asked_at, self._placing = None, now, False
        return (ReadLease(now + self._pace.deadline),)

    def _found(self, lease: AgentLease, now: float) -> Commands:
        """Process the Lease, as read or as written: the server's state at some time after the request."""
        if lease.fences(self._who.node_uid, self._who.boot_id):
            return self._fence_if_marked(lease)
        self._known, self._failures = lease, 0
        was_read, is_first = self._renewal is None, self._memory.contact is None
        if self._renewal is not None:
            self._memory = self._memory.acknowledge(self._renewal, self._unslewed, lease.revision)
            if self._wall_offset is not None:
                wall = now + self._wall_offset
                self._memory = self._memory.contacted(now, wall, heard=self._who.heard)
            self.renewed = True
        else:
            if isinstance(lease.report, AgentReport):
                self._memory = self._memory.take_up(self._who, lease.report)
            self._memory = self._memory.compare(self._who, lease.report)
        proposal = lease.proposal if isinstance(lease.proposal, PeerProposal) else None
        self._memory = self._memory.consider(self._who, proposal)
        fed = self._feed_from(self._asked_at) if lease.clean else ()
        if was_read:
            return (*fed, *self._write(lease, now))
        if is_first and not fed and self._who.boot_gate:
            # This record extends nothing: the feeder must know of the agent before the agent has peers.
            fed = (FeedUntil(self._memory.fed_until),)
        kept = (*self._stop_looking(), *fed, Remember(self._memory))
        if self._stopping and lease.clean:
            return (*kept, StopGracefully())
        return (*kept, *self._stand_up(lease), *self._rest(now))

    def _stand_up(self, lease: AgentLease) -> Commands:
        """Remove an earlier agent's permit, once, and only after this process has extended the feed lease."""
        if self._resumed or self._stopping or not lease.clean:
            return ()
        self._resumed = True
        return (ResumeFeeding(),)

    def _write(self, known: AgentLease | None, now: float) -> Commands:
        """Renew the Lease. Create a missing one: without a Lease, no release relies on this node."""
        who = self._who.stopped_gracefully() if self._stopping else self._who
        self._memory, renewal = self._memory.renew(who, now, known.revision if known else 0)
        self._renewal, self._asked_at, self._placing = renewal, now, known is None
        deadline = now + self._pace.deadline
        if known is None:
            return (Remember(self._memory), CreateLease(renewal.report, deadline))
        return (Remember(self._memory), RenewLease(known, renewal.report, deadline))

    # Parallel reads while renewals fail.

    def _start_parallel_read(self, now: float) -> Commands:
        """Start parallel reads at the first failure, and later if the peers do not help either."""
        active_terms = self._memory.active_terms
        fed_for = self._memory.fed_until - now
        wanted = self._failures == 1 or fed_for < (1 - _PARALLEL_READ_INTERVAL) * active_terms.feed_lease
        if self._looking or self._stopping or not wanted:
            return ()
        self._looking = True
        every = self._pace.read_interval(len(active_terms.peers))
        return (StartParallelRead(every, self._pace.read_deadline, _MAX_PARALLEL_READS),)

    def _stop_looking(self) -> Commands:
        was, self._looking = self._looking, False
        return (StopParallelReads(),) if was else ()

    def _looked(self, news: AgentLeaseResult, asked_at: float) -> Commands:
        """Extend the feed lease, or fence, by a parallel read. All else is left to the command under way."""
        if not isinstance(news, LeaseFound):
            return ()
        if news.lease.fences(self._who.node_uid, self._who.boot_id):
            return self._fence_if_marked(news.lease)
        return self._feed_from(asked_at) if news.lease.clean else ()

    # Peers.

    def _failed(self, now: float) -> Commands:
        """Handle a failed request. If it was a write and was applied, the next one conflicts, and reads."""
        self._failures += 1
        return (*self._start_parallel_read(now), *self._try_otherwise(now))

    def _try_otherwise(self, now: float) -> Commands:
        """Retry soon a few times, then ask peers. An agent that starts during a long outage asks at once."""
        cut_off = self.out_of_reach(self._unslewed)
        if self._stopping or (self._failures < self._pace.failures and not cut_off):
            return self._rest(now, retry=True)
        peers = self._memory.active_terms.peers
        self._rounds = PeerRounds(peers, now, self._healthy_wanted)
        if peers:
            return self._ask(self._rounds.open_first(self._turn()), now)
        if self._memory.contact is None:
            # This boot's peers are unknown: remediators may still rely on the list of an earlier agent.
            return self._rest(now, retry=True)
        return self._evaluate(self._rounds, Verdict.UNDECIDABLE, now)

    def _heard(self, number: int, now: float, said: tuple[str, PeerReply] | None = None) -> Commands:
        """Conclude from a round. A healthy verdict ends it at once; any other waits for all answers."""
        rounds = self._rounds
        if rounds is None or number != self._round:
            return ()
        if said is not None:
            rounds.note(*said)
        verdict = rounds.conclude()
        if said is not None and verdict is not Verdict.HEALTHY and not rounds.all_answered:
            return ()
        return self._evaluate(rounds, verdict, now)

    def _evaluate(self, rounds: PeerRounds, verdict: Verdict, now: float) -> Commands:
        match verdict:
            case Verdict.HEALTHY | Verdict.OUTAGE | Verdict.UNDECIDABLE:
                return (*self._stop_looking(), *self._feed_from(rounds.began), *self._rest(now))
            case Verdict.FENCE_NOW:
                return self._fence_now("peers have seen a marker on its Lease")
            case Verdict.ASK_THE_REST:
                return self._ask(rounds.open_second(), now)
            case Verdict.UNDETERMINED:
                return self._rest(now, retry=True)
            case _:
                assert_never(verdict)

    def _ask(self, peers: tuple[PeerEntry, ...], now: float) -> Commands:
        self._round += 1
        return (AskPeers(self._round, peers, now + self._pace.round_deadline),)

    def _turn(self) -> float:
        """Return a different starting point for each round, derived from the one `chance`."""
        self._chance = (self._chance + 0.381966) % 1.0
        return self._chance

    # Feed lease, fencing and waiting.

    def _feed_from(self, looked_at: float) -> Commands:
        if self._who.boot_gate and self._memory.contact is None:
            # The first record ends the feeding without a lease (`watchdog.feeder`). An agent whose first
            # renewal is lost together with the API server must not end its node that way.
            return ()
        before, self._memory = self._memory, self._memory.feed_from(looked_at, self._who.longest_lease)
        if self._memory.fed_until == before.fed_until:
            return ()
        return (FeedUntil(self._memory.fed_until),)

    def _fence_if_marked(self, lease: AgentLease) -> Commands:
        drill = lease.marker is not None and lease.marker.drill
        return self._fence_now("a drill's marker is on its Lease" if drill else _MARKED, at_once=not drill)

    def _fence_now(self, why: str, *, at_once: bool = True) -> Commands:
        self._fence_requested = True
        return (FenceNow(why, at_once),)

    def _rest(self, now: float, *, retry: bool = False) -> Commands:
        self._rounds = None
        pause = self._pace.retry if retry else self._pace.every
        return (WaitUntil(now + (_AGAIN_AFTER if self._stopping else pause)),)

    @property
    def _pace(self) -> RenewalPace:
        return self._memory.active_terms.pace
