"""The RemediationPolicy's status records the remediations of Machines and their outcomes."""

from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.resources import REMEDIATION_POLICY
from nodemend.records.machine import OPENSHIFT
from tests.unit.health.machine.conftest import NewWorld
from tests.unit.health.machine.machine_world import FIX, SPACE, MachineWorld


def history(world: MachineWorld) -> list[dict[str, Any]]:
    policy = world.api.get(REMEDIATION_POLICY, well_known.POLICY_NAME) or {}
    found: list[dict[str, Any]] = policy.get("status", {}).get("machineHistory", [])
    return found


def reported(world: MachineWorld) -> list[tuple[str, str, str]]:
    return [(one["machine"], one["kind"], one.get("outcome", "")) for one in history(world)]


def with_pool(world: MachineWorld, **check: Any) -> MachineWorld:
    world.add_pool(6)
    world.add_check(**check)
    return world.start()


def fail(world: MachineWorld, *names: str, seconds: float = 70.0) -> None:
    for name in names:
        world.set_condition(name, "Ready", "Unknown")
    world.run(seconds)


def test_a_machine_that_its_owner_replaces_has_the_outcome_gone(new_world: NewWorld) -> None:
    world = with_pool(new_world())
    assert history(world) == []
    fail(world, "m1")
    assert reported(world) == [("default/m1", "OwnerRemediation", "")]
    began = history(world)[0]["began"]

    world.run(30)
    world.api.delete(world.machines_at, "m1", SPACE)
    world.run(5)

    (entry,) = history(world)
    assert (entry["outcome"], entry["began"], entry["check"], entry["node"]) == (
        "Gone",
        began,
        "workers",
        "m1",
    )
    assert entry["ended"] > began


def test_a_machine_that_a_remediation_heals_is_healed(new_world: NewWorld) -> None:
    world = with_pool(new_world(), template=True)
    fail(world, "m1")
    assert reported(world) == [("default/m1", "Metal3Remediation", "")]

    world.set_condition("m1", "Ready", "True")
    world.run(10)

    assert world.fixes() == []
    assert reported(world) == [("default/m1", "Metal3Remediation", "Healed")]


def test_a_remediation_that_a_user_deletes_is_withdrawn_and_created_again(
    new_world: NewWorld,
) -> None:
    world = with_pool(new_world(), template=True)
    fail(world, "m1")
    world.api.delete(FIX, "m1", SPACE)
    world.run(20)

    assert reported(world) == [
        ("default/m1", "Metal3Remediation", ""),
        ("default/m1", "Metal3Remediation", "Withdrawn"),
    ]


def test_a_request_that_a_storm_revokes_is_withdrawn(new_world: NewWorld) -> None:
    world = with_pool(new_world(), remediation={"triggerIf": {"unhealthyLessThanOrEqualTo": 1}})
    fail(world, "m1")
    fail(world, "m2", "m3")

    assert reported(world) == [("default/m1", "OwnerRemediation", "Withdrawn")]


def test_a_machine_that_the_checker_deleted_has_the_outcome_gone(new_world: NewWorld) -> None:
    world = with_pool(new_world(OPENSHIFT, "v1beta1", machines={"deleteMachines": True}))
    fail(world, "m1")

    assert world.machine("m1") is None
    assert reported(world) == [("default/m1", "MachineDeletion", "Gone")]


def test_the_next_leader_continues_the_history(new_world: NewWorld) -> None:
    world = with_pool(new_world())
    fail(world, "m1", "m2", seconds=90.0)
    before = history(world)
    world.close()
    world.start()
    world.run(10)
    assert history(world) == before

    world.api.delete(world.machines_at, "m1", SPACE)
    world.run(5)
    assert sorted(reported(world)) == [
        ("default/m1", "OwnerRemediation", "Gone"),
        ("default/m2", "OwnerRemediation", ""),
    ]


def test_without_a_change_nothing_is_written(new_world: NewWorld) -> None:
    world = with_pool(new_world())
    fail(world, "m1")
    world.run(20)
    writes = len(world.writes)
    world.run(120)

    assert world.writes[writes:] == []


@pytest.mark.slow
def test_the_oldest_make_room_for_the_newest(new_world: NewWorld) -> None:
    world = new_world(maxConcurrent=100)
    world.add_pool(60)
    world.add_check()
    world.start()
    fail(world, *(f"m{number}" for number in range(1, 56)), seconds=200.0)
    entries = history(world)
    settled = len(world.writes)
    world.run(60)

    assert len(entries) == 50
    assert entries == sorted(entries, key=lambda one: (one["began"], one["machine"]), reverse=True)
    assert world.writes[settled:] == []
