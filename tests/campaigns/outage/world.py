"""A cluster of the simulated nodes of tests/simulation/self_fencing, without a remediator: no node is marked.

The shipped rules propose peers, certificates are renewed while the API server answers, and a brown-out loses
or delays a share of all requests to it. Every reset here is an error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from nodemend.api.agent import AgentReport, PeerProposal
from nodemend.protocol.peers import Peer, PeerCandidate, propose_peers
from nodemend.protocol.timing import RENEWED_AFTER
from nodemend.records.agent_lease import AgentLease
from tests.simulation.self_fencing.fencing_cluster import FencingCluster
from tests.simulation.self_fencing.lease_store import LeaseStore
from tests.simulation.self_fencing.network import API, Network
from tests.simulation.self_fencing.node import Node
from tests.simulation.self_fencing.node_certificate import LIFE, Papers
from tests.simulation.self_fencing.time_line import Process, TimeLine

T = TypeVar("T")
RESTARTED: Final = "somebody restarts it"
PROPOSED_EVERY: Final = 15.0
SILENT_AFTER: Final = 60.0
SETTLED: Final = 300.0
"""Seconds until every node has booted, has an agent, and its peers."""
CERTIFICATES_EVERY: Final = 60.0
SLOWEST: Final = 15.0
"""The longest delay of a slow reply, in seconds."""


@dataclass(slots=True)
class FailingStore(LeaseStore):
    """`failing` is the share of requests that are lost, or whose replies are lost or late."""

    failing: float = 0.0

    def ask(
        self, who: str, what: Callable[[], T], hear: Callable[[T], None], reader: Process | None = None
    ) -> None:
        network = self.network
        chance = network.chance

        def arrive() -> None:
            if self.down:
                return
            fate = chance.choice(("lost", "unanswered", "late")) if chance.random() < self.failing else ""
            if fate == "lost":
                return
            found = what()
            if fate == "unanswered":
                return
            wait = chance.uniform(3.0, SLOWEST) if fate else 0.0
            network.line.after(wait, lambda: network.send(API, who, lambda: hear(found), reader))

        network.send(who, API, arrive)


class OutageNode(Node):
    """Distinguishes resets from restarts by its admin, or by a power failure."""

    def reset(self, why: str) -> None:
        if self.up:
            self.world.counts["restarted" if why == RESTARTED else "reset for nothing"] += 1
        super().reset(why)


class Cluster:
    def __init__(self, seed: str, nodes: int, *, ride_through: float = 0.0, sites: int = 1) -> None:
        chance = Random(seed)
        line = TimeLine()
        network = Network(line, chance)
        self.store = FailingStore(network)
        self.world = FencingCluster(
            line,
            network,
            self.store,
            chance,
            byzantine_peers=1,
            ride_through=ride_through,
            lease_length=35.0 + ride_through,
        )
        self.sites = {f"n{number:02}": f"site-{number % sites}" for number in range(nodes)}
        self.line, self.chance = line, chance
        self._heard: dict[str, tuple[int, float]] = {}
        """The number of each agent's last renewal, and the time of its first observation."""
        for number in range(nodes):
            name = f"n{number:02}"
            node = self.world.nodes[name] = OutageNode(name, self.world, chance, byzantine_peer=False)
            node.stubborn = False
        self._propose()
        self._renew_certificates()
        line.run(SETTLED)

    @property
    def nodes(self) -> dict[str, Node]:
        return self.world.nodes

    @property
    def may_restart(self) -> int:
        """The number of nodes that may be away in an outage so that the others keep a majority of peers."""
        peers = min(15, len(self.nodes) - 1)
        return peers - (peers // 2 + 1)

    @property
    def resets(self) -> int:
        """The number of resets; each is an error."""
        return self.world.counts["reset for nothing"]

    def restart_node(self, name: str) -> None:
        """Restart by its admin, or by a power failure."""
        self.nodes[name].reset(RESTARTED)

    def cut_site(self, site: str) -> set[tuple[str, str]]:
        """Cut its uplink: its nodes reach only one another. Returns the cut links."""
        inside = {name for name, where in self.sites.items() if where == site}
        outside = {API, *self.nodes} - inside
        links = {(one, other) for one in inside for other in outside}
        links |= {(other, one) for one, other in links}
        self.world.network.cut |= links
        return links

    def run(self, seconds: float) -> None:
        self.line.run(self.line.now + seconds)

    def _propose(self) -> None:
        self.line.after(PROPOSED_EVERY, self._propose)
        if self.store.down:
            return
        agents = [self._see(name, lease) for name, lease in self.store.leases.items()]
        for one, wanted in list(propose_peers(agents)):
            self.store.propose(one.peer.name, self.store.leases[one.peer.name], wanted)

    def _see(self, name: str, lease: AgentLease) -> PeerCandidate:
        report = lease.report if isinstance(lease.report, AgentReport) else None
        sequence, address = (report.sequence, report.address) if report else (0, "")
        if self._heard.get(name, (0, 0.0))[0] != sequence:
            self._heard[name] = (sequence, self.line.now)
        return PeerCandidate(
            Peer(name, name, address, self.sites[name]),
            lease.proposal if isinstance(lease.proposal, PeerProposal) else None,
            silent=self.line.now - self._heard.get(name, (0, 0.0))[1] > SILENT_AFTER,
            marked=False,
            gated=report is not None and report.acknowledged == 0,
        )

    def _renew_certificates(self) -> None:
        """As agents request them: in the first quarter of a lifetime, if API server and signer answer."""
        self.line.after(CERTIFICATES_EVERY, self._renew_certificates)
        if self.store.down:
            return
        for node in self.nodes.values():
            age, wall = self.line.now - node.papers.begins, node.wall
            over = not node.papers.are_accepted(wall)
            if over or age > LIFE * RENEWED_AFTER * self.chance.uniform(0.6, 1.0):
                # By the signer's clock, which is correct.
                node.papers = Papers(self.line.now - 60.0, self.line.now - 60.0 + LIFE)
