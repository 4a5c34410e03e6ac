"""What one manager has seen of the Leases, and when, in the shipped sightings."""

from collections.abc import Mapping
from typing import Final

from nodemend.api.agent_lease import AgentReport
from nodemend.decide.contact_evidence import Contact, Sightings, contact_of, covered_until
from nodemend.decide.proven_seconds import Look
from nodemend.kube.agent_lease import AgentLease

UNSEEN: Final = Sightings()


class Looks:
    """Most looks show what the last one did, and of many looks at one number only the last counts."""

    def __init__(self, clock_error: float) -> None:
        self._clock_error = clock_error
        self._newest: dict[str, tuple[AgentReport, float]] = {}
        """The last look at each node. Its sightings may lack it."""
        self._sightings: dict[tuple[str, str], Sightings] = {}
        self._contacts: dict[str, tuple[AgentReport, Contact]] = {}

    def note(self, name: str, lease: AgentLease, asked_at: float) -> None:
        report = lease.report
        if isinstance(report, AgentReport):
            newest = self._newest.get(name)
            if newest is not None and newest[0] is not report:
                self._take_up(name, *newest)
            self._newest[name] = (report, asked_at)

    def sightings(self, name: str, boot_id: str) -> Sightings:
        """Of that boot, which was noted at some time."""
        self._take_up(name, *self._newest[name])
        return self._sightings[name, boot_id]

    def at(self, leases: Mapping[str, AgentLease]) -> dict[str, Look]:
        """What is known by these, all of which were noted."""
        found = {}
        for name, lease in leases.items():
            report = lease.report
            if isinstance(report, AgentReport):
                contact, sightings = self._contact(name, report), self.sightings(name, report.boot_id)
                found[name] = Look(contact, covered_until(contact, sightings, self._clock_error))
        return found

    def _take_up(self, name: str, report: AgentReport, asked_at: float) -> None:
        key = (name, report.boot_id)
        self._sightings[key] = self._sightings.get(key, UNSEEN).seen(report.sequence, asked_at)

    def _contact(self, name: str, report: AgentReport) -> Contact:
        known = self._contacts.get(name)
        if known is None or known[0] is not report:
            known = self._contacts[name] = (report, contact_of(report))
        return known[1]
