"""Healing does not wait for pending writes of Machine conditions, however many there are."""

import pytest

from simulation.network import LinkQuality
from tests.unit.health.machine.conftest import NewWorld
from tests.unit.health.machine.machine_world import MachineWorld

MANY = 600
SECONDS = 4
CHECKS = {"unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": SECONDS}]}


@pytest.fixture
def world(new_world: NewWorld) -> MachineWorld:
    """A world from the moment at which the checker's caches are complete and it starts to report."""
    begun = new_world(maxUnhealthy="40%")
    begun.add_pool(MANY)
    begun.add_check(template=True, checks=CHECKS)
    return begun.start()


def marked(world: MachineWorld, status: str) -> int:
    """The number of Machines with this condition."""
    names = (f"m{number}" for number in range(1, MANY + 1))
    return sum(world.marks(name).get("HealthCheckSucceeded", ("",))[0] == status for name in names)


@pytest.mark.slow
def test_a_remediation_is_requested_in_time_while_all_other_machines_are_being_marked(
    world: MachineWorld,
) -> None:
    world.set_condition("m1", "Ready", "Unknown")
    world.run(SECONDS + 1)

    assert world.fixes() == ["m1"]
    assert 0 < marked(world, "True") < MANY - 1


@pytest.mark.slow
def test_a_remediation_is_withdrawn_at_once_while_a_storm_is_being_marked(world: MachineWorld) -> None:
    world.run(60)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(SECONDS + 1)
    assert world.fixes() == ["m1"]

    for number in range(2, MANY * 6 // 10):
        world.set_condition(f"m{number}", "Ready", "Unknown")
    world.run(SECONDS + 3)
    world.set_condition("m1", "Ready", "True")
    world.run(1)

    assert world.fixes() == []
    assert 0 < marked(world, "False") < MANY * 6 // 10 - 2
    assert world.said("RemediationAllowed")[0] == "False"


@pytest.mark.slow
def test_slow_writes_of_marks_delay_no_other_machine(new_world: NewWorld) -> None:
    """Of the three seconds, reads and writes for the remediation itself take nearly two."""
    world = new_world()
    world.add_pool(MANY)
    world.add_check(template=True, checks=CHECKS)
    world.start(link=LinkQuality(delay=(0.1, 0.15)))
    world.run(SECONDS)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(SECONDS + 3)

    assert world.fixes() == ["m1"]
    assert 0 < marked(world, "True") < MANY - 1


@pytest.mark.slow
def test_everything_is_marked_in_the_end(world: MachineWorld) -> None:
    world.run(60)

    assert marked(world, "True") == MANY
