"""Other operators that work on a node: the Leases by which medik8s' operators coordinate."""

from typing import Final, Protocol

from nodemend.api.resources import LEASE
from nodemend.api.upstream_types import Lease
from nodemend.records.live_reads import LiveReader, UnchangedTimer, project, read_result
from nodemend.safety.guard import ExternalLease, held_externally
from nodemend.safety.holds import Hold

_PREFIX: Final = "node-"
"""Precedes the node's name. Nodemend's own Leases have its UID there, and another namespace (decision 13)."""


class ExternalLeases(Protocol):
    async def hold_on(self, node: str) -> Hold | None:
        """Return a hold if another operator holds the Lease of a node of this cluster."""
        ...


class NoExternalLeases:
    """Used if the checker ignores the Leases of other operators."""

    async def hold_on(self, _node: str) -> Hold | None:
        return None


class Medik8sLeases:
    """The Leases of medik8s, for one leader term. They are read when needed, not watched."""

    def __init__(self, reader: LiveReader, namespace: str) -> None:
        self._reader = reader
        self._namespace = namespace
        self._unchanged = UnchangedTimer()

    async def hold_on(self, node: str) -> Hold | None:
        """Return a hold if the node's Lease is held.

        A missing namespace means that no operator works on the node: medik8s creates it with the first Lease.
        """
        name, monotonic = f"{_PREFIX}{node}", self._reader.runtime.monotonic
        asked_at = monotonic()
        found = read_result(await self._reader.get(LEASE, name, Lease, self._namespace))
        answered_at = monotonic()
        return held_externally(
            project(found, lambda lease: self._as_facts(name, lease, asked_at, answered_at))
        )

    def _as_facts(self, name: str, lease: Lease, asked_at: float, answered_at: float) -> ExternalLease:
        shown, lasts = (lease.metadata.uid, lease.spec), lease.spec.lease_duration_seconds
        return ExternalLease(
            name=f"{self._namespace}/{name}",
            holder=lease.spec.holder_identity or "",
            lasts=lasts if lasts and lasts > 0 else None,
            unchanged_for=self._unchanged.unchanged_for(
                name, shown, asked_at=asked_at, answered_at=answered_at
            ),
        )


def external_leases(reader: LiveReader, medik8s_leases: str) -> ExternalLeases:
    """Return the reader of other operators' Leases. `medik8s_leases` is their namespace, or ""."""
    return Medik8sLeases(reader, medik8s_leases) if medik8s_leases else NoExternalLeases()
