"""The real agent in a simulated process: the actions of its I/O layer, with messages that can be lost."""

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from nodemend.agent import peer_responder
from nodemend.agent.certificates import NoCertificate
from nodemend.agent.heartbeat import (
    AskPeers,
    CreateLease,
    FeedUntil,
    FenceNow,
    Heartbeat,
    HeartbeatCommand,
    HeartbeatEvent,
    HeartbeatStarted,
    ParallelReadEnded,
    PeerAnswered,
    ReadLease,
    Remember,
    RenewLease,
    ResumeFeeding,
    RoundEnded,
    StartParallelRead,
    StopGracefully,
    StopParallelReads,
    StopRequested,
    WaitEnded,
    WaitUntil,
)
from nodemend.agent.heartbeat_loop import SPREAD
from nodemend.agent.state import ActiveTerms, AgentState
from nodemend.kube.outcome import LeaseFailed, LeaseFound, LeaseMissing
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.peers import CertificateTrust, PeerReply, evaluate_validity
from nodemend.records.agent_lease import AgentLease, AgentLeaseResult
from tests.simulation.self_fencing.fencing_cluster import BrokenError
from tests.simulation.self_fencing.node_certificate import as_date
from tests.simulation.self_fencing.time_line import Process

if TYPE_CHECKING:
    from tests.simulation.self_fencing.node import Node

_S = 1_000_000_000
_LATE = LeaseFailed("no answer in time")


class AgentProcess(Process):
    def __init__(self, node: "Node") -> None:
        super().__init__(node.world.line)
        self._node = node
        fed = node.lease_file.until / _S if isinstance(node.lease_file, FeedLease) else 0.0
        memory = node.memory or AgentState(active_terms=ActiveTerms(), fed_until=fed)
        wanted = node.healthy_wanted
        who = node.who
        self.node_uid = who.node_uid
        """UID of the Node for which it reports."""
        self._watch = Heartbeat(who, memory, chance=node.chance.random(), healthy_wanted=wanted)
        self._responder = peer_responder.PeerResponder()
        self._lives = 0
        """Counts stop requests. Replies to requests from before the stop are ignored."""
        self._looking: StartParallelRead | None = None
        self._reads_under_way = 0
        self._questions = count()
        self._replies: dict[int, Callable[[PeerReply], None]] = {}
        fence_requested = isinstance(node.lease_file, FeedLease) and node.lease_file.fence_requested
        if not fence_requested:
            self._tell(HeartbeatStarted())

    # Heartbeat.

    def _hear(self, event: HeartbeatEvent) -> None:
        if isinstance(event, (HeartbeatStarted, WaitEnded)):
            node, wall = self._node, self._node.wall
            bare = node.name in node.world.uncertified
            self._watch.learn_certificate(
                NoCertificate() if bare else node.papers.hold(wall), as_date(wall), node.clock.now()
            )
            self._watch.learn(node.who.watchdog, node.world.lease_length)
        now = self._node.clock.now()
        for command in self._watch.step(event, now, now):
            self._perform(command)

    def _tell(self, event: HeartbeatEvent, when: float = 0.0) -> None:
        """Deliver an event at this true time, unless the agent was requested to stop in between."""
        life = self._lives

        def hear() -> None:
            if self._lives == life:
                self._hear(event)

        self.do(hear, when)

    def _perform(self, command: HeartbeatCommand) -> None:
        node = self._node
        match command:
            case FeedUntil(until):
                if not (isinstance(node.lease_file, FeedLease) and node.lease_file.fence_requested):
                    node.lease_file = FeedLease(node.boot_id, int(until * _S))
            case FenceNow(why):
                self._fence_now(why)
            case Remember(memory):
                node.memory = memory
            case StopGracefully():
                node.stop_gracefully()
            case ResumeFeeding():
                node.permitted = False
            case ReadLease() | CreateLease() | RenewLease():
                self._request(command)
            case AskPeers():
                self._ask(command)
            case StartParallelRead() | StopParallelReads():
                self._looking = command if isinstance(command, StartParallelRead) else None
                self._start_parallel_read(self._looking)
            case WaitUntil(until):
                self._tell(WaitEnded(), node.clock.true(until))

    def stop(self) -> None:
        """Request a graceful stop, for which the agent has several seconds."""

        def stop_gracefully() -> None:
            self._lives += 1
            self._looking = None
            self._hear(StopRequested())

        self.do(stop_gracefully)

    def _fence_now(self, why: str) -> None:
        node = self._node
        node.world.tell(f"{node.name} is condemned: {why}")
        if node.boot_id not in node.world.marked_boots:
            raise BrokenError(f"I9: {node.boot_id} is condemned, and was never marked: {why}")
        node.world.counts["condemned"] += 1
        node.fence_requested_at = node.clock.now()
        node.lease_file = FeedLease(node.boot_id, 0, fence_requested=True)

    def _request(self, request: ReadLease | CreateLease | RenewLease) -> None:
        node, heard, life = self._node, [False], self._lives

        def hear(news: AgentLeaseResult) -> None:
            if not heard[0] and self._lives == life:
                heard[0] = True
                self._tell(news)

        store = node.world.store
        store.ask(node.name, lambda: store.serve(node.name, request), hear)
        self.do(lambda: hear(_LATE), node.clock.true(request.deadline))

    def _start_parallel_read(self, command: StartParallelRead | None) -> None:
        """Read its own Lease periodically beside the renewals, as agent/heartbeat_loop does."""
        if command is None or self._looking is not command:
            return
        node, now, life = self._node, self._node.clock.now(), self._lives
        wait = command.every * (1 + SPREAD * (node.chance.random() - 0.5))
        self.do(lambda: self._start_parallel_read(command), node.clock.true(now + wait))
        if self._reads_under_way >= command.most:
            return
        self._reads_under_way += 1
        ended = [False]

        def end(news: AgentLeaseResult) -> None:
            if ended[0]:
                return
            ended[0] = True
            self._reads_under_way -= 1
            if self._lives == life:
                self._tell(ParallelReadEnded(news, now))

        def hear(lease: AgentLease | None) -> None:
            end(LeaseMissing() if lease is None else LeaseFound(lease))

        store = node.world.store
        store.ask(node.name, lambda: store.read(node.name), hear)
        self.do(lambda: end(_LATE), node.clock.true(now + command.within))

    # Peers.

    def _ask(self, asked: AskPeers) -> None:
        node = self._node
        for peer in asked.peers:
            self._ask_one(asked.round, peer.name)
        self._tell(RoundEnded(asked.round), node.clock.true(asked.deadline))

    def _ask_one(self, number: int, peer: str) -> None:
        node, other = self._node, self._node.world.nodes[peer]
        if {node.name, peer} & node.world.uncertified:
            return
        question = peer_responder.StatusQuestion(0, node.name, node.uid, node.boot_id)

        def hear(answer: PeerReply) -> None:
            beliefs = (self.believes(other), other.agent.believes(node))
            if all(one.admits(answer) for one in beliefs):
                self._tell(PeerAnswered(number, peer, answer))

        def arrive() -> None:
            other.agent.asked(question, hear, node.name)

        node.world.network.send(node.name, peer, arrive)

    def believes(self, other: "Node") -> CertificateTrust:
        """Evaluate the other node's certificate by this node's wall clock."""
        shown, wall = other.papers.validity, as_date(self._node.wall).timestamp()
        return evaluate_validity(shown, (shown,), wall, self._watch.trusted_at)

    def asked(
        self, question: peer_responder.StatusQuestion, hear: Callable[[PeerReply], None], asker: str
    ) -> None:
        """Receive a question of a peer that has just arrived at this machine."""
        network, name = self._node.world.network, self._node.name

        def reply(answer: PeerReply) -> None:
            network.send(name, asker, lambda: hear(answer))

        def take() -> None:
            number = next(self._questions)
            self._replies[number] = reply
            mine = peer_responder.StatusQuestion(number, question.node, question.node_uid, question.boot_id)
            self._serve(self._responder.ask(mine, self._node.clock.now()))

        if self._node.up:
            self.do(take)

    def _serve(self, commands: list[peer_responder.Command]) -> None:
        for command in commands:
            match command:
                case peer_responder.SendAnswer(number, answer):
                    reply = self._replies.pop(number)
                    lie = self._node.lie()
                    if (lie or answer) is not PeerReply.SILENT:
                        reply(lie or answer)
                case peer_responder.ReadPeerLease(name, deadline):
                    self._read_lease_of(name, deadline)

    def _looked(self, name: str, news: AgentLeaseResult) -> None:
        now = self._node.clock.now()
        self._serve(self._responder.looked(name, news, now, out_of_reach=self._watch.out_of_reach(now)))

    def _read_lease_of(self, name: str, deadline: float) -> None:
        node, heard = self._node, [False]

        def hear(news: AgentLeaseResult) -> None:
            if not heard[0]:
                heard[0] = True
                self.do(lambda: self._looked(name, news))

        def read(lease: AgentLease | None) -> None:
            hear(LeaseMissing() if lease is None else LeaseFound(lease))

        store = node.world.store
        store.ask(node.name, lambda: store.read(name), read)
        self.do(lambda: hear(_LATE), node.clock.true(deadline))
