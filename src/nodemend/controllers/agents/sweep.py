"""Goes through all agents every now and then: proposes peers, and takes off markers that nobody wants."""

from typing import Final

from nodemend.controllers.agents.roll import ZONE, Enrolled, Roll, agent_seen
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader
from nodemend.decide.facts import Present
from nodemend.decide.peer_proposals import AgentSeen, propose_peers
from nodemend.decide.renewal_pace import pace_for
from nodemend.kube.agent_lease import write_marker, write_proposal
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged
from nodemend.kube.api_request import Request

SWEEP_EVERY: Final = 20.0
LONGEST: Final = 600.0
SECONDS_A_NODE: Final = 0.01
"""Of pause between two sweeps: a large cluster is gone through less often, and costs the same."""
SILENT_AFTER: Final = 60.0
_RENEWALS_MISSED: Final = 4
_BREATHE_EVERY: Final = 50


class AgentSweep:
    """Serves one leadership. `client` must refuse writes once that is over.

    What cannot be read or written now is looked at again the next time: a late proposal costs nothing.
    """

    def __init__(self, reader: Reader, client: ApiClient) -> None:
        self._reader = reader
        self._client = client
        self._roll = Roll(reader)
        self._heard: dict[str, tuple[tuple[str, int], float]] = {}
        """By node: what its agent last said, and since when it has said nothing else."""

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            seen = await self.sweep()
            await self._reader.runtime.sleep(min(LONGEST, max(SWEEP_EVERY, seen * SECONDS_A_NODE)))

    async def sweep(self) -> int:
        """How many agents there are."""
        enrolled = await self._roll.leases()
        if enrolled is None:
            return 0
        await self._take_off_orphans(enrolled)
        agents = await self._agents(enrolled)
        by_name = {one.node: one for one in enrolled}
        for number, (agent, proposal) in enumerate(propose_peers(agents)):
            known = by_name[agent.peer.name]
            await self._write(write_proposal(known.node, known.known, proposal))
            if number % _BREATHE_EVERY == 0:
                await self._reader.runtime.sleep(0.0)
        return len(enrolled)

    async def _agents(self, enrolled: list[Enrolled]) -> list[AgentSeen]:
        policy = await self._reader.policy()
        domains = policy.value.domains if isinstance(policy, Present) else None
        nodes = await self._roll.nodes(domains.key if domains else ZONE)
        if nodes is None:
            return []
        patience = max(SILENT_AFTER, _RENEWALS_MISSED * pace_for(len(enrolled)).every)
        silent = self._silent(enrolled, patience)
        found = (agent_seen(one, nodes.get(one.node), silent=one.node in silent) for one in enrolled)
        return [one for one in found if one is not None]

    def _silent(self, enrolled: list[Enrolled], patience: float) -> set[str]:
        """By our own clock and eyes: an agent's may be wrong."""
        now, heard = self._reader.runtime.monotonic(), {}
        for one in enrolled:
            if one.report is not None:
                says = (one.report.boot_id, one.report.sequence)
                before = self._heard.get(one.node)
                heard[one.node] = before if before is not None and before[0] == says else (says, now)
        self._heard = heard
        return {node for node, (_, since) in heard.items() if now - since >= patience}

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
            if one.marker is not None and one.marker.remediation_uid not in living:
                await self._write(write_marker(one.node, one.known, None))

    async def _write(self, request: Request) -> None:
        deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
        await self._client.write(request, Acknowledged, deadline=deadline)
