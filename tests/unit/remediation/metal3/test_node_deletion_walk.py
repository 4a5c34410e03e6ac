"""Whole lives in which the Node is deleted, with a fault at any step.

Workloads are released only from a machine that is off under Nodemend's power-off request, power never comes
back while pods are being collected, and a Node that comes back gets its fields restored.
"""

from typing import Final

import pytest

from nodemend.api.metal3_remediation import Metal3RemediationPhase, Metal3RemediationSpec, ReleaseBy
from nodemend.remediation.metal3.decide import NODE_AWAITED
from nodemend.remediation.metal3.holds import ActiveAfterRelease
from nodemend.remediation.metal3.model import BackUp, DeleteNode, FailAttempt, RequestPowerOff, Restore
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import DropFinalizer, MarkReleased, Release
from tests.unit.remediation.metal3.power_walk import BELONGINGS, Fault, World, orphaned
from tests.unit.remediation.metal3.test_power_cycle_walk import (
    FAULTS,
    LATER,
    PLACES_HOLD,
    SOON,
    advance,
    change_leaders,
    count,
    heal,
    kinds,
    live,
    lose_node,
    pause,
    switch_on_by_hand,
    take_hold_off,
    touch_status,
)

SPEC: Final = Metal3RemediationSpec(release_by=ReleaseBy.NODE_DELETION)
STEPS_OF_A_LIFE: Final = 27
"""Number of steps that are not holds, from creation to the end."""


def world_of(*, boots_well: bool = True) -> World:
    return World(spec=SPEC, boots_well=boots_well)


def test_a_life() -> None:
    world = live(world_of())
    assert kinds(world) == [
        "AddFinalizer",
        "RecordEpoch",
        "RecordTarget",
        "TakeLock",
        "PreparePowerOff",
        "RequestPowerOff",
        "RecordOff",
        "RecordEvidence",
        "BackUp",
        "DeleteNode",
        "ReportRemaining",
        "ReportRemaining",
        "MarkReleased",
        "ForgetTaint",
        "ClearPowerOff",
        "Restore",
        "ForgetBackup",
        "Close",
        "DropLock",
        "Done",
        "DropFinalizer",
    ]
    assert orphaned(world) == []
    assert world.pods == 0
    assert world.has == BELONGINGS


@pytest.mark.parametrize("deleted", [False, True], ids=["wanted", "deleted"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_any_single_failure_at_any_step(fault: Fault, deleted: bool) -> None:
    for at in range(STEPS_OF_A_LIFE):
        world = world_of()
        if not advance(world, at):
            break
        fault(world)
        if deleted:
            world.delete()
        until = world.now + SOON
        while world.now < until and not world.gone:
            world.go_on()
        heal(world)
        live(world)
        assert orphaned(world) == [], f"{fault.__name__} at step {at}"
        assert count(world, Release) == 0


@pytest.mark.parametrize("again", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_two_things_one_after_the_other_while_it_is_off(fault: Fault, again: Fault) -> None:
    for at in (7, 8, 9, 10, 11):
        world = world_of()
        assert advance(world, at)
        fault(world)
        world.go_on()
        heal(world)
        world.go_on()
        again(world)
        world.go_on()
        heal(world)
        live(world)
        assert orphaned(world) == [], f"{fault.__name__}, then {again.__name__} at step {at}"


@pytest.mark.parametrize("at", range(STEPS_OF_A_LIFE))
def test_a_deletion_after_any_step_reaches_its_safe_end(at: int) -> None:
    """As Kubernetes deletes objects that the Node owns."""
    world = world_of()
    advance(world, at)
    world.delete()
    live(world)
    assert orphaned(world) == []
    assert world.node is not None
    assert world.has == BELONGINGS


@pytest.mark.parametrize("at", range(STEPS_OF_A_LIFE))
def test_a_step_taken_twice_does_no_harm(at: int) -> None:
    world = world_of()
    advance(world, at)
    write = world.think()
    world.land(write)
    world.land(write)
    world.pass_time(0.2)
    live(world)
    assert orphaned(world) == []
    assert world.has == BELONGINGS


@pytest.mark.parametrize("at", range(STEPS_OF_A_LIFE))
def test_after_a_change_of_leaders_nothing_is_cycled_twice(at: int) -> None:
    world = world_of()
    advance(world, at)
    world.change_leaders()
    live(world)
    assert count(world, RequestPowerOff) == 1
    assert world.has == BELONGINGS
    assert orphaned(world) == []


def hold_back(at: int, later: int, fault: Fault, *, deleted: bool) -> World:
    """The write of step `at` stays under way while another process leads, and is applied `later` passes
    later.
    """
    world = world_of()
    if not advance(world, at):
        return world
    write = world.think()
    world.change_leaders()
    fault(world)
    if deleted:
        world.delete()
    for passes in range(later):
        if world.gone:
            break
        if passes == 10:
            heal(world)
        if not isinstance(step := world.go_on(), Hold) and step.step == "Done":
            world.delete()
    world.land(write)
    world.pass_time(0.2)
    heal(world)
    return live(world)


@pytest.mark.parametrize("fault", [pause, take_hold_off, touch_status, switch_on_by_hand, change_leaders])
@pytest.mark.parametrize("at", range(STEPS_OF_A_LIFE))
def test_a_write_of_an_earlier_leader_that_lands_late_does_no_harm(at: int, fault: Fault) -> None:
    for later in LATER:
        assert orphaned(hold_back(at, later, fault, deleted=False)) == [], f"{later} passes later"


@pytest.mark.parametrize("at", sorted({*range(STEPS_OF_A_LIFE)} - {PLACES_HOLD}))
def test_nor_does_it_when_the_remediation_is_deleted_meanwhile(at: int) -> None:
    for later in (1, *LATER):
        assert orphaned(hold_back(at, later, change_leaders, deleted=True)) == [], f"{later} passes later"


def test_what_is_written_on_the_node_after_it_was_backed_up_is_backed_up_too() -> None:
    world = live(world_of(), stop=BackUp)
    world.has = more = BELONGINGS.but(labels={"gpu": "yes"})
    world.node_writes()
    live(world)
    assert count(world, BackUp) == 2
    assert world.has == more


def test_a_heartbeat_while_the_node_is_deleted_ends_it_permanently_after_its_pods_are_gone() -> None:
    world = live(world_of(), stop=DeleteNode)
    world.renewed = world.now
    live(world, stop=FailAttempt)
    [given_up] = [step for step in world.reported if isinstance(step, FailAttempt)]
    assert isinstance(given_up.why, ActiveAfterRelease)
    assert given_up.permanent
    assert world.pods == 0


def test_a_node_that_never_comes_back_keeps_its_belongings_through_all_attempts() -> None:
    world = world_of(boots_well=False)
    live(world, stop=FailAttempt)
    assert world.status.backup == BELONGINGS
    world.boots_well = True
    live(world)
    assert count(world, Restore) == 1
    assert world.has == BELONGINGS


def test_it_is_awaited_after_the_end_too_and_then_the_loss_is_reported() -> None:
    world = live(world_of(boots_well=False), stop=MarkReleased)
    world.delete()
    for _ in range(100):
        assert not world.gone
        world.go_on()
    world.pass_time(NODE_AWAITED)
    live(world)
    [last] = [step for step in world.reported if isinstance(step, DropFinalizer)]
    assert last.lost == ("rack", "team")


def test_a_node_that_others_deleted_before_it_was_backed_up_gets_nothing() -> None:
    world = world_of()
    advance(world, 7)
    lose_node(world)
    live(world)
    assert count(world, Restore) == 0
    assert world.status.phase is Metal3RemediationPhase.SUCCEEDED
