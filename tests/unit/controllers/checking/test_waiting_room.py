"""Who is held is woken in turn, and never more at once than are looked at."""

import pytest

from nodemend.controllers.checking.waiting_room import A_MOMENT, AT_A_TIME, EVERY, LOOK_AGAIN, WaitingRoom
from nodemend.decide.guard_holds import Pacing, Settling
from nodemend.decide.holds import Hold

SETTLING = Hold(Settling(100.0))


def a_room(count: int) -> WaitingRoom[int]:
    room: WaitingRoom[int] = WaitingRoom()
    for key in range(count):
        room.enter(key, SETTLING, 0.0)
    return room


def test_the_longest_asleep_are_woken_first() -> None:
    room = a_room(AT_A_TIME + 10)

    assert room.wake(0.0) == list(range(AT_A_TIME))
    assert room.again_in(0.0) == EVERY


def test_no_more_are_woken_than_were_looked_at() -> None:
    room = a_room(3 * AT_A_TIME)
    room.wake(0.0)
    for key in range(7):
        room.leave(key)

    assert room.wake(0.0) == list(range(AT_A_TIME, AT_A_TIME + 7))
    assert room.wake(0.0) == []


def test_who_is_looked_at_and_held_again_sleeps_at_the_end() -> None:
    room = a_room(AT_A_TIME + 1)
    (first, *others) = room.wake(0.0)
    room.leave(first)
    room.enter(first, SETTLING, 0.0)
    for key in others:
        room.leave(key)

    assert room.wake(0.0) == [AT_A_TIME, first]
    assert room.again_in(0.0) is None


@pytest.mark.attack("X4")
def test_who_is_held_by_the_pace_is_woken_when_it_ends_before_thousands_of_others() -> None:
    room = a_room(1000)

    assert room.enter(-1, Hold(Pacing(3.0)), 10.0) == 3.0 + A_MOMENT
    assert -1 not in room.wake(12.9)
    for key in range(1000):
        room.leave(key)
        room.enter(key, SETTLING, 12.9)
    assert room.wake(13.1)[0] == -1


def test_nobody_is_woken_for_the_pace_while_it_holds() -> None:
    room: WaitingRoom[int] = WaitingRoom()
    assert room.enter(1, Hold(Pacing(60.0)), 0.0) == LOOK_AGAIN
    assert room.wake(10.0) == []
    assert room.again_in(10.0) == 50.0 + A_MOMENT
    assert room.wake(60.1) == [1]
    assert room.again_in(60.1) is None


def test_the_pace_leaves_half_of_the_room_to_others() -> None:
    room = a_room(100)
    for key in range(100, 200):
        room.enter(key, Hold(Pacing(1.0)), 0.0)
    assert room.wake(2.0) == [100, 101, 102, 103, 104, 0, 1, 2, 3, 4]
