"""What the remediator watches beside remediations."""

from collections import Counter

from nodemend.api import keys
from nodemend.api.custom_resources import CUSTOM_RESOURCES, definition_of
from nodemend.api.group_versions import NODE
from nodemend.controllers.remediator import Powers
from nodemend.kube.counted_transport import CountedTransport
from nodemend.testing.api_server.admission import ADMIN
from nodemend.testing.api_server.server import NAMESPACES, SimulatedApiServer
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.replicas import remediator
from nodemend.testing.cluster.world import Account
from nodemend.testing.network import GOOD_LINK, Link
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler
from nodemend.testing.transport import SimulatedTransport


def test_a_remediator_with_all_powers_that_starts_and_leads_lists_all_nodes_once() -> None:
    """Its counts of Nodes, what they state and where they stand come from one watch."""
    scheduler = Scheduler("one watch")
    server = SimulatedApiServer(
        scheduler.wall,
        definitions=[definition_of(custom) for custom in CUSTOM_RESOURCES],
        namespaces=(*NAMESPACES, keys.AGENT_NAMESPACE, keys.SYSTEM_NAMESPACE),
    )
    account, asked = Account(server, ADMIN), Counter[tuple[str, str]]()
    Direct(account).create(NODE, {"metadata": {"name": "n1"}})
    process = SimulatedProcess(scheduler, "remediator", HostClock())

    def count(verb: str, resource: str, outcome: str) -> None:
        asked[verb, resource] += 1

    transport = CountedTransport(SimulatedTransport(Link(process, account, GOOD_LINK)), count)
    powers = Powers(power_cycle=True, node_deletion=True, self_fencing=True)
    process.spawn(remediator(process, transport, "r1", powers=powers), "remediator")
    scheduler.run(scheduler.now + 60.0)
    process.crash()

    assert asked["list", "leases"] > 1  # It leads, and its sweeps go on.
    assert (asked["list", "nodes"], asked["watch", "nodes"]) == (1, 1)
