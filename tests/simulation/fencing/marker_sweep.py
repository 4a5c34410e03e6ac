"""What managers do beside remediations, as the shipped sweep does: take off markers that nobody wants.

The shipped one waits for a minute first; here nothing else may be what keeps it safe.
"""

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

    def is_untainted(node: str) -> bool:
        kube = world.kube.of.get(node)
        return kube is None or kube.tainted_at is None

    def look_at_node(node: str, known: AgentLease) -> None:
        def hear(untainted: bool) -> None:
            if untainted:
                take_off(node, known)

        store.ask(name, lambda: is_untainted(node), hear, manager)

    def take_off(node: str, known: AgentLease) -> None:
        world.counts["marker of nobody"] += 1
        store.ask(name, lambda: store.mark(node, known, None), lambda _news: None, manager)

    def hear_living(marked: Mapping[str, AgentLease], living: set[str]) -> None:
        for node, lease in marked.items():
            if lease.marker is not None and lease.marker.remediation_uid not in living:
                look_at_node(node, lease)

    def hear_leases(leases: Mapping[str, AgentLease]) -> None:
        marked = {node: lease for node, lease in leases.items() if lease.marker is not None}
        if marked:
            store.ask(name, statuses.living, lambda living: hear_living(marked, living), manager)

    store.ask(name, store.leases.copy, hear_leases, manager)
