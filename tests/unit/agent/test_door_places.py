"""Eviction policy for connection slots."""

from nodemend.agent.peer_http import ConnectionSlots


def test_while_there_is_room_nobody_leaves() -> None:
    places = ConnectionSlots[int](most=3, most_from_one=2)
    assert [places.come(number, f"s{number}") for number in range(3)] == [None, None, None]
    assert len(places) == 3


def test_of_one_source_the_oldest_leaves_for_the_next() -> None:
    places = ConnectionSlots[int](most=10, most_from_one=2)
    assert [places.come(number, "s") for number in range(4)] == [None, None, 0, 1]
    assert len(places) == 2


def test_when_all_is_taken_the_oldest_leaves_of_whoever_has_the_most() -> None:
    places = ConnectionSlots[str](most=4, most_from_one=3)
    for guest in ("first-a", "only-b", "second-a", "only-c"):
        places.come(guest, guest[-1])

    assert places.come("only-d", "d") == "first-a"
    assert places.come("only-e", "e") == "only-b"
    assert len(places) == 4


def test_who_has_left_has_no_place_and_may_say_so_twice() -> None:
    places = ConnectionSlots[str](most=1, most_from_one=1)
    places.come("a", "a")
    places.leave("a")
    places.leave("a")
    assert len(places) == 0
    assert places.come("b", "b") is None


def test_who_had_to_leave_and_says_so_takes_nothing_from_its_successor() -> None:
    places = ConnectionSlots[str](most=1, most_from_one=1)
    places.come("a", "s")
    assert places.come("b", "s") == "a"
    places.leave("a")
    assert len(places) == 1
