"""`stop` deletes exactly the object that was shown, and the remediator ends it safely."""

from nodemend.api.resources import MANUAL_REMEDIATION, NODE, REMEDIATION_POLICY
from nodemend.cli.cluster import Cluster
from nodemend.cli.confirm import confirm, prepare
from nodemend.cli.listing import find_open
from nodemend.cli.stop import NotStopped, Stopped, stop
from simulation.cluster.world import World
from tests.unit.cli.unhealthy_world import SICK, unhealthy_world

WHERE = "nodemend-system"


def still_there(world: World) -> bool:
    return world.admin_api.get(MANUAL_REMEDIATION, SICK, WHERE) is not None


def is_out_of_service(world: World) -> bool:
    node = world.admin_api.get(NODE, SICK)
    assert node is not None
    return any(taint["key"].endswith("out-of-service") for taint in node["spec"].get("taints", ()))


async def stop_it(cluster: Cluster) -> Stopped | NotStopped | None:
    return await stop(cluster, await find_open(cluster, SICK), dry_run=False)


def test_a_remediation_that_waits_ends_at_once() -> None:
    with unhealthy_world() as (world, caller):
        world.admin_api.patch(REMEDIATION_POLICY, "cluster", {"spec": {"pause": {"reason": "swap"}}})
        outcome = caller.run(stop_it)
        world.run(290.0)
        gone = not still_there(world)

    assert isinstance(outcome, Stopped)
    assert gone


def test_a_stopped_releasing_remediation_removes_its_taint_first() -> None:
    with unhealthy_world() as (world, caller):
        shown = caller.run(lambda cluster: prepare(cluster, SICK, "", "pulled the plug"))
        caller.run(lambda cluster: confirm(cluster, shown, dry_run=False))
        world.run(282.0)
        tainted = is_out_of_service(world)
        outcome = caller.run(stop_it)
        ending = still_there(world)
        world.run(300.0)
        left = is_out_of_service(world)

    assert isinstance(outcome, Stopped)
    assert (tainted, ending, left) == (True, True, False)


def test_one_that_is_ending_is_left_to_end() -> None:
    with unhealthy_world() as (world, caller):
        for replica in world.replicas:
            replica.process.pause(100.0)
        caller.run(stop_it)
        before = world.admin_api.get(MANUAL_REMEDIATION, SICK, WHERE)
        again = caller.run(stop_it)
        after = world.admin_api.get(MANUAL_REMEDIATION, SICK, WHERE)

    assert isinstance(again, Stopped)
    assert again.phase == "Ending"
    assert before == after


def test_another_object_of_the_same_name_is_not_touched() -> None:
    with unhealthy_world() as (world, caller):

        async def too_late(cluster: Cluster) -> Stopped | NotStopped | None:
            shown = await find_open(cluster, SICK)
            other = shown.but(metadata=shown.metadata.but(uid="another", resource_version="1"))
            return await stop(cluster, other, dry_run=False)

        outcome = caller.run(too_late)
        there = still_there(world)

    assert outcome is None
    assert there
