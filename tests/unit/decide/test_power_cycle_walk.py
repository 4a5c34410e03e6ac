"""Whole lives in a tiny world: whatever happens at whichever step, nothing is released but from a machine
that is off under our hold, every walk ends, and nothing of ours is left behind."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from nodemend.api.pause import Pause
from nodemend.api.power_cycle import Metal3RemediationSpec, Phase
from nodemend.decide.holds import Hold
from nodemend.decide.power_cycle_steps import AskOwner, GiveBack, GiveUp, HandOver, PlaceHold, Step, WantOff
from nodemend.decide.remediation_steps import (
    Close,
    Done,
    DropFinalizer,
    ForgetEvidence,
    MarkReleased,
    RecordEvidence,
    Release,
    Untaint,
)
from tests.unit.decide.power_walk import Fault, World, Write, left_behind
from tests.unit.decide.worlds import ACTING

MOST_STEPS: Final = 2500
MOST_TIME: Final = 4 * 3600.0
STEPS_OF_A_LIFE: Final = 24
"""So many are not holds, from creation to the end."""
SOON: Final = 45.0


def live(world: World, *, stop: type[Step] | None = None) -> World:
    """Until it is over, then deleted as the checker does, until it is gone; or until a step of this kind."""
    began = world.now
    for _ in range(MOST_STEPS):
        if world.gone:
            return world
        step = world.go_on()
        if stop is not None and isinstance(step, stop):
            return world
        if isinstance(step, Done):
            world.delete()
        assert world.now - began < MOST_TIME, world.status
    raise AssertionError(f"it does not end: {world.status}")


def advance(world: World, steps: int) -> bool:
    """So many steps that are no holds; False when it ended before."""
    done = 0
    for _ in range(MOST_STEPS):
        if done == steps:
            return True
        step = world.go_on()
        done += not isinstance(step, Hold)
        if world.gone or isinstance(step, Done):
            return False
    raise AssertionError(f"it does not come to step {steps}: {world.status}")


def await_(world: World, what: Callable[[], bool]) -> None:
    for _ in range(MOST_STEPS):
        if what():
            return
        world.go_on()
    raise AssertionError(f"waited in vain: {world.status}")


def kinds(world: World) -> list[str]:
    return [type(step).__name__ for step in world.told if not isinstance(step, Hold)]


def count(world: World, kind: type[Step]) -> int:
    return sum(isinstance(step, kind) for step in world.told)


def test_a_life() -> None:
    world = live(World())
    assert kinds(world) == [
        "AddFinalizer",
        "Stamp",
        "RecordTarget",
        "TakeLock",
        "WantOff",
        "PlaceHold",
        "NoteOff",
        "RecordEvidence",
        "Release",
        "ReportLeft",
        "ReportLeft",
        "MarkReleased",
        "Untaint",
        "ForgetTaint",
        "GiveBack",
        "Close",
        "DropLock",
        "Done",
        "DropFinalizer",
    ]
    assert left_behind(world) == []
    assert world.pods == 0


def test_a_life_without_a_node() -> None:
    world = live(World(node=None))
    assert "Release" not in kinds(world)
    assert count(world, PlaceHold) == 1
    assert left_behind(world) == []


def test_dead_hardware_gets_its_attempts_one_more_switch_off_and_is_handed_over_off() -> None:
    world = live(World(boots_well=False), stop=AskOwner)
    assert count(world, PlaceHold) == 1 + 3 + 1
    assert count(world, GiveUp) == 1 + 3
    assert count(world, HandOver) == 1
    assert world.host is not None
    assert (world.power, world.host.held_by_us, world.host.marked_unhealthy) == (False, True, True)
    assert world.pods == 0


def test_without_retries_there_is_one_attempt() -> None:
    world = World(spec=Metal3RemediationSpec(delete_after_retries=0), boots_well=False)
    assert count(live(world, stop=AskOwner), PlaceHold) == 1 + 1


def test_a_machine_that_cannot_be_switched_off_is_never_handed_over_nor_released() -> None:
    world = live(World(obeys=False))
    assert count(world, GiveUp) == 1 + 3
    assert [count(world, kind) for kind in (HandOver, RecordEvidence, Release)] == [0, 0, 0]
    assert world.status.phase is Phase.FAILED
    assert left_behind(world) == []


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
    """The host is as a sound one again; what was done to the machine stays."""
    world.touch(paused=False, detached=False)
    if world.host and world.host.operational_status in ("error", "servicing"):
        world.say(operational_status="OK", error_type="")
    if world.host and world.host.manageable:
        world.say(manageable="")
    world.policy = ACTING


def switch_on_by_hand(world: World) -> None:
    """Its operator finds out at once."""
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
def test_whatever_happens_at_whichever_step(fault: Fault, deleted: bool) -> None:
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
        assert left_behind(world) == [], f"{fault.__name__} at step {at}"


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
        assert left_behind(world) == [], f"{fault.__name__}, then {again.__name__} at step {at}"


@pytest.mark.parametrize("at", range(STEPS_OF_A_LIFE))
def test_deleted_after_every_step_it_comes_to_its_safe_end(at: int) -> None:
    world = World()
    advance(world, at)
    world.delete()
    live(world)
    assert left_behind(world) == []
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
    assert left_behind(world) == []
    assert count(world, Close) >= 1


@pytest.mark.parametrize("at", range(STEPS_OF_A_LIFE))
def test_after_a_change_of_leaders_nothing_is_cycled_twice(at: int) -> None:
    world = World()
    advance(world, at)
    world.change_leaders()
    live(world)
    placed = [one for one in world.told if isinstance(one, PlaceHold)]
    assert len(placed) == 1
    assert count(world, ForgetEvidence) == 0
    assert left_behind(world) == []


LATER: Final = (2, 3, 5, 8, 13, 10_000)
"""After the first pass of the new leader. What others do to the host while a write of ours is on its way, and
nobody has looked since, cannot be noticed by anybody."""


def hold_back(at: int, later: int, fault: Fault, *, deleted: bool) -> World:
    """The write of step `at` stays under way while another leads, and lands so many passes later."""
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
        if isinstance(world.go_on(), Done):
            world.delete()
    world.land(write)
    world.pass_time(0.2)
    heal(world)
    return live(world)


@pytest.mark.parametrize("fault", [pause, take_hold_off, touch_status, switch_on_by_hand, change_leaders])
@pytest.mark.parametrize("at", range(STEPS_OF_A_LIFE))
def test_a_write_of_an_earlier_leader_that_lands_late_does_no_harm(at: int, fault: Fault) -> None:
    for later in LATER:
        assert left_behind(hold_back(at, later, fault, deleted=False)) == [], f"{later} passes later"


PLACES_HOLD: Final = 5


@pytest.mark.parametrize("at", sorted({*range(STEPS_OF_A_LIFE)} - {PLACES_HOLD}))
def test_nor_does_it_when_the_remediation_is_deleted_meanwhile(at: int) -> None:
    for later in (1, *LATER):
        assert left_behind(hold_back(at, later, change_leaders, deleted=True)) == [], f"{later} passes later"


def test_a_host_held_by_others_too_is_told_and_ends() -> None:
    world = World()
    advance(world, 6)
    others_hold(world)
    for _ in range(200):
        world.go_on()
    world.delete()
    live(world)
    assert left_behind(world) == []
    assert not world.power


def test_off_by_hand_is_not_taken_for_off_by_us() -> None:
    world = World()
    advance(world, 4)
    world.touch(online=False)
    for _ in range(20):
        world.go_on()
    assert not world.power
    assert count(world, PlaceHold) == 0
    world.touch(online=True)
    live(world)
    assert count(world, Release) == 1
    assert left_behind(world) == []


def off_while_the_guard_holds() -> World:
    """Off under our hold, and nothing recorded yet."""
    world = live(World(), stop=PlaceHold)
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
    assert left_behind(world) == []


def test_a_boot_that_began_after_its_host_was_off_is_not_believed_to_be_off() -> None:
    """Somebody switches it on, and neither its operator nor we are told; it speaks, and falls silent."""
    world = off_while_the_guard_holds()
    world.switch(on=True)
    await_(world, lambda: world.speaks)
    world.go_on()
    world.speaks = False
    for _ in range(12):
        world.go_on()
    heal(world)
    live(world)
    assert left_behind(world) == []


def test_a_hold_under_way_cannot_land_when_it_is_over() -> None:
    """Nobody would mind the host, which is another's business by then."""
    world = live(World(), stop=WantOff)
    write = world.think()
    assert isinstance(write.step, PlaceHold)
    world.deleting = True
    await_(world, lambda: world.gone)
    world.land(write)
    assert left_behind(world) == []
    assert world.power


def late_release(world: World) -> Write:
    """The release, decided and sent, and not there yet."""
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


def test_nor_because_an_earlier_mark_still_stood() -> None:
    world = live(World(), stop=RecordEvidence)
    pause(world)
    world.go_on()
    heal(world)
    live(world, stop=RecordEvidence)  # Anew: what was voided is not released on.
    write = late_release(world)
    take_hold_off(world)
    await_(world, lambda: world.power)
    world.land(write)
    live(world)
    assert left_behind(world) == []


def test_nor_after_the_host_went_away() -> None:
    world = live(World(), stop=RecordEvidence)
    write = late_release(world)
    world.host = None
    await_(world, lambda: world.status.phase is Phase.FAILED)
    world.land(write)
    assert world.node
    assert not world.node.taints


def test_nothing_is_released_on_evidence_that_was_voided_though_all_seems_well_again() -> None:
    world = live(World(), stop=RecordEvidence)
    pause(world)
    world.go_on()
    heal(world)
    with pytest.raises(AssertionError, match="nothing is released"):
        late_release(world)
    live(world)
    assert left_behind(world) == []


def test_a_detour_through_detached_between_two_looks_is_noticed() -> None:
    """It is off, and the guard holds its release. Detached, switched on, attached again, all in between."""
    world = off_while_the_guard_holds()
    detach_and_switch_on(world)
    world.touch(detached=False)
    world.pass_time(0.1)
    world.policy = ACTING
    live(world)


def test_power_is_not_cycled_without_end_nor_without_being_counted() -> None:
    world = World()
    for _ in range(MOST_STEPS):
        if isinstance(world.go_on(), RecordEvidence):
            touch_status(world)
        if count(world, PlaceHold) > 1 + 3 + 1:
            break
    assert count(world, PlaceHold) <= 1 + 3 + 1


def test_a_node_that_spoke_again_while_its_workloads_leave_loses_no_more_of_them() -> None:
    world = live(World(), stop=Release)
    switch_on_by_hand(world)
    world.go_on()
    assert [one.contradicted for one in world.told if isinstance(one, Untaint)] == [True]
    live(world)
    assert left_behind(world) == []


def test_evidence_is_recorded_before_it_is_used_and_on_a_version_seen_on() -> None:
    told = [type(step) for step in live(World()).told]
    order = [
        told.index(kind) for kind in (WantOff, PlaceHold, RecordEvidence, Release, MarkReleased, GiveBack)
    ]
    assert order == sorted(order)
