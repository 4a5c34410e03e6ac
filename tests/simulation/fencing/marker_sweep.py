"""What managers do beside remediations, as the shipped sweep does: take off markers that nobody wants."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from nodemend.kube.agent_lease import AgentLease
from tests.simulation.fencing.surroundings import Surroundings
from tests.simulation.fencing.time_line import Process

if TYPE_CHECKING:
    from tests.simulation.fencing.managers import Statuses

SWEEP_EVERY: Final = 20.0


def sweep(name: str, world: Surroundings, statuses: "Statuses", manager: Process) -> None:
    """Reads the Leases, then which remediations there are: who wrote a marker was there before it."""
    store = world.store

    def take_off(node: str, known: AgentLease) -> None:
        world.counts["marker of nobody"] += 1
        store.ask(name, lambda: store.mark(node, known, None), lambda _news: None, manager)

    def hear_living(marked: Mapping[str, AgentLease], living: set[str]) -> None:
        for node, lease in marked.items():
            if lease.marker is not None and lease.marker.remediation_uid not in living:
                take_off(node, lease)

    def hear_leases(leases: Mapping[str, AgentLease]) -> None:
        marked = {node: lease for node, lease in leases.items() if lease.marker is not None}
        if marked:
            store.ask(name, statuses.living, lambda living: hear_living(marked, living), manager)

    store.ask(name, store.leases.copy, hear_leases, manager)
