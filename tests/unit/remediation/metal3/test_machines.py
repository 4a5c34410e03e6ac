"""A remediation that a Machine owns: it finds its host, and hands the Machine over when nothing helps."""

from collections.abc import Iterator

import pytest

from nodemend.kube.request import Method
from simulation.metal3.rack import NAMESPACE
from tests.unit.remediation.metal3.power_world import MACHINE, SICK, PowerWorld


@pytest.fixture
def world() -> Iterator[PowerWorld]:
    found = PowerWorld("machines")
    yield found
    found.close()


@pytest.mark.slow
def test_it_finds_the_host_by_the_machine_and_brings_the_node_back(world: PowerWorld) -> None:
    world.world.machines[SICK].hung = True
    world.ask()
    world.run(300.0)

    assert world.status["phase"] == "succeeded"
    assert (world.status["nodeName"], world.status["host"]["name"]) == (SICK, SICK)
    assert world.world.machines[SICK].boots == 2
    assert not world.holds


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        {"spec": {"consumerRef": {"kind": "Metal3Machine", "name": "m-2", "namespace": NAMESPACE}}},
        {"metadata": {"annotations": {"nodemend.io/system-uuid": "of another"}}},
    ],
)
def test_a_host_that_may_belong_to_another_node_is_not_powered_off(
    world: PowerWorld, wrong: dict[str, object]
) -> None:
    world.patch_host(wrong)
    world.world.machines[SICK].hung = True
    world.ask()
    world.run(300.0)

    assert world.world.machines[SICK].powered
    assert world.world.machines[SICK].boots == 1
    assert "A power-off could hit another node's machine" in world.status["message"]


@pytest.mark.slow
def test_when_power_cycles_do_not_help_the_owner_is_asked_while_the_host_is_held_off(
    world: PowerWorld,
) -> None:
    world.world.machines[SICK].connected = False
    world.ask()
    world.run(600.0)

    [asked] = world.machine["status"]["conditions"]
    assert (asked["type"], asked["status"]) == ("OwnerRemediated", "False")
    assert world.status["phase"] == "deleting-machine"
    assert {"capm3.metal3.io/unhealthy", "capi.metal3.io/unhealthy"} <= world.annotations.keys()
    assert world.holds
    assert not world.world.machines[SICK].powered


@pytest.mark.slow
def test_after_the_machine_is_deleted_the_hold_is_removed_too(world: PowerWorld) -> None:
    world.world.machines[SICK].connected = False
    world.ask()
    world.run(600.0)
    world.api.delete(MACHINE, "m-1", NAMESPACE)
    world.run(120.0)

    assert world.remediation is None
    assert not world.holds


@pytest.mark.slow
def test_without_the_right_to_request_it_fails_and_reports_it(world: PowerWorld) -> None:
    world.world.remediator.forbidden.add((Method.PATCH, "machines"))
    world.world.machines[SICK].connected = False
    world.ask()
    world.run(600.0)

    assert world.status["phase"] == "failed"
    assert "has no right to PATCH" in world.status["message"]
    assert not world.holds


@pytest.mark.slow
def test_a_host_that_cannot_be_switched_off_is_never_handed_over(world: PowerWorld) -> None:
    world.world.machines[SICK].connected = False
    world.rack.bmcs[SICK].faults.off_never_done = True
    world.ask()
    world.run(900.0)

    assert "conditions" not in world.machine["status"]
    assert world.status["phase"] == "failed"
    assert not world.holds
