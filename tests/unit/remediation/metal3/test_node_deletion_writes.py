"""A cluster that knows no out-of-service taint: the Node is deleted, and the next one has what it had."""

from collections.abc import Iterator
from typing import Any

import pytest

from nodemend.api.resources import METAL3_REMEDIATION, NODE, POD
from nodemend.kube.request import Method
from simulation.cluster.direct import Object
from simulation.cluster.world import FOREIGN_TAINT
from simulation.metal3.rack import NAMESPACE
from tests.unit.remediation.metal3.power_world import SICK, PowerWorld, owned_by

BY_DELETION = "node-deletion"
WRITTEN = {"metadata": {"labels": {"rack": "7"}, "annotations": {"team": "storage"}}}


def unhealthy_world(seed: str, **options: Any) -> Iterator[PowerWorld]:
    found = PowerWorld(seed, **options)
    found.api.patch(NODE, SICK, WRITTEN)
    found.world.machines[SICK].hung = True
    yield found
    found.close()


@pytest.fixture
def world() -> Iterator[PowerWorld]:
    yield from unhealthy_world("node deletion", node_deletion=True)


@pytest.fixture
def forbidding() -> Iterator[PowerWorld]:
    yield from unhealthy_world("no node deletion")


def uid_of(node: Object | None) -> str:
    assert node is not None
    uid: str = node["metadata"]["uid"]
    return uid


def run_until_it_is_deleted(world: PowerWorld) -> None:
    while world.api.get(NODE, SICK) is not None:
        world.run(1.0)


def pods_on(world: PowerWorld, node: str) -> list[str]:
    return [pod["metadata"]["name"] for pod in world.api.list(POD) if pod["spec"]["nodeName"] == node]


def has_what_it_had(node: Object | None) -> bool:
    return (
        node is not None
        and node["metadata"]["labels"].get("rack") == "7"
        and node["metadata"].get("annotations", {}).get("team") == "storage"
        and FOREIGN_TAINT in node["spec"].get("taints", ())
    )


@pytest.mark.slow
def test_the_node_goes_its_pods_start_elsewhere_and_the_next_one_has_what_it_had(world: PowerWorld) -> None:
    before, pods = uid_of(world.node), pods_on(world, SICK)
    assert pods
    world.ask(releaseBy=BY_DELETION)
    world.run(240.0)

    assert world.status["phase"] == "succeeded"
    assert uid_of(world.node) != before
    assert has_what_it_had(world.node)
    assert "backup" not in world.status
    assert world.world.machines[SICK].boots == 2
    assert not world.holds
    assert {pod["metadata"]["name"] for pod in world.api.list(POD)} >= set(pods)


def test_the_host_is_powered_on_only_after_its_pods_are_deleted(world: PowerWorld) -> None:
    world.ask(releaseBy=BY_DELETION)
    run_until_it_is_deleted(world)
    machine = world.world.machines[SICK]
    while pods_on(world, SICK):
        assert world.holds
        assert not machine.powered
        world.run(1.0)
    assert world.status["backup"]["labels"] == {"rack": "7"}


@pytest.mark.slow
def test_the_taint_is_never_on_it(world: PowerWorld) -> None:
    seen: list[Object] = []
    world.world.remediator.witnesses.append(lambda *_: seen.extend(world.api.list(NODE)))
    world.ask(releaseBy=BY_DELETION)
    world.run(240.0)

    assert world.status["phase"] == "succeeded"
    keys = {taint["key"] for node in seen for taint in node["spec"].get("taints", ())}
    assert "node.kubernetes.io/out-of-service" not in keys


@pytest.mark.slow
def test_what_the_node_owned_is_collected_and_the_end_is_safe_all_the_same(world: PowerWorld) -> None:
    """As a check of Nodes asks: named like the Node, owned by it."""
    assert world.node is not None
    metadata = {"name": SICK, "ownerReferences": [owned_by(NODE, world.node)]}
    spec = {"powerOffTimeoutSeconds": 60, "powerOnTimeoutSeconds": 90, "releaseBy": BY_DELETION}
    world.api.create(METAL3_REMEDIATION, {"metadata": metadata, "spec": spec}, NAMESPACE)
    world.run(300.0)

    assert world.api.get(METAL3_REMEDIATION, SICK, NAMESPACE) is None
    assert has_what_it_had(world.node)
    assert not world.holds
    assert world.world.machines[SICK].powered
    assert world.world.machines[SICK].boots == 2


@pytest.mark.slow
def test_without_the_permission_nothing_is_powered_off(forbidding: PowerWorld) -> None:
    before = uid_of(forbidding.node)
    forbidding.ask(releaseBy=BY_DELETION)
    forbidding.run(300.0)

    assert "powerCycle.mayDeleteNodes" in forbidding.status["message"]
    assert uid_of(forbidding.node) == before
    assert forbidding.world.machines[SICK].boots == 1
    assert not forbidding.holds


@pytest.mark.slow
def test_without_the_right_to_delete_it_the_attempt_fails_and_power_comes_back(world: PowerWorld) -> None:
    before = uid_of(world.node)
    world.world.remediator.forbidden.add((Method.DELETE, "nodes"))
    world.ask(releaseBy=BY_DELETION)
    world.run(360.0)

    assert world.status["phase"] == "failed"
    assert "has no right to DELETE /api/v1/nodes/node-1" in world.status["message"]
    assert uid_of(world.node) == before
    assert not world.holds
    assert world.world.machines[SICK].powered


@pytest.mark.slow
def test_it_is_not_switched_off_again_and_again_for_want_of_a_right(world: PowerWorld) -> None:
    world.world.machines[SICK].connected = False
    world.world.remediator.forbidden.add((Method.DELETE, "nodes"))
    world.ask(releaseBy=BY_DELETION, deleteAfterRetries=5)
    world.run(600.0)
    assert world.world.machines[SICK].boots == 2
    assert world.status["phase"] == "pending"
    assert "has no right to DELETE" in world.status["message"]

    world.world.remediator.forbidden.clear()
    world.run(600.0)
    assert world.node is None


@pytest.mark.slow
def test_without_the_right_to_write_on_the_new_node_it_ends_all_the_same(world: PowerWorld) -> None:
    world.ask(releaseBy=BY_DELETION)
    run_until_it_is_deleted(world)
    world.world.remediator.forbidden.add((Method.PATCH, "nodes"))
    world.run(240.0)

    assert world.status["phase"] == "succeeded"
    assert "backup" not in world.status
    assert not world.holds


def test_a_running_kubelet_that_registers_again_voids_the_evidence(world: PowerWorld) -> None:
    """The host of the remediation was another one: the node keeps running, and reports the same boot."""
    world.ask(releaseBy=BY_DELETION)
    info = (world.api.get(NODE, SICK) or {})["status"]["nodeInfo"]
    run_until_it_is_deleted(world)
    world.api.create(NODE, {"metadata": {"name": SICK}})
    world.api.patch(NODE, SICK, {"status": {"nodeInfo": info}}, at=("", "status"))
    world.run(30.0)

    assert world.status["phase"] == "failed"
    assert "its workloads may run twice" in world.status["message"]
    assert (world.node or {})["metadata"]["labels"]["rack"] == "7"
