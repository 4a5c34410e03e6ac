"""Held targets are woken in turn, and never more at once than are evaluated."""

import pytest

from nodemend.guard.state import A_MOMENT, AT_A_TIME, EVERY, RECHECK_INTERVAL, HeldQueue
from nodemend.safety.guard_holds import CoolingDown, StartInterval
from nodemend.safety.holds import Hold

COOLING_DOWN = Hold(CoolingDown(100.0))


def a_held_queue(count: int) -> HeldQueue[int]:
    queue: HeldQueue[int] = HeldQueue()
    for key in range(count):
        queue.upsert(key, COOLING_DOWN, 0.0)
    return queue


def test_the_longest_asleep_are_woken_first() -> None:
    queue = a_held_queue(AT_A_TIME + 10)

    assert queue.wake(0.0) == list(range(AT_A_TIME))
    assert queue.again_in(0.0) == EVERY


def test_no_more_targets_are_woken_than_were_evaluated() -> None:
    queue = a_held_queue(3 * AT_A_TIME)
    queue.wake(0.0)
    for key in range(7):
        queue.leave(key)

    assert queue.wake(0.0) == list(range(AT_A_TIME, AT_A_TIME + 7))
    assert queue.wake(0.0) == []


def test_a_target_that_is_held_again_goes_to_the_end_of_the_queue() -> None:
    queue = a_held_queue(AT_A_TIME + 1)
    (first, *others) = queue.wake(0.0)
    queue.leave(first)
    queue.upsert(first, COOLING_DOWN, 0.0)
    for key in others:
        queue.leave(key)

    assert queue.wake(0.0) == [AT_A_TIME, first]
    assert queue.again_in(0.0) is None


@pytest.mark.attack("X4")
def test_who_is_held_by_the_pace_is_woken_when_it_ends_before_thousands_of_others() -> None:
    queue = a_held_queue(1000)

    assert queue.upsert(-1, Hold(StartInterval(3.0)), 10.0) == 3.0 + A_MOMENT
    assert -1 not in queue.wake(12.9)
    for key in range(1000):
        queue.leave(key)
        queue.upsert(key, COOLING_DOWN, 12.9)
    assert queue.wake(13.1)[0] == -1


def test_no_target_is_woken_during_the_pace_hold() -> None:
    queue: HeldQueue[int] = HeldQueue()
    assert queue.upsert(1, Hold(StartInterval(60.0)), 0.0) == RECHECK_INTERVAL
    assert queue.wake(10.0) == []
    assert queue.again_in(10.0) == 50.0 + A_MOMENT
    assert queue.wake(60.1) == [1]
    assert queue.again_in(60.1) is None


def test_the_pace_leaves_half_of_the_room_to_others() -> None:
    queue = a_held_queue(100)
    for key in range(100, 200):
        queue.upsert(key, Hold(StartInterval(1.0)), 0.0)
    assert queue.wake(2.0) == [100, 101, 102, 103, 104, 0, 1, 2, 3, 4]
