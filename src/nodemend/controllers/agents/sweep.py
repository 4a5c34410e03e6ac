"""Goes through all agents every now and then: proposes peers, and takes off markers that nobody wants."""

from collections.abc import Callable
from typing import Final

from nodemend.api.agent_lease import UNSUPPORTED, PeerProposal
from nodemend.api.conditions import ConditionStatus
from nodemend.controllers.agents.roll import ZONE, Enrolled, Roll, agent_seen
from nodemend.controllers.fresh_reads import Reader, node_facts
from nodemend.controllers.sightings import Sightings
from nodemend.decide.admission_policies import is_pinned
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.decide.peer_proposals import AgentSeen, propose_peers
from nodemend.decide.remediation_life import OUR_TAINT
from nodemend.decide.renewal_pace import pace_for
from nodemend.kube.agent_lease import revision_of, write_marker, write_proposal
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Reason, Refused, WriteOutcome
from nodemend.kube.api_request import Request
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.object_cache import ObjectCache
from nodemend.kube.ports import Runtime

SWEEP_EVERY: Final = 20.0
LONGEST: Final = 600.0
SECONDS_A_NODE: Final = 0.01
"""Of pause between two sweeps: a large cluster is gone through less often, and costs the same."""
PROPOSES_FOR: Final = 300.0
"""Seconds in one sweep. What is left then the next one finds, on fresher grounds."""
LEFT_BY_SWEEPS: Final = 50
"""Of the requests that we may make at once, those that sweeps leave to remediations."""
WRITE_WITHIN: Final = 30.0
"""Seconds, with the wait for a turn."""
SILENT_AFTER: Final = 60.0
ORPHANED_FOR: Final = 60.0
"""Seconds. A release write of a remediation that is gone may be applied for so long after it was sent."""
_RENEWALS_MISSED: Final = 4
_BREATHE_EVERY: Final = 50


class AgentSweep:
    """Serves one leadership. `client` must refuse writes once that is over.

    What cannot be read or written now is looked at again the next time: a late proposal costs nothing.
    """

    def __init__(
        self,
        client: ApiClient,
        runtime: Runtime,
        nodes: ObjectCache[NodeRecord],
        reports_from: Callable[[], int | None] = lambda: 0,
        agents_seen: Callable[[int, int], None] = lambda _reporting, _silent: None,
    ) -> None:
        """`reports_from` is as for a Reader: a Lease that is not its node's own word is left as it is.

        `agents_seen` is told how many agents report, and how many are silent though their nodes are Ready.
        """
        self._nodes = nodes
        self._agents_seen = agents_seen
        self._runtime = runtime
        self._reports_from = reports_from
        self._client = client.leaving(LEFT_BY_SWEEPS, queues=True)
        self._reader = Reader(self._client, runtime)
        self._roll = Roll(self._reader, nodes)
        self._heard: dict[str, tuple[tuple[str, int], float]] = {}
        """By node: what its agent last said, and since when it has said nothing else."""
        self._orphans = Sightings()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._runtime.sleep(await self.sweep())

    async def sweep(self) -> float:
        """Seconds until the next."""
        read_at = self._runtime.monotonic()
        enrolled = await self._roll.leases()
        if enrolled is None:
            return SWEEP_EVERY
        since = self._reports_from()
        enrolled = [one for one in enrolled if is_pinned(revision_of(one.known.version), since)]
        await self._take_off_orphans(enrolled)
        finished = await self._propose_all(enrolled, read_at)
        return min(LONGEST, max(SWEEP_EVERY, len(enrolled) * SECONDS_A_NODE)) if finished else SWEEP_EVERY

    async def _propose_all(self, enrolled: list[Enrolled], read_at: float) -> bool:
        """Whether everybody came to their turn."""
        agents = await self._agents(enrolled)
        if agents is None:
            return False
        by_name = {one.node: one for one in enrolled}
        for number, (agent, proposal) in enumerate(propose_peers(agents)):
            age = self._runtime.monotonic() - read_at
            if age > PROPOSES_FOR:
                return False
            await self._propose(by_name[agent.peer.name], proposal, outdated=age > proposal.every)
            if number % _BREATHE_EVERY == 0:
                await self._runtime.sleep(0.0)
        return True

    async def _propose(self, one: Enrolled, proposal: PeerProposal, *, outdated: bool) -> None:
        """On the version that was listed, or on a fresh one: agents renew all the time.

        One whose renewals keep step with our sweeps would never be written to otherwise.
        """
        if not outdated:
            written = await self._write(write_proposal(one.node, one.known, proposal))
            outdated = isinstance(written, Refused) and written.reason is Reason.CONFLICT
        if not outdated:
            return
        now = await self._roll.lease(one.node)
        if now is not None and now.marker is None and now.node_uid == one.node_uid:
            await self._write(write_proposal(now.node, now.known, proposal))

    async def _agents(self, enrolled: list[Enrolled]) -> list[AgentSeen] | None:
        """None where it cannot be told now who they are."""
        policy = await self._reader.policy()
        domains = policy.value.domains if isinstance(policy, Present) else None
        names = [one.node for one in enrolled]
        nodes = await self._roll.nodes(names, domains.key if domains else ZONE)
        if nodes is None:
            return None
        patience = max(SILENT_AFTER, _RENEWALS_MISSED * pace_for(len(enrolled)).every)
        silent = self._silent(enrolled, patience)
        here = [one for one in enrolled if one.node in nodes and one.report is not None]
        amiss = sum(one.node in silent and _is_missed(one) and self._is_ready(one.node) for one in here)
        self._agents_seen(sum(one.node not in silent for one in here), amiss)
        found = (agent_seen(one, nodes.get(one.node), silent=one.node in silent) for one in enrolled)
        return [one for one in found if one is not None]

    def _silent(self, enrolled: list[Enrolled], patience: float) -> set[str]:
        """By our own clock and eyes: an agent's may be wrong."""
        now, heard = self._runtime.monotonic(), {}
        for one in enrolled:
            if one.report is not None:
                says = (one.report.boot_id, one.report.sequence)
                before = self._heard.get(one.node)
                heard[one.node] = before if before is not None and before[0] == says else (says, now)
        self._heard = heard
        return {node for node, (_, since) in heard.items() if now - since >= patience}

    def _is_ready(self, name: str) -> bool:
        """A node that is not may be down, and its agent with it."""
        node = self._nodes.get(name)
        ready = node.condition("Ready") if node is not None else None
        return ready is not None and ready.status == ConditionStatus.TRUE

    async def _take_off_orphans(self, enrolled: list[Enrolled]) -> None:
        """A marker that was written late outlives its remediation, and would keep a gate closed for ever.

        The remediations are read after the Leases: whoever wrote a marker was there before it.
        """
        marked = [one for one in enrolled if one.marker is not None]
        if not marked:
            return
        living = await self._roll.remediations()
        if living is None:
            return
        for one in marked:
            if one.marker is None or one.marker.remediation_uid in living:
                continue
            now = self._runtime.monotonic()
            unwanted_for = self._orphans.unchanged_for(one.node, one.marker, asked_at=now, answered_at=now)
            if unwanted_for >= ORPHANED_FOR and await self._is_untainted(one.node):
                await self._write(write_marker(one.node, one.known, None))

    async def _is_untainted(self, name: str) -> bool:
        """Whether the Node certainly lacks our out-of-service taint.

        Under that taint its pods are removed by force: the boot gate must stay closed until it is gone.
        """
        match await self._reader.node(name):
            case Present(node):
                return OUR_TAINT not in node_facts(node).taints
            case Absent():
                return True
            case Unreadable():
                return False

    async def _write(self, request: Request) -> WriteOutcome[Acknowledged]:
        deadline = self._runtime.monotonic() + WRITE_WITHIN
        return await self._client.write(request, Acknowledged, deadline=deadline)


def _is_missed(one: Enrolled) -> bool:
    """Nothing rests on an agent that said that nothing resets its node, as each does that is stopped."""
    return one.report is not None and one.report.watchdog.class_ != UNSUPPORTED
