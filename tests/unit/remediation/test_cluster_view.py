"""The objects that the remediator watches beside remediations."""

from collections import Counter

from nodemend.api import well_known
from nodemend.api.crds import CUSTOM_RESOURCES, definition_of
from nodemend.api.resources import NODE
from nodemend.kube.client import CountedTransport
from nodemend.remediation.manager import EnabledKinds
from simulation.api_server.admission import ADMIN
from simulation.api_server.server import NAMESPACES, SimulatedApiServer
from simulation.cluster.direct import Direct
from simulation.cluster.replicas import remediator
from simulation.cluster.world import Account
from simulation.network import GOOD_LINK, Link
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport


def test_a_remediator_with_all_powers_that_starts_and_leads_lists_all_nodes_once() -> None:
    """Counts, stated identities and states of Nodes come from one watch."""
    scheduler = Scheduler("one watch")
    server = SimulatedApiServer(
        scheduler.wall,
        definitions=[definition_of(custom) for custom in CUSTOM_RESOURCES],
        namespaces=(*NAMESPACES, well_known.AGENT_NAMESPACE, well_known.SYSTEM_NAMESPACE),
    )
    account, asked = Account(server, ADMIN), Counter[tuple[str, str]]()
    Direct(account).create(NODE, {"metadata": {"name": "n1"}})
    process = SimulatedProcess(scheduler, "remediator", HostClock())

    def count(verb: str, resource: str, outcome: str) -> None:
        asked[verb, resource] += 1

    transport = CountedTransport(SimulatedTransport(Link(process, account, GOOD_LINK)), count)
    powers = EnabledKinds(power_cycle=True, node_deletion=True, self_fencing=True)
    process.spawn(remediator(process, transport, "r1", powers=powers), "remediator")
    scheduler.run(scheduler.now + 60.0)
    process.crash()

    assert asked["list", "leases"] > 1  # It leads, and its sweeps continue.
    assert (asked["list", "nodes"], asked["watch", "nodes"]) == (1, 1)
