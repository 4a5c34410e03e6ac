"""The agent's machine: whether this node may go on. `step(event, ...)` returns what to do next, in order.

It renews the node's Lease. A renewal that is acknowledged is a clean look, and lets the feeder go on for G
from when it was *sent*. While renewals fail it tries again sooner, reads the Lease beside them, and asks
peers after some failures in a row. It counts no time otherwise: if nothing clean is seen the feed lease ends
by itself, whatever this machine does or does not do any more.

Told to stop, it stands down: it publishes that nothing rests on this node's watchdog, and once that is
acknowledged the feeder goes on without a lease. An agent that cannot say so leaves the lease to its end.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final, assert_never

from nodemend.agent.certificate import Holding
from nodemend.agent.memory import Memory, Renewal, Self
from nodemend.agent.peer_rounds import PeerRounds
from nodemend.agent.published import Conduct
from nodemend.agent.self_watch_steps import (
    AskPeers,
    Begun,
    Command,
    Condemn,
    Event,
    FeedUntil,
    LookBeside,
    Looked,
    PeerSaid,
    PlaceLease,
    ReadLease,
    Remember,
    RenewLease,
    RoundOver,
    StandDown,
    StandUp,
    StopAsked,
    StopLooking,
    Wait,
    Waited,
)
from nodemend.api.agent_lease import AgentReport, PeerEntry, PeerProposal, WatchdogReport
from nodemend.decide.peer_verdict import Answer, Verdict
from nodemend.decide.renewal_pace import RenewalPace
from nodemend.kube.agent_lease import AgentLease, Failed, Found, LeaseNews, Missing, Outdated

Commands = tuple[Command, ...]

_AGAIN_AFTER: Final = 1.0
"""Seconds: who is told to stop has not many."""
_MOST_LOOKS: Final = 8
"""Under way at once, beside a renewal."""
_LOOKS_AGAIN: Final = 0.4
"""Of a feed lease without a clean look or word of peers: in an outage for all their word comes sooner."""
_MARKED: Final = "a marker is on its Lease"


class SelfWatch:
    """Read, place, renew, ask and wait are each answered by an event before the next is given."""

    def __init__(self, who: Self, memory: Memory | None, *, chance: float, healthy_wanted: int = 1) -> None:
        """`chance`, in [0, 1), decides with which peers the asking begins."""
        self._who = who
        self._memory = memory or Memory(conduct=Conduct())
        self._chance = chance
        self._healthy_wanted = healthy_wanted
        self._known: AgentLease | None = None
        self._asked_at = 0.0
        self._unslewed = 0.0
        """As the step under way was told."""
        self._placing = False
        self._renewal: Renewal | None = None
        self._failures = 0
        self._round = 0
        self._rounds: PeerRounds | None = None
        self._looking = False
        self._condemned = False
        self._stopping = False
        self._stood_up = False
        self._wall_offset: float | None = None
        """What the wall clock showed beyond this node's own, when it was last read."""
        self.renewed = False
        """Whether a renewal by this process was acknowledged."""

    def out_of_reach(self, unslewed: float) -> bool:
        """Whether to tell a peer that this node cannot reach the API either."""
        contact = self._memory.contact
        return contact is not None and contact.out_of_reach(unslewed)

    @property
    def memory(self) -> Memory:
        """As it stands after the last step."""
        return self._memory

    def learn(self, watchdog: WatchdogReport, longest_lease: float | None) -> None:
        """What the feeder tells by now; the next renewal publishes it."""
        self._who = replace(self._who, watchdog=watchdog, longest_lease=longest_lease)

    @property
    def trusted_at(self) -> tuple[float, ...]:
        """The last settled contact, by wall clocks. Certificates that were good then are worth something."""
        settled = self._memory.settled
        return settled.trusted_at if settled else ()

    def learn_certificate(self, holding: Holding, wall: datetime, now: float) -> None:
        """What is held by now. The next renewal publishes it; peers go, or come, with those that follow."""
        self._wall_offset = wall.timestamp() - now
        self._who = self._who.certified(holding, wall, self._memory.conduct.feed_lease)

    def step(self, event: Event, now: float, unslewed: float) -> Commands:
        """Both clocks, read just now. Deadlines and the feed lease go by `now`, contact by `unslewed`."""
        if self._condemned:
            return ()
        self._unslewed = unslewed
        match event:
            case Begun() | Waited():
                return self._look(now)
            case Found(lease):
                return self._found(lease, now)
            case StopAsked():
                self._stopping, self._known = True, None
                return self._look(now)
            case Missing() if not self._placing:
                self._known, self._memory = None, self._memory.compare(self._who, None)
                return self._write(None, now)
            case Outdated():
                self._known = None
                return self._look(now)
            case Missing() | Failed():  # What is to be placed is missing its namespace.
                return self._failed(now)
            case PeerSaid(number, peer, answer):
                return self._heard(number, now, said=(peer, answer))
            case RoundOver(number):
                return self._heard(number, now)
            case Looked(news, asked_at):
                return self._looked(news, asked_at)
            case _:
                assert_never(event)

    # The Lease.

    def _look(self, now: float) -> Commands:
        if self._known is not None:
            return self._write(self._known, now)
        self._renewal, self._asked_at, self._placing = None, now, False
        return (ReadLease(now + self._pace.deadline),)

    def _found(self, lease: AgentLease, now: float) -> Commands:
        """Read, or written by us: either way the server's word, as of some moment after it was asked."""
        if lease.condemns(self._who.node_uid, self._who.boot_id):
            return self._condemn_by(lease)
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
            # A record that lets nobody go on: the feeder must know of this agent before it has peers.
            fed = (FeedUntil(self._memory.fed_until),)
        kept = (*self._stop_looking(), *fed, Remember(self._memory))
        if self._stopping and lease.clean:
            return (*kept, StandDown())
        return (*kept, *self._stand_up(lease), *self._rest(now))

    def _stand_up(self, lease: AgentLease) -> Commands:
        """Once, and not before the feeder has a lease that this process answers for."""
        if self._stood_up or self._stopping or not lease.clean:
            return ()
        self._stood_up = True
        return (StandUp(),)

    def _write(self, known: AgentLease | None, now: float) -> Commands:
        """Where there is no Lease, nobody was promised anything about this node: it places one."""
        who = self._who.stood_down() if self._stopping else self._who
        self._memory, renewal = self._memory.renew(who, now, known.revision if known else 0)
        self._renewal, self._asked_at, self._placing = renewal, now, known is None
        deadline = now + self._pace.deadline
        if known is None:
            return (Remember(self._memory), PlaceLease(renewal.report, deadline))
        return (Remember(self._memory), RenewLease(known, renewal.report, deadline))

    # Looks beside renewals that fail.

    def _look_beside(self, now: float) -> Commands:
        """From the first failure on; and later where peers do not help either."""
        conduct = self._memory.conduct
        fed_for = self._memory.fed_until - now
        wanted = self._failures == 1 or fed_for < (1 - _LOOKS_AGAIN) * conduct.feed_lease
        if self._looking or self._stopping or not wanted:
            return ()
        self._looking = True
        every = self._pace.look_every(len(conduct.peers))
        return (LookBeside(every, self._pace.look_deadline, _MOST_LOOKS),)

    def _stop_looking(self) -> Commands:
        was, self._looking = self._looking, False
        return (StopLooking(),) if was else ()

    def _looked(self, news: LeaseNews, asked_at: float) -> Commands:
        """A clean look as any other. What it does not show is left to those that are waited for."""
        if not isinstance(news, Found):
            return ()
        if news.lease.condemns(self._who.node_uid, self._who.boot_id):
            return self._condemn_by(news.lease)
        return self._feed_from(asked_at) if news.lease.clean else ()

    # Peers.

    def _failed(self, now: float) -> Commands:
        """Of a write nobody knows whether it was applied: the next meets a conflict if it was, and reads."""
        self._failures += 1
        return (*self._look_beside(now), *self._try_otherwise(now))

    def _try_otherwise(self, now: float) -> Commands:
        """Again soon, a few times; then by peers. A new agent of an old outage asks them at once."""
        cut_off = self.out_of_reach(self._unslewed)
        if self._stopping or (self._failures < self._pace.failures and not cut_off):
            return self._rest(now, retry=True)
        peers = self._memory.conduct.peers
        self._rounds = PeerRounds(peers, now, self._healthy_wanted)
        if peers:
            return self._ask(self._rounds.open_first(self._turn()), now)
        if self._memory.contact is None:
            # Nobody knows yet that this boot has none: what an earlier one published may still be believed.
            return self._rest(now, retry=True)
        return self._judge(self._rounds, Verdict.UNDECIDABLE, now)

    def _heard(self, number: int, now: float, said: tuple[str, Answer] | None = None) -> Commands:
        """One who has looked ends the asking at once. All else waits for those who may still say more."""
        rounds = self._rounds
        if rounds is None or number != self._round:
            return ()
        if said is not None:
            rounds.note(*said)
        verdict = rounds.conclude()
        if said is not None and verdict is not Verdict.HEALTHY and not rounds.all_answered:
            return ()
        return self._judge(rounds, verdict, now)

    def _judge(self, rounds: PeerRounds, verdict: Verdict, now: float) -> Commands:
        match verdict:
            case Verdict.HEALTHY | Verdict.OUTAGE | Verdict.UNDECIDABLE:
                return (*self._stop_looking(), *self._feed_from(rounds.began), *self._rest(now))
            case Verdict.CONDEMNED:
                return self._condemn("peers have seen a marker on its Lease")
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
        """Another beginning each time, from the one chance that was given."""
        self._chance = (self._chance + 0.381966) % 1.0
        return self._chance

    # What follows.

    def _feed_from(self, looked_at: float) -> Commands:
        if self._who.boot_gate and self._memory.contact is None:
            # The first record ends what the feeder goes on by until then (`feeder/machine`). An agent whose
            # first renewal is lost with the API server must not end its node by that.
            return ()
        before, self._memory = self._memory, self._memory.feed_from(looked_at, self._who.longest_lease)
        if self._memory.fed_until == before.fed_until:
            return ()
        return (FeedUntil(self._memory.fed_until),)

    def _condemn_by(self, lease: AgentLease) -> Commands:
        drill = lease.marker is not None and lease.marker.drill
        return self._condemn("a drill's marker is on its Lease" if drill else _MARKED, at_once=not drill)

    def _condemn(self, why: str, *, at_once: bool = True) -> Commands:
        self._condemned = True
        return (Condemn(why, at_once),)

    def _rest(self, now: float, *, retry: bool = False) -> Commands:
        self._rounds = None
        pause = self._pace.retry if retry else self._pace.every
        return (Wait(now + (_AGAIN_AFTER if self._stopping else pause)),)

    @property
    def _pace(self) -> RenewalPace:
        return self._memory.conduct.pace
