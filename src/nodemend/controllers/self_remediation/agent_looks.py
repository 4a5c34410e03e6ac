"""What the Leases of agents say, read fresh, and since when each has been heard of."""

from dataclasses import dataclass
from typing import Final

from nodemend.api.agent_lease import AgentReport
from nodemend.api.group_versions import LEASE
from nodemend.api.keys import AGENT_NAMESPACE
from nodemend.api.lease import Lease
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.decide.agent_facts import AgentFacts
from nodemend.decide.contact_evidence import Sightings, contact_of, covered_until
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.proven_seconds import Look
from nodemend.decide.time_proof import USUALLY
from nodemend.kube.agent_lease import Found, Garbled, read_lease

_MOST_REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Boot:
    node: str
    boot_id: str


class AgentLooks:
    """By one manager, on its own clock alone. Forgets first whom it has not looked at for the longest."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._sightings: dict[_Boot, Sightings] = {}

    async def at_node(self, node: str) -> Seen[AgentFacts]:
        asked_at = self._reader.runtime.monotonic()
        found = seen(await self._reader.get(LEASE, node, Lease, AGENT_NAMESPACE))
        if not isinstance(found, Present):
            return found
        news = read_lease(found.value)
        if not isinstance(news, Found):
            return Unreadable(news.why)
        lease, report = news.lease, news.lease.report
        if isinstance(report, AgentReport):
            self._note(_Boot(node, report.boot_id), report.sequence, asked_at)
            return Present(AgentFacts(lease.uid, lease.version, report, lease.marker))
        doubt = report.why if isinstance(report, Garbled) else "it has reported nothing"
        return Present(AgentFacts(lease.uid, lease.version, None, lease.marker, doubt))

    async def at_peers(self, names: tuple[str, ...]) -> dict[str, Look]:
        """Of those that can be read; the others are as if nobody had looked."""
        looks = {}
        for name in names:
            match await self.at_node(name):
                case Present(AgentFacts(report=AgentReport() as report)):
                    looks[name] = self._look(name, report)
                case Present() | Absent() | Unreadable():
                    pass
        return looks

    def _look(self, name: str, report: AgentReport) -> Look:
        contact = contact_of(report)
        sightings = self._sightings[_Boot(name, report.boot_id)]
        return Look(contact, covered_until(contact, sightings, USUALLY.clock_error))

    def _note(self, boot: _Boot, sequence: int, asked_at: float) -> None:
        # Popped and put back, so that the order of the dict is that of the last look.
        known = self._sightings.pop(boot, Sightings())
        self._sightings[boot] = known.seen(sequence, asked_at)
        if len(self._sightings) > _MOST_REMEMBERED:
            del self._sightings[next(iter(self._sightings))]
