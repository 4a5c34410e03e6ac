"""Eviction policy for connection slots."""

from nodemend.agent.peer_http import ConnectionSlots


def test_no_connection_is_closed_while_there_is_room() -> None:
    places = ConnectionSlots[int](most=3, most_from_one=2)
    assert [places.come(number, f"s{number}") for number in range(3)] == [None, None, None]
    assert len(places._guests) == 3


def test_a_full_source_loses_its_oldest_connection_to_the_next() -> None:
    places = ConnectionSlots[int](most=10, most_from_one=2)
    assert [places.come(number, "s") for number in range(4)] == [None, None, 0, 1]
    assert len(places._guests) == 2


def test_a_full_listener_closes_the_oldest_connection_of_the_client_with_the_most() -> None:
    places = ConnectionSlots[str](most=4, most_from_one=3)
    for guest in ("first-a", "only-b", "second-a", "only-c"):
        places.come(guest, guest[-1])

    assert places.come("only-d", "d") == "first-a"
    assert places.come("only-e", "e") == "only-b"
    assert len(places._guests) == 4


def test_a_closed_connection_frees_its_place_only_once() -> None:
    places = ConnectionSlots[str](most=1, most_from_one=1)
    places.come("a", "a")
    places.leave("a")
    places.leave("a")
    assert len(places._guests) == 0
    assert places.come("b", "b") is None


def test_an_evicted_connection_that_closes_does_not_free_its_successor_s_place() -> None:
    places = ConnectionSlots[str](most=1, most_from_one=1)
    places.come("a", "s")
    assert places.come("b", "s") == "a"
    places.leave("a")
    assert len(places._guests) == 1
