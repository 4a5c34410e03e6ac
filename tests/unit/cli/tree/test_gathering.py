"""A tree from the replies of a live cluster, including the missing ones."""

import pytest

from nodemend.api.resources import POD
from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure
from nodemend.cli.node_report import gather_case
from nodemend.cli.tree.branches import tree_view
from nodemend.cli.tree.view import Branch, TreeView
from simulation.cluster.world import World
from simulation.metal3.rack import furnish, shaped
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.cli.unhealthy_world import SICK, unhealthy_world
from tests.unit.cli.views import below

LENIENT = {"maxUnhealthy": "100%", "settleTime": "5s", "minInterval": "1s"}
EVERYTHING = (
    "nodes",
    "leases",
    "nodehealthchecks",
    "manualremediations",
    "metal3remediations",
    "remediationorders",
    "baremetalhosts",
    "machines",
    "pods",
    "volumeattachments",
)


async def read(cluster: Cluster) -> TreeView:
    return tree_view(await gather_case(cluster, SICK))


def states(view: TreeView) -> dict[str, str]:
    return {branch.kind: branch.state for branch in below(view.root)}


def test_a_node_that_waits_for_a_person() -> None:
    with unhealthy_world() as (_, caller):
        view = caller.run(read)

    found = states(view)
    assert found["Node"] == "Ready=Unknown"
    assert found["Kubelet"] == "silent"
    assert found["ManualRemediation"] == "WaitingForConfirmation"
    assert (found["Evidence"], found["Lock"]) == ("none", "held")
    assert (found["Pod"], found["VolumeAttachment"]) == ("Pending", "attached")
    assert "BareMetalHost" not in found
    assert view.unread == ()


def test_a_pod_that_stays_on_an_out_of_service_node_is_not_pending() -> None:
    with unhealthy_world() as (world, caller):
        stays = {"key": "node.kubernetes.io/out-of-service", "operator": "Exists"}
        for name, tolerations in (("agent", [stays]), ("web", [])):
            spec = {
                "nodeName": SICK,
                "containers": [{"name": "x", "image": "x"}],
                "tolerations": tolerations,
            }
            world.admin_api.create(POD, {"metadata": {"name": name}, "spec": spec}, "default")
        view = caller.run(read)

    assert {branch.name for branch in below(view.root) if branch.kind == "Pod"} == {"db-0", "web"}


@pytest.mark.slow
def test_a_node_whose_host_is_held_off() -> None:
    world = World("tree power", shaped(machines=3, policy=LENIENT))
    rack = furnish(world)
    world.run(120.0)
    world.machines[SICK].connected = False
    world.run(260.0)
    view = SimulatedCaller(world).run(read)
    healthy = SimulatedCaller(world).run(_read_another)
    rack.close()
    world.close()

    found = {branch.kind: branch for branch in below(view.root)}
    assert (found["BareMetalHost"].state, found["Metal3Remediation"].state) == ("off", "power-off")
    assert f"power-off requested by Nodemend for nodemend-system/{SICK}" in found["BareMetalHost"].says
    assert found["Evidence"] == Branch(kind="Evidence", state="none", says=("nothing may be released",))
    assert {branch.kind for branch in below(healthy.root)} == {
        "Node",
        "Kubelet",
        "BareMetalHost",
        "NodeHealthCheck",
    }


async def _read_another(cluster: Cluster) -> TreeView:
    return tree_view(await gather_case(cluster, "node-2"))


@pytest.mark.slow
@pytest.mark.parametrize("hidden", EVERYTHING)
def test_a_user_without_the_right_to_a_kind_is_warned_and_sees_the_rest(hidden: str) -> None:
    with unhealthy_world() as (world, _):
        view = SimulatedCaller(world, hidden=(hidden,)).run(read)

    branches = below(view.root)
    kinds = {branch.kind for branch in branches}
    served = hidden not in ("baremetalhosts", "machines")
    assert any("has no right to" in one for one in view.unread) == served
    assert {"Node", "Kubelet"} <= kinds
    assert ("ManualRemediation" in kinds) == (hidden != "manualremediations")
    # A resource that the caller may not read is not reported as missing.
    assert "nothing releases them" not in {said for branch in branches for said in branch.says}


@pytest.mark.slow
def test_a_user_without_any_right_is_warned() -> None:
    with unhealthy_world() as (world, _):
        view = SimulatedCaller(world, hidden=EVERYTHING).run(read)

    assert states(view) == {"Node": "unknown", "Kubelet": "unknown"}
    assert len(view.unread) >= 8


def test_a_node_that_is_not_there() -> None:
    with unhealthy_world() as (_, caller), pytest.raises(CommandFailure, match="there is no node node-77"):
        caller.run(lambda cluster: gather_case(cluster, "node-77"))
