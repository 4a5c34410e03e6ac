"""What the Leases of agents say, read fresh, and since when each has been heard of."""

from dataclasses import dataclass
from typing import Final

from nodemend.api.agent_lease import AgentReport
from nodemend.api.group_versions import LEASE
from nodemend.api.keys import AGENT_NAMESPACE
from nodemend.api.lease import Lease
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.controllers.recent import Recent
from nodemend.decide.admission_policies import is_pinned
from nodemend.decide.agent_facts import AgentFacts
from nodemend.decide.contact_evidence import Sightings, contact_of, covered_until
from nodemend.decide.facts import Present, Seen, Unreadable
from nodemend.decide.proven_seconds import Look
from nodemend.decide.time_proof import USUALLY
from nodemend.decide.two_clocks import Moment, TwoClocks
from nodemend.kube.agent_lease import AgentLease, Found, Garbled, read_lease
from nodemend.kube.at_once import AtOnce

READ_AT_ONCE: Final = 16
SHARED_FOR: Final = 1.0
"""Seconds. Nodes that are lost together have peers in common, who are asked once, not once for each node."""

_ANYBODYS: Final = (
    "another agent could have written it, for when it was last written the admission policy "
    "nodemend-agent-leases was not in force, or not as it is now"
)


@dataclass(frozen=True, slots=True)
class _Boot:
    node: str
    boot_id: str


@dataclass(frozen=True, slots=True)
class _Shared:
    look: Look
    asked_at: float


class AgentLooks:
    """By one manager, on its own clocks alone. Forgets first whom it has not looked at for the longest.

    Its times are the most that can have passed: nobody is covered for longer than it is.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._clocks = TwoClocks()
        self._sightings: Recent[_Boot, Sightings] = Recent()
        self._shared: Recent[str, _Shared] = Recent()
        self._anybodys: Recent[str, tuple[str, int]] = Recent()
        """By node: a boot and a number of its reports that another agent could have written."""

    def moment(self) -> Moment:
        runtime = self._reader.runtime
        return self._clocks.read(runtime.monotonic(), runtime.unslewed())

    async def at_node(self, node: str) -> Seen[AgentFacts]:
        asked_at = self.moment().most
        found = seen(await self._reader.get(LEASE, node, Lease, AGENT_NAMESPACE))
        if not isinstance(found, Present):
            return found
        news = read_lease(found.value)
        if not isinstance(news, Found):
            return Unreadable(news.why)
        lease, report = news.lease, news.lease.report
        if not self._is_its_own_word(node, lease):
            return Present(AgentFacts(lease.uid, lease.version, None, lease.marker, _ANYBODYS))
        if isinstance(report, AgentReport):
            self._note(_Boot(node, report.boot_id), report.sequence, asked_at)
            return Present(AgentFacts(lease.uid, lease.version, report, lease.marker))
        doubt = report.why if isinstance(report, Garbled) else "it has reported nothing"
        return Present(AgentFacts(lease.uid, lease.version, None, lease.marker, doubt))

    def _is_its_own_word(self, node: str, lease: AgentLease) -> bool:
        """A marker of ours that comes off such a Lease makes it newer, and its report no truer."""
        report = lease.report
        says = (report.boot_id, report.sequence) if isinstance(report, AgentReport) else None
        if is_pinned(lease.revision, self._reader.reports_from()):
            return says is None or self._anybodys.find(node) != says
        if says is not None:
            self._anybodys.keep(node, says)
        return False

    async def at_peers(self, names: tuple[str, ...], since: float) -> dict[str, Look]:
        """Of those that can be read; the others are as if nobody had looked. None is from before `since`.

        The node itself names its peers: its report has a bound on how many, and few are read at a time.
        """
        shared = {name: self._look_shared(name, since) for name in names}
        looks = {name: look for name, look in shared.items() if look is not None}
        unread = [name for name in names if name not in looks]
        for start in range(0, len(unread), READ_AT_ONCE):
            async with AtOnce(self._reader.runtime) as reads:
                batch = unread[start : start + READ_AT_ONCE]
                asked = {name: reads.ask(self._look_anew(name)) for name in batch}
            looks |= {name: look for name, one in asked.items() if (look := one.answer) is not None}
        return looks

    def _look_shared(self, name: str, since: float) -> Look | None:
        shared, now = self._shared.find(name), self.moment().most
        if shared is None or shared.asked_at < max(since, now - SHARED_FOR):
            return None
        return shared.look

    async def _look_anew(self, name: str) -> Look | None:
        asked_at = self.moment().most
        found = await self.at_node(name)
        if not isinstance(found, Present) or found.value.report is None:
            return None
        newest = _Shared(self._look(name, found.value.report), asked_at)
        known = self._shared.find(name)
        if known is not None and known.asked_at > asked_at:
            # Who asked later was answered before us.
            newest = known
        self._shared.keep(name, newest)
        return newest.look

    def _look(self, name: str, report: AgentReport) -> Look:
        contact = contact_of(report)
        sightings = self._sightings.find(_Boot(name, report.boot_id)) or Sightings()
        return Look(contact, covered_until(contact, sightings, USUALLY.clock_error))

    def _note(self, boot: _Boot, sequence: int, asked_at: float) -> None:
        known = self._sightings.find(boot) or Sightings()
        self._sightings.keep(boot, known.seen(sequence, asked_at))
