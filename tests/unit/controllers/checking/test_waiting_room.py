"""Who is held is woken in turn, and never more at once than are looked at."""

from nodemend.controllers.checking.waiting_room import AT_A_TIME, WaitingRoom


def a_room(count: int) -> WaitingRoom[int]:
    room: WaitingRoom[int] = WaitingRoom()
    for key in range(count):
        room.enter(key)
    return room


def test_the_longest_asleep_are_woken_first() -> None:
    room = a_room(AT_A_TIME + 10)

    assert room.wake() == list(range(AT_A_TIME))
    assert room


def test_no_more_are_woken_than_were_looked_at() -> None:
    room = a_room(3 * AT_A_TIME)
    room.wake()
    for key in range(7):
        room.leave(key)

    assert room.wake() == list(range(AT_A_TIME, AT_A_TIME + 7))
    assert room.wake() == []


def test_who_is_looked_at_and_held_again_sleeps_at_the_end() -> None:
    room = a_room(AT_A_TIME + 1)
    (first, *others) = room.wake()
    room.leave(first)
    room.enter(first)
    for key in others:
        room.leave(key)

    assert room.wake() == [AT_A_TIME, first]
    assert not room
