"""Who else is at work on a node: the Leases that the operators of medik8s share."""

from typing import Final, Protocol

from nodemend.api.group_versions import LEASE
from nodemend.api.lease import Lease
from nodemend.controllers.fresh_reads import Reader, project, seen
from nodemend.controllers.sightings import Sightings
from nodemend.decide.holds import Hold
from nodemend.decide.neighbour_lease import NeighbourLease, neighbour_at_work

_PREFIX: Final = "node-"
"""Before the name of the node; ours has its UID there, and another namespace (decision 13)."""


class Neighbours(Protocol):
    async def at_work_on(self, node: str) -> Hold | None:
        """The hold that somebody else's work on a node of our own cluster is."""
        ...


class Nobody:
    """Where nobody else is asked."""

    async def at_work_on(self, _node: str) -> Hold | None:
        return None


class Medik8sLeases:
    """One leadership's view of the Leases in their namespace. Read when it matters, not watched."""

    def __init__(self, reader: Reader, namespace: str) -> None:
        self._reader = reader
        self._namespace = namespace
        self._sightings = Sightings()

    async def at_work_on(self, node: str) -> Hold | None:
        """Also a missing namespace is nobody: medik8s makes it with the first Lease."""
        name, monotonic = f"{_PREFIX}{node}", self._reader.runtime.monotonic
        asked_at = monotonic()
        found = seen(await self._reader.get(LEASE, name, Lease, self._namespace))
        answered_at = monotonic()
        return neighbour_at_work(
            project(found, lambda lease: self._as_facts(name, lease, asked_at, answered_at))
        )

    def _as_facts(self, name: str, lease: Lease, asked_at: float, answered_at: float) -> NeighbourLease:
        shown, lasts = (lease.metadata.uid, lease.spec), lease.spec.lease_duration_seconds
        return NeighbourLease(
            name=f"{self._namespace}/{name}",
            holder=lease.spec.holder_identity or "",
            lasts=lasts if lasts and lasts > 0 else None,
            unchanged_for=self._sightings.unchanged_for(
                name, shown, asked_at=asked_at, answered_at=answered_at
            ),
        )


def neighbours(reader: Reader, medik8s_leases: str) -> Neighbours:
    """`medik8s_leases` is the namespace of the Leases; empty where they are not to be read."""
    return Medik8sLeases(reader, medik8s_leases) if medik8s_leases else Nobody()
