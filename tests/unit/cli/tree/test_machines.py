"""MachineHealthChecks and Machines in the tree of a node."""

from nodemend.api.resources import NODE
from nodemend.cli.cluster import Cluster
from nodemend.cli.node_report import gather_case
from nodemend.cli.tree.branches import tree_view
from nodemend.cli.tree.view import Branch
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.cli.views import below
from tests.unit.health.machine.conftest import NewWorld
from tests.unit.health.machine.machine_world import MachineWorld


def sick(new_world: NewWorld) -> MachineWorld:
    world = new_world()
    world.add_pool(6)
    world.add_check(remediation={"triggerIf": {"unhealthyLessThanOrEqualTo": 2}})
    world.start()
    world.set_condition("m1", "Ready", "Unknown")
    world.run(70)
    return world


def checks(world: MachineWorld, node: str) -> list[Branch]:
    async def read(cluster: Cluster) -> list[Branch]:
        view = tree_view(await gather_case(cluster, node))
        return [branch for branch in below(view.root) if branch.kind == "MachineHealthCheck"]

    return SimulatedCaller(world).run(read)


def test_the_check_of_its_machine_is_shown_with_what_it_wrote(new_world: NewWorld) -> None:
    world = sick(new_world)
    [remediating], [healthy] = checks(world, "m1"), checks(world, "m2")

    assert (remediating.namespace, remediating.name) == ("default", "workers")
    assert (remediating.state, remediating.says) == ("Remediating", ("Ready=Unknown (Told) for 60 s",))
    assert (healthy.state, healthy.says) == ("Healthy", ())


def test_a_machine_in_another_cluster_with_a_node_of_this_name_is_ignored(new_world: NewWorld) -> None:
    world = sick(new_world)
    world.api.delete(NODE, "m1")
    world.add_node("m1", provider_id="metal://somewhere-else")

    assert checks(world, "m1") == []
