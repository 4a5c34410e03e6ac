"""All facts about one SelfRemediation, read fresh."""

from dataclasses import dataclass
from typing import Final

from nodemend.api.lease import Lease
from nodemend.api.node import Node
from nodemend.api.self_remediation import Phase, SelfRemediation
from nodemend.controllers.fresh_reads import Reader, node_facts, project, value_of
from nodemend.controllers.remediating.locks import held_by, read_lock
from nodemend.controllers.remediating.node_names import named_node
from nodemend.controllers.remediating.surroundings import NOT_ASKED, Surroundings, void_mark
from nodemend.controllers.self_remediation.agent_looks import AgentLooks
from nodemend.decide.agent_facts import AgentFacts
from nodemend.decide.facts import Absent, Present, Seen
from nodemend.decide.guard_facts import ControlPlane
from nodemend.decide.proven_seconds import Look
from nodemend.decide.self_remediation_facts import SelfFacts

_MOST_REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Gathered:
    """The facts, and the objects whose versions the writes will name."""

    facts: SelfFacts
    node: Node | None
    lock: Lease | None


class Gatherer:
    """Reads the Node first: whatever happens to it after that voids what the later reads allow.

    Of the agents' Leases it reads the node's own before its peers': what these say then is from after the
    marker was seen.
    """

    def __init__(self, reader: Reader, around: Surroundings, system_namespace: str) -> None:
        self._reader = reader
        self._namespace = system_namespace
        self._around = around
        self._agents = AgentLooks(reader)
        self._since: dict[str, tuple[str, float]] = {}
        """By remediation: a version of it, and up to when everything is counted that stands in it."""

    async def gather(self, remediation: SelfRemediation, epoch: int) -> Gathered:
        metadata, status = remediation.metadata, remediation.status
        since = self._counted_until(remediation)
        node = await named_node(self._reader, metadata, status.node_name)
        name = _name_of(node, remediation)
        lock = await read_lock(self._reader, self._namespace, status.node_uid)
        undecided = not status.released and not metadata.deleting
        agent = await self._agents.at_node(name) if name else Absent()
        looks = await self._peers(remediation, agent)
        now = self._reader.runtime.monotonic()
        facts = SelfFacts(
            remediation=remediation,
            epoch=epoch,
            node=project(node, node_facts),
            void_mark=void_mark(node),
            lease=await self._around.kubelet_lease(name) if name else NOT_ASKED,
            lock=await held_by(self._reader, lock, metadata),
            policy=await self._reader.policy() if undecided else NOT_ASKED,
            others=await self._others(remediation),
            control_plane=await self._control_plane(node, agent, remediation),
            left=await self._around.left(node),
            agent=agent,
            looks=looks,
            passed=now - since,
            now=now,
        )
        return Gathered(facts, value_of(node), value_of(lock))

    def counted(self, facts: SelfFacts, version: str) -> None:
        """We wrote this version, with everything counted up to those reads: it goes on from there."""
        self._since[facts.uid] = (version, facts.now)

    def _counted_until(self, remediation: SelfRemediation) -> float:
        """What others wrote was counted at the latest when we first held it: it was read just before."""
        metadata, now = remediation.metadata, self._reader.runtime.monotonic()
        known = self._since.pop(metadata.uid, None)
        if known is None or known[0] != metadata.resource_version:
            known = (metadata.resource_version, now)
        # Popped and put back, so that the order of the dict is that of the last look.
        self._since[metadata.uid] = known
        if len(self._since) > _MOST_REMEMBERED:
            del self._since[next(iter(self._since))]
        return known[1]

    async def _others(self, remediation: SelfRemediation) -> Seen[int]:
        """Asked only before it begins."""
        if remediation.status.phase is not Phase.PENDING:
            return NOT_ASKED
        return await self._around.others(remediation.metadata.uid)

    async def _control_plane(
        self, node: Seen[Node], agent: Seen[AgentFacts], remediation: SelfRemediation
    ) -> Seen[ControlPlane]:
        """Asked only as long as its marker might still be placed."""
        status = remediation.status
        marked = isinstance(agent, Present) and agent.value.marked_for(
            remediation.metadata.uid, status.boot_id
        )
        if marked or status.evidence is not None or not isinstance(node, Present):
            return Absent()
        return await self._around.control_plane(node.value)

    async def _peers(self, remediation: SelfRemediation, agent: Seen[AgentFacts]) -> dict[str, Look]:
        """Asked only where their time counts: under our marker, before there is evidence."""
        status = remediation.status
        if status.evidence is not None or not isinstance(agent, Present):
            return {}
        found = agent.value
        if found.report is None or not found.marked_for(remediation.metadata.uid, status.boot_id):
            return {}
        names = {name for names in found.report.peers for name in names}
        return await self._agents.at_peers(tuple(sorted(names)))


def _name_of(node: Seen[Node], remediation: SelfRemediation) -> str:
    """Of the node, there or gone; empty while it has never been known."""
    return node.value.metadata.name if isinstance(node, Present) else remediation.status.node_name
