"""Whole lives in a tiny world, with a fault at any step.

Workloads are released only from a machine that is off under Nodemend's power-off request, every walk ends,
and none leaves anything behind.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from nodemend.api.meta import Pause
from nodemend.api.metal3_remediation import Metal3RemediationPhase, Metal3RemediationSpec
from nodemend.remediation.metal3.model import (
    AskOwner,
    ClearPowerOff,
    FailAttempt,
    PreparePowerOff,
    ReplaceMachine,
    RequestPowerOff,
    Step,
)
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import (
    Close,
    DropFinalizer,
    ForgetEvidence,
    MarkReleased,
    NothingLeft,
    RecordEvidence,
    Release,
    RemoveTaint,
)
from tests.unit.remediation.metal3.power_walk import Fault, World, Write, orphaned
from tests.unit.safety.worlds import ACTING

MOST_STEPS: Final = 2500
MOST_TIME: Final = 4 * 3600.0
STEPS_OF_A_LIFE: Final = 24
"""Number of steps that are not holds, from creation to the end."""
SOON: Final = 45.0


def live(world: World, *, stop: type[Step] | None = None) -> World:
    """Run until it is over, then delete it as the checker does, until it is gone; or until a step of this
    kind.
    """
    began = world.now
    for _ in range(MOST_STEPS):
        if world.gone:
            return world
        step = world.go_on()
        if stop is not None and isinstance(step, stop):
            return world
        if isinstance(step, NothingLeft):
            world.delete()
        assert world.now - began < MOST_TIME, world.status
    raise AssertionError(f"it does not end: {world.status}")


def advance(world: World, steps: int) -> bool:
    """Run this many steps that are not holds; False if it ended before."""
    done = 0
    for _ in range(MOST_STEPS):
        if done == steps:
            return True
        step = world.go_on()
        done += not isinstance(step, Hold)
        if world.gone or isinstance(step, NothingLeft):
            return False
    raise AssertionError(f"it does not come to step {steps}: {world.status}")


def await_(world: World, what: Callable[[], bool]) -> None:
    for _ in range(MOST_STEPS):
        if what():
            return
        world.go_on()
    raise AssertionError(f"waited in vain: {world.status}")


def kinds(world: World) -> list[str]:
    return [step.step for step in world.reported if not isinstance(step, Hold)]


def count(world: World, kind: type[Step]) -> int:
    return sum(isinstance(step, kind) for step in world.reported)


def test_a_life() -> None:
    world = live(World())
    assert kinds(world) == [
        "AddFinalizer",
        "RecordEpoch",
        "RecordTarget",
        "TakeLock",
        "PreparePowerOff",
        "RequestPowerOff",
        "RecordOff",
        "RecordEvidence",
        "Release",
        "ReportRemaining",
        "ReportRemaining",
        "MarkReleased",
        "RemoveTaint",
        "ForgetTaint",
        "ClearPowerOff",
        "Close",
        "DropLock",
        "Done",
        "DropFinalizer",
    ]
    assert orphaned(world) == []
    assert world.pods == 0


def test_a_life_without_a_node() -> None:
    world = live(World(node=None))
    assert "Release" not in kinds(world)
    assert count(world, RequestPowerOff) == 1
    assert orphaned(world) == []


def test_dead_hardware_gets_its_attempts_one_more_switch_off_and_is_handed_over_off() -> None:
    world = live(World(boots_well=False), stop=AskOwner)
    assert count(world, RequestPowerOff) == 1 + 3 + 1
    assert count(world, FailAttempt) == 1 + 3
    assert count(world, ReplaceMachine) == 1
    assert world.host is not None
    assert (world.power, world.host.held_by_us, world.host.marked_unhealthy) == (False, True, True)
    assert world.pods == 0


def test_without_retries_there_is_one_attempt() -> None:
    world = World(spec=Metal3RemediationSpec(delete_after_retries=0), boots_well=False)
    assert count(live(world, stop=AskOwner), RequestPowerOff) == 1 + 1


def test_a_machine_that_cannot_be_switched_off_is_never_handed_over_nor_released() -> None:
    world = live(World(obeys=False))
    assert count(world, FailAttempt) == 1 + 3
    assert [count(world, kind) for kind in (ReplaceMachine, RecordEvidence, Release)] == [0, 0, 0]
    assert world.status.phase is Metal3RemediationPhase.FAILED
    assert orphaned(world) == []


def pause(world: World) -> None:
    world.touch(paused=True)


def detach_and_switch_on(world: World) -> None:
    world.touch(detached=True)
    world.pass_time(1.0)
    world.switch(on=True)


def fail_power(world: World) -> None:
    world.say(operational_status="error", error_type="power management error")


def service(world: World) -> None:
    world.say(operational_status="servicing")


def lose_bmc(world: World) -> None:
    world.say(manageable="PowerFailure")


def heal(world: World) -> None:
    """The host is healthy again; earlier faults of the machine stay."""
    world.touch(paused=False, detached=False)
    if world.host and world.host.operational_status in ("error", "servicing"):
        world.say(operational_status="OK", error_type="")
    if world.host and world.host.manageable:
        world.say(manageable="")
    world.policy = ACTING


def switch_on_by_hand(world: World) -> None:
    """Its operator notices at once."""
    world.switch(on=True)
    if world.host and not world.host.powered_on:
        world.say(powered_on=True)


def take_hold_off(world: World) -> None:
    world.touch(held_by_us=False)


def touch_status(world: World) -> None:
    world.say()


def speak_again(world: World) -> None:
    """The node's network is back, if its machine runs."""
    world.speaks = world.power


def change_leaders(world: World) -> None:
    world.change_leaders()


def lose_node(world: World) -> None:
    world.node, world.mark = None, ""


def replace_node(world: World) -> None:
    if world.node:
        world.node, world.mark = replace(world.node, uid="uid-9", version="1", taints=()), ""


def pause_everything(world: World) -> None:
    world.policy = replace(ACTING, pause=Pause(reason="x", by="anna"))


def others_hold(world: World) -> None:
    world.touch(held_by_others=("reboot.metal3.io/x",))


FAULTS: Final[tuple[Fault, ...]] = (
    pause,
    detach_and_switch_on,
    fail_power,
    service,
    lose_bmc,
    switch_on_by_hand,
    take_hold_off,
    touch_status,
    speak_again,
    change_leaders,
    lose_node,
    replace_node,
    pause_everything,
)


@pytest.mark.parametrize("deleted", [False, True], ids=["wanted", "deleted"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_any_single_failure_at_any_step(fault: Fault, deleted: bool) -> None:
    for at in range(STEPS_OF_A_LIFE):
        world = World()
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


@pytest.mark.parametrize("again", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_two_things_one_after_the_other_while_it_is_off(fault: Fault, again: Fault) -> None:
    for at in (6, 7, 8, 10):
        world = World()
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
    world = World()
    advance(world, at)
    world.delete()
    live(world)
    assert orphaned(world) == []
    assert count(world, DropFinalizer) <= 1


@pytest.mark.parametrize("at", range(STEPS_OF_A_LIFE))
def test_a_step_taken_twice_does_no_harm(at: int) -> None:
    world = World()
    advance(world, at)
    write = world.think()
    world.land(write)
    world.land(write)
    world.pass_time(0.2)
    live(world)
    assert orphaned(world) == []
    assert count(world, Close) >= 1


@pytest.mark.parametrize("at", range(STEPS_OF_A_LIFE))
def test_after_a_change_of_leaders_nothing_is_cycled_twice(at: int) -> None:
    world = World()
    advance(world, at)
    world.change_leaders()
    live(world)
    placed = [one for one in world.reported if isinstance(one, RequestPowerOff)]
    assert len(placed) == 1
    assert count(world, ForgetEvidence) == 0
    assert orphaned(world) == []


LATER: Final = (2, 3, 5, 8, 13, 10_000)
"""Passes after the first pass of the new leader.

Changes of the host by others while a write is under way cannot be noticed before the next read.
"""


def hold_back(at: int, later: int, fault: Fault, *, deleted: bool) -> World:
    """The write of step `at` stays under way while another process leads, and is applied `later` passes
    later.
    """
    world = World()
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
        if isinstance(world.go_on(), NothingLeft):
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


PLACES_HOLD: Final = 5


@pytest.mark.parametrize("at", sorted({*range(STEPS_OF_A_LIFE)} - {PLACES_HOLD}))
def test_nor_does_it_when_the_remediation_is_deleted_meanwhile(at: int) -> None:
    for later in (1, *LATER):
        assert orphaned(hold_back(at, later, change_leaders, deleted=True)) == [], f"{later} passes later"


def test_a_host_held_by_others_too_is_reported_and_the_remediation_ends() -> None:
    world = World()
    advance(world, 6)
    others_hold(world)
    for _ in range(200):
        world.go_on()
    world.delete()
    live(world)
    assert orphaned(world) == []
    assert not world.power


def test_a_manual_power_off_is_not_attributed_to_the_remediation() -> None:
    world = World()
    advance(world, 4)
    world.touch(online=False)
    for _ in range(20):
        world.go_on()
    assert not world.power
    assert count(world, RequestPowerOff) == 0
    world.touch(online=True)
    live(world)
    assert count(world, Release) == 1
    assert orphaned(world) == []


def off_while_the_guard_holds() -> World:
    """Off under Nodemend's power-off request, and no evidence recorded yet."""
    world = live(World(), stop=RequestPowerOff)
    pause_everything(world)
    for _ in range(12):
        world.go_on()
    assert not world.power
    assert world.status.evidence is None
    return world


@pytest.mark.parametrize("passes", [1, 2, 4, 8])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_what_happens_to_a_host_that_is_off_already_is_not_overlooked(fault: Fault, passes: int) -> None:
    world = off_while_the_guard_holds()
    fault(world)
    for _ in range(passes):
        world.go_on()
    heal(world)
    live(world)
    assert orphaned(world) == []


def test_a_boot_that_began_after_the_power_off_voids_the_evidence() -> None:
    """It is powered on without its operator or Nodemend noticing; its kubelet renews its Lease, and falls
    silent.
    """
    world = off_while_the_guard_holds()
    world.switch(on=True)
    await_(world, lambda: world.speaks)
    world.go_on()
    world.speaks = False
    for _ in range(12):
        world.go_on()
    heal(world)
    live(world)
    assert orphaned(world) == []


def test_a_hold_under_way_cannot_land_when_it_is_over() -> None:
    """No controller would clear the request, and another controller may own the host by then."""
    world = live(World(), stop=PreparePowerOff)
    write = world.think()
    assert isinstance(write.step, RequestPowerOff)
    world.deleting = True
    await_(world, lambda: world.gone)
    world.land(write)
    assert orphaned(world) == []
    assert world.power


def late_release(world: World) -> Write:
    """The release, decided and sent, and not applied yet."""
    for _ in range(3):
        write = world.think()
        if isinstance(write.step, Release):
            return write
        world.land(write)
    raise AssertionError(f"nothing is released: {world.status}")


def test_a_release_under_way_cannot_land_after_power_came_back_for_want_of_a_lease() -> None:
    world = live(World(), stop=RecordEvidence)
    write = late_release(world)
    world.lease_readable = False
    await_(world, lambda: world.power)
    world.land(write)
    assert world.node
    assert not world.node.taints


def test_an_earlier_mark_on_the_host_does_not_count() -> None:
    world = live(World(), stop=RecordEvidence)
    pause(world)
    world.go_on()
    heal(world)
    live(world, stop=RecordEvidence)  # Record again: nothing is released on revoked evidence.
    write = late_release(world)
    take_hold_off(world)
    await_(world, lambda: world.power)
    world.land(write)
    live(world)
    assert orphaned(world) == []


def test_nor_after_the_host_went_away() -> None:
    world = live(World(), stop=RecordEvidence)
    write = late_release(world)
    world.host = None
    await_(world, lambda: world.status.phase is Metal3RemediationPhase.FAILED)
    world.land(write)
    assert world.node
    assert not world.node.taints


def test_voided_evidence_releases_nothing_even_if_all_conditions_hold_again() -> None:
    world = live(World(), stop=RecordEvidence)
    pause(world)
    world.go_on()
    heal(world)
    with pytest.raises(AssertionError, match="nothing is released"):
        late_release(world)
    live(world)
    assert orphaned(world) == []


def test_a_detached_state_between_two_reads_is_detected() -> None:
    """It is off, and the guard holds its release.

    In between it is detached, powered on and attached again.
    """
    world = off_while_the_guard_holds()
    detach_and_switch_on(world)
    world.touch(detached=False)
    world.pass_time(0.1)
    world.policy = ACTING
    live(world)


@pytest.mark.slow
def test_power_is_not_cycled_without_end_nor_without_being_counted() -> None:
    world = World()
    for _ in range(MOST_STEPS):
        if isinstance(world.go_on(), RecordEvidence):
            touch_status(world)
        if count(world, RequestPowerOff) > 1 + 3 + 1:
            break
    assert count(world, RequestPowerOff) <= 1 + 3 + 1


def test_a_node_that_reports_again_during_the_release_loses_no_more_workloads() -> None:
    world = live(World(), stop=Release)
    switch_on_by_hand(world)
    world.go_on()
    assert [one.contradicted for one in world.reported if isinstance(one, RemoveTaint)] == [True]
    live(world)
    assert orphaned(world) == []


def test_evidence_is_recorded_before_it_is_used_and_on_an_observed_version() -> None:
    reported = [type(step) for step in live(World()).reported]
    order = [
        reported.index(kind)
        for kind in (PreparePowerOff, RequestPowerOff, RecordEvidence, Release, MarkReleased, ClearPowerOff)
    ]
    assert order == sorted(order)
