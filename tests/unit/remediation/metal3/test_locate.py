"""The host of a remediation, from its Machine or its Node; without one, no host is powered off."""

from collections.abc import Iterator
from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.resources import BARE_METAL_HOST, METAL3_REMEDIATION
from nodemend.kube.request import Method
from simulation.metal3.rack import NAMESPACE
from tests.unit.remediation.metal3.power_world import (
    MACHINE_SET,
    METAL3_MACHINE,
    QUICK,
    SICK,
    PowerWorld,
    owned_by,
)


@pytest.fixture
def world() -> Iterator[PowerWorld]:
    found = PowerWorld("locate")
    found.world.machines[SICK].hung = True
    yield found
    found.close()


def name_host(world: PowerWorld, annotations: dict[str, Any] | None) -> None:
    """Set the annotations of the unhealthy node's Metal3Machine that name its host."""
    world.api.patch(METAL3_MACHINE, "m-1", {"metadata": {"annotations": None}}, at=(NAMESPACE, ""))
    world.api.patch(METAL3_MACHINE, "m-1", {"metadata": {"annotations": annotations}}, at=(NAMESPACE, ""))


def assert_untouched(world: PowerWorld) -> None:
    assert world.world.machines[SICK].boots == 1
    assert world.world.machines[SICK].powered
    assert not world.holds


@pytest.mark.slow
@pytest.mark.parametrize("said", ["default/node-1", "node-1", "elsewhere/node-1"])
def test_a_host_is_looked_for_by_name_beside_its_machine(world: PowerWorld, said: str) -> None:
    """metal3 puts the namespace before the name, and ignores it in newer releases."""
    name_host(world, {well_known.HOST_OF_MACHINE: said})
    world.ask()
    world.run(300.0)

    assert world.status["phase"] == "succeeded"
    assert world.status["host"]["name"] == SICK


@pytest.mark.parametrize(
    ("annotations", "says"),
    [
        ({well_known.HOST_OF_MACHINE: "default/node-9"}, "there is no BareMetalHost default/node-9"),
        ({well_known.HOST_OF_MACHINE: "default/node-1/node-9"}, "there is no BareMetalHost default/node-9"),
        ({well_known.HOST_OF_MACHINE: ""}, "Metal3Machine default/m-1 names none"),
        ({"somebody": "else"}, "Metal3Machine default/m-1 names none"),
        (None, "Metal3Machine default/m-1 names none"),
    ],
    ids=["no such host", "cannot be parsed", "empty", "no such annotation", "no annotations"],
)
def test_without_a_host_it_is_held_with_the_reason(
    world: PowerWorld, annotations: dict[str, Any] | None, says: str
) -> None:
    name_host(world, annotations)
    world.ask()
    world.run(120.0)

    assert says in world.status["message"]
    assert world.status.get("phase", "pending") == "pending"
    assert_untouched(world)


def test_a_host_in_another_namespace_is_not_switched(world: PowerWorld) -> None:
    """The host exists under that name in the other namespace, and not in this one."""
    world.api.create(
        BARE_METAL_HOST, {"metadata": {"name": "node-9"}, "spec": {}}, well_known.SYSTEM_NAMESPACE
    )
    name_host(world, {well_known.HOST_OF_MACHINE: f"{well_known.SYSTEM_NAMESPACE}/node-9"})
    world.ask()
    world.run(120.0)

    assert "there is no BareMetalHost default/node-9" in world.status["message"]
    assert_untouched(world)


def test_without_its_metal3_machine_there_is_no_host(world: PowerWorld) -> None:
    world.api.delete(METAL3_MACHINE, "m-1", NAMESPACE)
    world.ask()
    world.run(120.0)

    assert "Machine default/m-1 names none" in world.status["message"]
    assert_untouched(world)


@pytest.mark.slow
@pytest.mark.parametrize("unread", ["machines", "metal3machines"])
def test_while_a_machine_cannot_be_read_nothing_is_switched_and_then_it_goes_on(
    world: PowerWorld, unread: str
) -> None:
    forbidden = world.world.remediator.forbidden
    forbidden.add((Method.GET, unread))
    world.ask()
    world.run(30.0)
    assert "Cannot read" in world.status["message"]
    assert_untouched(world)

    forbidden.clear()
    world.run(300.0)
    assert world.status["phase"] == "succeeded"


@pytest.mark.slow
def test_one_that_belongs_to_no_machine_is_about_the_node_of_its_name(world: PowerWorld) -> None:
    ask_for_node(world, name=SICK)
    world.run(300.0)

    found = world.api.get(METAL3_REMEDIATION, SICK, NAMESPACE)
    assert found is not None
    assert found["status"]["phase"] == "succeeded"
    assert found["status"]["host"]["name"] == SICK


@pytest.mark.slow
def test_it_is_located_by_its_annotation_regardless_of_its_name(world: PowerWorld) -> None:
    """As medik8s' NodeHealthCheck creates it."""
    ask_for_node(world, name="node-1-x7k2p", annotations={well_known.NODE_OF_REMEDIATION: SICK})
    world.run(300.0)

    found = world.api.get(METAL3_REMEDIATION, "node-1-x7k2p", NAMESPACE)
    assert found is not None
    assert found["status"]["phase"] == "succeeded"
    assert found["status"]["nodeName"] == SICK


def test_one_that_names_neither_a_machine_nor_a_node_switches_nothing(world: PowerWorld) -> None:
    ask_for_node(world, name="m-1")
    world.run(120.0)

    assert "it has no Machine, and the node's provider ID names no host" in world.status["message"]
    assert_untouched(world)


def test_a_remediation_deleted_before_its_first_reconcile_touches_nothing(world: PowerWorld) -> None:
    world.ask()
    world.api.delete(METAL3_REMEDIATION, "m-1", NAMESPACE)
    world.run(120.0)

    assert world.remediation is None
    assert_untouched(world)


def ask_for_node(world: PowerWorld, name: str, annotations: dict[str, str] | None = None) -> None:
    """A remediation whose owner is not a Machine."""
    workers = world.api.get(MACHINE_SET, "workers", NAMESPACE)
    assert workers is not None
    metadata = {
        "name": name,
        "annotations": annotations or {},
        "ownerReferences": [owned_by(MACHINE_SET, workers)],
    }
    world.api.create(METAL3_REMEDIATION, {"metadata": metadata, "spec": QUICK}, NAMESPACE)
