"""All facts about one SelfRemediation, read fresh."""

from dataclasses import dataclass

from nodemend.api.lease import Lease
from nodemend.api.node import Node
from nodemend.api.self_remediation import Phase, SelfRemediation
from nodemend.controllers.fresh_reads import Reader, node_facts, project, value_of
from nodemend.controllers.recent import Recent
from nodemend.controllers.remediating.grounds import grounds_of
from nodemend.controllers.remediating.locks import held_by, is_ours, read_lock
from nodemend.controllers.remediating.node_names import named_node
from nodemend.controllers.remediating.surroundings import NOT_ASKED, Surroundings, void_mark
from nodemend.controllers.remediating.switch_guard import Question, SwitchGuard
from nodemend.controllers.self_remediation.agent_looks import AgentLooks
from nodemend.controllers.sightings import Sightings
from nodemend.decide.agent_facts import AgentFacts
from nodemend.decide.facts import Absent, LeaseFacts, PolicyFacts, Present, Seen
from nodemend.decide.proven_seconds import Look
from nodemend.decide.remediation_life import Tenure
from nodemend.decide.self_remediation_facts import SelfFacts
from nodemend.decide.switch_guard import SwitchFacts


@dataclass(frozen=True, slots=True)
class Gathered:
    """The facts, and the objects whose versions the writes will name."""

    facts: SelfFacts
    node: Node | None
    lock: Lease | None
    counted_until: float
    """By the slower of our clocks."""


class Gatherer:
    """Reads the Node first: whatever happens to it after that voids what the later reads allow.

    Of the agents' Leases it reads the node's own before its peers': what these say is from after the marker
    was seen.
    """

    def __init__(
        self, reader: Reader, around: Surroundings, switch: SwitchGuard, system_namespace: str
    ) -> None:
        self._reader = reader
        self._switch = switch
        self._namespace = system_namespace
        self._around = around
        self._agents = AgentLooks(reader)
        self._markers = Sightings()
        self._since: Recent[str, tuple[str, float]] = Recent()
        """By remediation: a version of it, and up to when everything is counted that stands in it."""

    async def gather(self, remediation: SelfRemediation, tenure: Tenure) -> Gathered:
        metadata, status = remediation.metadata, remediation.status
        since = self._counted_until(remediation)
        node = await named_node(self._reader, metadata, status.node_name)
        name = _name_of(node, remediation)
        lock = await read_lock(self._reader, self._namespace, status.node_uid)
        undecided = not status.released and not metadata.deleting
        asked_at = self._agents.moment().most
        agent = await self._agents.at_node(name) if name else Absent()
        looks = await self._peers(remediation, agent, asked_at)
        now = self._agents.moment()
        lease = await self._around.kubelet_lease(name) if name else NOT_ASKED
        held = await held_by(self._reader, lock, metadata)
        policy = await self._reader.policy() if undecided else NOT_ASKED
        facts = SelfFacts(
            remediation=remediation,
            epoch=tenure.epoch,
            remembers_from=tenure.remembers_from,
            node=project(node, node_facts),
            void_mark=void_mark(node),
            lease=lease,
            lock=held,
            policy=policy,
            switch=await self._ask_switch(remediation, node, agent, lease, policy)
            if is_ours(held)
            else NOT_ASKED,
            left=await self._around.left(node),
            agent=agent,
            looks=looks,
            passed=now.least - since,
            now=now.most,
        )
        return Gathered(facts, value_of(node), value_of(lock), now.least)

    def counted(self, gathered: Gathered, version: str) -> None:
        """We wrote this version, with everything counted up to those reads: it goes on from there."""
        self._since.keep(gathered.facts.uid, (version, gathered.counted_until))

    def _counted_until(self, remediation: SelfRemediation) -> float:
        """What others wrote was counted at the latest when we first held it: it was read just before."""
        metadata, now = remediation.metadata, self._agents.moment().least
        known = self._since.find(metadata.uid)
        if known is None or known[0] != metadata.resource_version:
            known = (metadata.resource_version, now)
        self._since.keep(metadata.uid, known)
        return known[1]

    async def _ask_switch(
        self,
        remediation: SelfRemediation,
        node: Seen[Node],
        agent: Seen[AgentFacts],
        lease: Seen[LeaseFacts],
        policy: Seen[PolicyFacts],
    ) -> Seen[SwitchFacts]:
        """Asked only as long as its marker might still be placed."""
        metadata, status = remediation.metadata, remediation.status
        marked = isinstance(agent, Present) and agent.value.marked_for(metadata.uid, status.boot_id)
        if marked or status.evidence is not None or metadata.deleting or not isinstance(node, Present):
            return NOT_ASKED
        question = Question(
            uid=metadata.uid,
            name=node.value.metadata.name,
            node=node.value,
            lease=lease,
            policy=policy,
            grounds=await grounds_of(self._reader, metadata, node.value, drills=True),
            begun=status.phase is not Phase.PENDING,
            members=self._around.control_plane,
        )
        return await self._switch.ask(question)

    async def _peers(
        self, remediation: SelfRemediation, agent: Seen[AgentFacts], asked_at: float
    ) -> dict[str, Look]:
        """Asked only where their time counts: under our marker, before there is evidence."""
        status = remediation.status
        if status.evidence is not None or not isinstance(agent, Present):
            return {}
        found = agent.value
        if found.report is None or not found.marked_for(remediation.metadata.uid, status.boot_id):
            return {}
        names = {name for names in found.report.peers for name in names}
        now = self._agents.moment().most
        marked_for = self._markers.unchanged_for(
            remediation.metadata.uid, found.marker, asked_at=asked_at, answered_at=now
        )
        return await self._agents.at_peers(tuple(sorted(names)), since=now - marked_for)


def _name_of(node: Seen[Node], remediation: SelfRemediation) -> str:
    """Of the node, there or gone; empty while it has never been known."""
    return node.value.metadata.name if isinstance(node, Present) else remediation.status.node_name
