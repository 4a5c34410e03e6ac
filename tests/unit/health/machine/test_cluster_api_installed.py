"""Cluster API is installed in a cluster where Nodemend serves MachineHealthChecks."""

from collections.abc import Iterator

import msgspec
import pytest

from nodemend.api import well_known
from nodemend.api.resources import CUSTOM_RESOURCE_DEFINITION
from nodemend.health.machine.manager import DISCOVERY_INTERVAL
from nodemend.records.machine import CLAIM
from nodemend.records.served_kinds import PROVIDER
from simulation.cluster.foreign_kinds import a_definition
from tests.unit.health.machine.machine_world import FIX, SPACE, MachineWorld

DEFINITION = "machinehealthchecks.cluster.x-k8s.io"
SOON = DISCOVERY_INTERVAL + 2.0


@pytest.fixture
def world() -> Iterator[MachineWorld]:
    """Two pools with a check each, of which one is claimed; one Machine of each pool is being remediated."""
    begun = MachineWorld(version="v1beta1")
    definitions = a_definition(CUSTOM_RESOURCE_DEFINITION)
    begun.server.define({**definitions, "spec": {**definitions["spec"], "scope": "Cluster"}})
    begun.api.create(
        CUSTOM_RESOURCE_DEFINITION,
        {"metadata": {"name": DEFINITION, "labels": {well_known.FLAT: "true"}}, "spec": {}},
    )
    add_checks(begun)
    for name, pool in {"m1": "workers", "m2": "workers", "n1": "ours", "n2": "ours", "n3": "ours"}.items():
        begun.add_node(name)
        begun.add_machine(name, labels={"pool": pool})
    begun.start()
    for name in ("m1", "n1"):
        begun.set_condition(name, "Ready", "Unknown")
    begun.run(80)
    yield begun
    begun.close()


def add_checks(world: MachineWorld) -> None:
    world.add_check("workers", template=True, claimed=False)
    world.add_check("ours", template=True, selector={"matchLabels": {"pool": "ours"}})


def cluster_api_comes(world: MachineWorld) -> None:
    """It serves its own version, in which the same checks are visible."""
    world.checks_at = msgspec.structs.replace(world.checks_at, version="v1beta2")
    world.server.define(a_definition(world.checks_at))
    add_checks(world)
    labels = {well_known.FLAT: None, PROVIDER: "cluster-api"}
    world.api.patch(CUSTOM_RESOURCE_DEFINITION, DEFINITION, {"metadata": {"labels": labels}})


def uid(world: MachineWorld, fix: str) -> str:
    found = world.api.get(FIX, fix, SPACE)
    assert found is not None
    return str(found["metadata"]["uid"])


def test_without_cluster_api_all_checks_are_served(world: MachineWorld) -> None:
    assert world.fixes() == ["m1", "n1"]
    assert [world.status(check)["expectedMachines"] for check in ("workers", "ours")] == [2, 3]


def test_with_cluster_api_only_claimed_checks_are_served_and_other_requests_are_withdrawn(
    world: MachineWorld,
) -> None:
    claimed = uid(world, "n1")
    cluster_api_comes(world)
    world.run(SOON)
    assert world.fixes() == ["n1"]
    assert uid(world, "n1") == claimed

    for name in ("m2", "n2"):
        world.set_condition(name, "Ready", "Unknown")
    world.run(75)
    assert world.fixes() == ["n1", "n2"]
    assert (world.status("workers"), world.status("ours")["expectedMachines"]) == ({}, 3)


@pytest.mark.parametrize("said", [("Fenced",), ("Fenced", "Succeeded")])
def test_a_remediation_that_has_released_something_is_left_to_end_by_itself(
    world: MachineWorld, said: tuple[str, ...]
) -> None:
    """Another project's kind may report success once it has requested a reboot."""
    conditions = [{"type": type_, "status": "True"} for type_ in said]
    world.api.patch(FIX, "m1", {"status": {"conditions": conditions}}, at=(SPACE, "status"))
    world.run(2)
    cluster_api_comes(world)
    world.run(SOON + 20.0)
    assert world.fixes() == ["m1", "n1"]


def test_a_check_that_is_claimed_afterwards_is_served_again(world: MachineWorld) -> None:
    cluster_api_comes(world)
    world.run(SOON)
    world.api.patch(
        world.checks_at, "workers", {"metadata": {"labels": {CLAIM[0]: CLAIM[1]}}}, at=(SPACE, "")
    )
    world.run(10)
    assert world.fixes() == ["m1", "n1"]
    assert world.status("workers")["expectedMachines"] == 2


def test_the_label_of_its_installer_alone_says_so_too(world: MachineWorld) -> None:
    """Older releases serve no version beyond Nodemend's."""
    world.api.patch(
        CUSTOM_RESOURCE_DEFINITION, DEFINITION, {"metadata": {"labels": {PROVIDER: "cluster-api"}}}
    )
    claimed = uid(world, "n1")
    world.run(SOON)
    assert (world.fixes(), uid(world, "n1")) == (["n1"], claimed)
