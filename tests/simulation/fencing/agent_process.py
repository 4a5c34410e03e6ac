"""The shipped agent in a simulated process: what its shell does, with messages that can be lost."""

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from nodemend.agent import peer_desk as desk
from nodemend.agent.certificate import NotHeld
from nodemend.agent.looks_beside import SPREAD
from nodemend.agent.memory import Memory
from nodemend.agent.published import Conduct
from nodemend.agent.self_watch import SelfWatch
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
from nodemend.decide.certificate_belief import Belief, judge_validity
from nodemend.decide.feed_lease import FeedLease
from nodemend.decide.peer_verdict import Answer
from nodemend.kube.agent_lease import AgentLease, Failed, Found, LeaseNews, Missing
from tests.simulation.fencing.papers import as_date
from tests.simulation.fencing.surroundings import BrokenError
from tests.simulation.fencing.time_line import Process

if TYPE_CHECKING:
    from tests.simulation.fencing.node import Node

_S = 1_000_000_000
_LATE = Failed("no answer in time")


class AgentProcess(Process):
    def __init__(self, node: "Node") -> None:
        super().__init__(node.world.line)
        self._node = node
        fed = node.lease_file.until / _S if isinstance(node.lease_file, FeedLease) else 0.0
        memory = node.memory or Memory(conduct=Conduct(), fed_until=fed)
        wanted = node.healthy_wanted
        who = node.who
        self.node_uid = who.node_uid
        """Of the Node for which it reports."""
        self._watch = SelfWatch(who, memory, chance=node.chance.random(), healthy_wanted=wanted)
        self._desk = desk.PeerDesk(now=node.clock.now())
        self._lives = 0
        """Told to stop, it begins another: answers that were meant for the first are not heard."""
        self._looking: LookBeside | None = None
        self._looks_under_way = 0
        self._questions = count()
        self._replies: dict[int, Callable[[Answer], None]] = {}
        condemned = isinstance(node.lease_file, FeedLease) and node.lease_file.condemned
        if not condemned:
            self._tell(Begun())

    # Its own watch.

    def _hear(self, event: Event) -> None:
        if isinstance(event, (Begun, Waited)):
            node, wall = self._node, self._node.wall
            bare = node.name in node.world.uncertified
            self._watch.learn_certificate(
                NotHeld() if bare else node.papers.hold(wall), as_date(wall), node.clock.now()
            )
            self._watch.learn(node.who.watchdog, node.world.lease_length)
        now = self._node.clock.now()
        for command in self._watch.step(event, now, now):
            self._perform(command)

    def _tell(self, event: Event, when: float = 0.0) -> None:
        """At that true time, if it still lives the same life."""
        life = self._lives

        def hear() -> None:
            if self._lives == life:
                self._hear(event)

        self.do(hear, when)

    def _perform(self, command: Command) -> None:
        node = self._node
        match command:
            case FeedUntil(until):
                if not (isinstance(node.lease_file, FeedLease) and node.lease_file.condemned):
                    node.lease_file = FeedLease(node.boot_id, int(until * _S))
            case Condemn(why):
                self._condemn(why)
            case Remember(memory):
                node.memory = memory
            case StandDown():
                node.stand_down()
            case StandUp():
                node.permitted = False
            case ReadLease() | PlaceLease() | RenewLease():
                self._request(command)
            case AskPeers():
                self._ask(command)
            case LookBeside() | StopLooking():
                self._looking = command if isinstance(command, LookBeside) else None
                self._look_beside(self._looking)
            case Wait(until):
                self._tell(Waited(), node.clock.true(until))

    def stop(self) -> None:
        """It is told to, and has some seconds for it."""

        def stand_down() -> None:
            self._lives += 1
            self._looking = None
            self._hear(StopAsked())

        self.do(stand_down)

    def _condemn(self, why: str) -> None:
        node = self._node
        node.world.tell(f"{node.name} is condemned: {why}")
        if node.boot_id not in node.world.marked_boots:
            raise BrokenError(f"I9: {node.boot_id} is condemned, and was never marked: {why}")
        node.world.counts["condemned"] += 1
        node.condemned_at = node.clock.now()
        node.lease_file = FeedLease(node.boot_id, 0, condemned=True)

    def _request(self, request: ReadLease | PlaceLease | RenewLease) -> None:
        node, heard, life = self._node, [False], self._lives

        def hear(news: LeaseNews) -> None:
            if not heard[0] and self._lives == life:
                heard[0] = True
                self._tell(news)

        store = node.world.store
        store.ask(node.name, lambda: store.serve(node.name, request), hear)
        self.do(lambda: hear(_LATE), node.clock.true(request.deadline))

    def _look_beside(self, command: LookBeside | None) -> None:
        """As agent/looks_beside has it."""
        if command is None or self._looking is not command:
            return
        node, now, life = self._node, self._node.clock.now(), self._lives
        wait = command.every * (1 + SPREAD * (node.chance.random() - 0.5))
        self.do(lambda: self._look_beside(command), node.clock.true(now + wait))
        if self._looks_under_way >= command.most:
            return
        self._looks_under_way += 1
        ended = [False]

        def end(news: LeaseNews) -> None:
            if ended[0]:
                return
            ended[0] = True
            self._looks_under_way -= 1
            if self._lives == life:
                self._tell(Looked(news, now))

        def hear(lease: AgentLease | None) -> None:
            end(Missing() if lease is None else Found(lease))

        store = node.world.store
        store.ask(node.name, lambda: store.read(node.name), hear)
        self.do(lambda: end(_LATE), node.clock.true(now + command.within))

    # Peers.

    def _ask(self, asked: AskPeers) -> None:
        node = self._node
        for peer in asked.peers:
            self._ask_one(asked.round, peer.name)
        self._tell(RoundOver(asked.round), node.clock.true(asked.deadline))

    def _ask_one(self, number: int, peer: str) -> None:
        node, other = self._node, self._node.world.nodes[peer]
        if {node.name, peer} & node.world.uncertified:
            return
        question = desk.Question(0, node.name, node.uid, node.boot_id)

        def hear(answer: Answer) -> None:
            beliefs = (self.believes(other), other.agent.believes(node))
            if all(one.admits(answer) for one in beliefs):
                self._tell(PeerSaid(number, peer, answer))

        def arrive() -> None:
            other.agent.asked(question, hear, node.name)

        node.world.network.send(node.name, peer, arrive)

    def believes(self, other: "Node") -> Belief:
        """What the other's certificate is worth here."""
        shown, wall = other.papers.validity, as_date(self._node.wall).timestamp()
        return judge_validity(shown, (shown,), wall, self._watch.trusted_at)

    def asked(self, question: desk.Question, hear: Callable[[Answer], None], asker: str) -> None:
        """By a peer, whose question has just arrived at this machine."""
        network, name = self._node.world.network, self._node.name

        def reply(answer: Answer) -> None:
            network.send(name, asker, lambda: hear(answer))

        def take() -> None:
            number = next(self._questions)
            self._replies[number] = reply
            mine = desk.Question(number, question.node, question.node_uid, question.boot_id)
            self._serve(self._desk.ask(mine, self._node.clock.now()))

        if self._node.up:
            self.do(take)

    def _serve(self, commands: list[desk.Command]) -> None:
        for command in commands:
            match command:
                case desk.Say(number, answer):
                    reply = self._replies.pop(number)
                    lie = self._node.lie()
                    if (lie or answer) is not Answer.SILENT:
                        reply(lie or answer)
                case desk.LookAt(name, deadline):
                    self._look_at(name, deadline)

    def _looked(self, name: str, news: LeaseNews) -> None:
        now = self._node.clock.now()
        self._serve(self._desk.looked(name, news, now, out_of_reach=self._watch.out_of_reach(now)))

    def _look_at(self, name: str, deadline: float) -> None:
        node, heard = self._node, [False]

        def hear(news: LeaseNews) -> None:
            if not heard[0]:
                heard[0] = True
                self.do(lambda: self._looked(name, news))

        def read(lease: AgentLease | None) -> None:
            hear(Missing() if lease is None else Found(lease))

        store = node.world.store
        store.ask(node.name, lambda: store.read(name), read)
        self.do(lambda: hear(_LATE), node.clock.true(deadline))
