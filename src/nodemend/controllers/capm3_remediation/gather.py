"""The facts about one of CAPM3's remediations, read fresh."""

from nodemend.api import keys
from nodemend.api.capm3_remediation import Capm3Remediation, Capm3Strategy
from nodemend.api.group_versions import LEASE, METAL3_REMEDIATION
from nodemend.api.lease import Lease
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.controllers.sightings import Sightings
from nodemend.decide.capm3_remediation import Capm3Facts, Wish
from nodemend.decide.facts import Present, Seen, Unreadable
from nodemend.decide.neighbour_lease import NeighbourLease
from nodemend.kube.api_outcome import Ok
from nodemend.kube.api_request import Selection
from nodemend.kube.go_duration import parse_go_duration
from nodemend.kube.paged_list import list_all

_ITS_LEASES = Selection(fields=f"metadata.name={keys.CAPM3_LEASE}")


class Gatherer:
    """One leadership's view. Remembers for how long each of CAPM3's Leases has been silent."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._sightings = Sightings()

    async def leases(self) -> Seen[tuple[NeighbourLease, ...]]:
        """In all namespaces: nobody knows where CAPM3 was installed."""
        monotonic = self._reader.runtime.monotonic
        asked_at = monotonic()
        listed = await list_all(
            self._reader.client, LEASE, Lease, of=_ITS_LEASES, deadline=self._reader.deadline
        )
        answered_at = monotonic()
        if not isinstance(listed, Ok):
            return Unreadable(str(listed))
        return Present(tuple(self._as_facts(one, asked_at, answered_at) for one in listed.value.items))

    def _as_facts(self, lease: Lease, asked_at: float, answered_at: float) -> NeighbourLease:
        name = f"{lease.metadata.namespace}/{lease.metadata.name}"
        shown = lease.metadata.uid, lease.spec
        return NeighbourLease(
            name=name,
            holder=lease.spec.holder_identity or "",
            lasts=lease.spec.lease_duration_seconds,
            unchanged_for=self._sightings.unchanged_for(
                name, shown, asked_at=asked_at, answered_at=answered_at
            ),
        )

    async def gather(self, theirs: Capm3Remediation, leases: Seen[tuple[NeighbourLease, ...]]) -> Capm3Facts:
        metadata = theirs.metadata
        ours = await self._reader.get(
            METAL3_REMEDIATION, metadata.name, Metal3Remediation, metadata.namespace
        )
        return Capm3Facts(theirs=theirs, wish=wish_of(theirs), ours=seen(ours), leases=leases)


def wish_of(theirs: Capm3Remediation) -> Wish | None:
    strategy = theirs.spec.strategy
    return Wish(strategy.type, strategy.retry_limit, _timeout(strategy)) if strategy else None


def _timeout(strategy: Capm3Strategy) -> float | str | None:
    """What cannot be read is told in words."""
    if strategy.timeout is None:
        return None
    try:
        return parse_go_duration(strategy.timeout)
    except ValueError as error:
        return f"spec.strategy.timeout: {error}"
