"""The peers that a node may ask, and in which rounds."""

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.protocol.peers import MOST_PEERS, WINDOW, Peer, PeerRing, first_round, second_round


def nodes(count: int, *, domains: int = 1) -> list[Peer]:
    return [
        Peer(f"node-{number}", f"uid-{number}", f"10.0.0.{number}:9443", f"rack-{number % domains}")
        for number in range(count)
    ]


def propose(node: str, candidates: Iterable[Peer]) -> tuple[Peer, ...]:
    return PeerRing(candidates).peers_of(node)


@pytest.mark.parametrize(("count", "peers"), [(0, 0), (1, 0), (2, 1), (3, 2), (16, 15), (100, 15)])
def test_no_node_is_its_own_peer_or_has_too_many(count: int, peers: int) -> None:
    proposed = propose("node-0", nodes(count))

    assert len(proposed) == peers <= MOST_PEERS
    assert "node-0" not in {one.name for one in proposed}


def test_every_domain_is_asked_before_any_is_asked_twice() -> None:
    proposed = propose("node-0", nodes(40, domains=4))

    assert [len({one.domain for one in proposed[begin : begin + 4]}) for begin in (0, 4, 8)] == [4, 4, 4]


def test_a_domain_with_few_nodes_leaves_its_turns_to_others() -> None:
    isolated = Peer("lonely", "uid-lonely", "10.0.1.1:9443", "far")
    proposed = propose("node-0", [*nodes(30), isolated])

    assert isolated in proposed[:2]
    assert len(proposed) == MOST_PEERS


@given(st.integers(2, 60), st.data())
def test_who_comes_or_goes_changes_one_place_of_a_list_at_most(count: int, data: st.DataObject) -> None:
    all_nodes = nodes(count)
    gone = data.draw(st.sampled_from(all_nodes[1:]))

    before = propose("node-0", all_nodes)
    after = propose("node-0", [one for one in all_nodes if one != gone])

    assert len(set(before) - set(after)) <= 1
    assert len(set(after) - set(before)) <= 1


@given(st.integers(2, 90), st.integers(1, 12), st.data())
def test_with_failure_domains_it_changes_two_places_at_most(
    count: int, domains: int, data: st.DataObject
) -> None:
    all_nodes = nodes(count, domains=domains)
    gone = data.draw(st.sampled_from(all_nodes[1:]))

    before = propose("node-0", all_nodes)
    after = propose("node-0", [one for one in all_nodes if one != gone])

    assert len(set(before) - set(after)) <= 2
    assert len(set(after) - set(before)) <= 2


@pytest.mark.attack("S1", "S3")
@pytest.mark.parametrize("count", [17, 40, 100, 1000, 5000])
@pytest.mark.parametrize("zones", [1, 3], ids=["no zones", "three zones"])
@pytest.mark.parametrize(
    "claims",
    [("own-1", "own-2"), ("own", "own"), tuple(f"own-{number}" for number in range(8))],
    ids=["two claim a zone each", "two claim one zone", "eight claim a zone each"],
)
def test_no_label_makes_a_node_the_peer_of_more_than_twice_the_average(
    count: int, zones: int, claims: tuple[str, ...]
) -> None:
    all_nodes = nodes(count, domains=zones)
    for number, domain in enumerate(claims):
        one = all_nodes[number]
        all_nodes[number] = Peer(one.name, one.uid, one.address, domain)
    ring, times = PeerRing(all_nodes), Counter[str]()
    for node in all_nodes:
        proposed = [peer.name for peer in ring.peers_of(node.name)]
        assert len(proposed) == min(MOST_PEERS, count - 1)
        times.update(proposed)

    assert max(times.values()) <= WINDOW == 2 * MOST_PEERS


def test_the_order_in_which_nodes_are_read_does_not_matter() -> None:
    all_nodes = nodes(40, domains=3)
    assert set(propose("node-7", all_nodes)) == set(propose("node-7", reversed(all_nodes)))


def test_all_are_asked_about_equally_often() -> None:
    all_nodes = nodes(100)
    times = dict.fromkeys((one.name for one in all_nodes), 0)
    for node in all_nodes:
        for peer in propose(node.name, all_nodes):
            times[peer.name] += 1
    assert min(times.values()) >= 5
    assert max(times.values()) <= 30


@pytest.mark.parametrize(("peers", "first"), [(0, 0), (1, 1), (2, 2), (3, 3), (15, 3)])
def test_the_first_round_is_small(peers: int, first: int) -> None:
    assert len(first_round(nodes(peers), 0.0)) == first


@given(st.integers(0, 15), st.floats(0, 1, exclude_max=True))
def test_two_rounds_ask_every_peer_once(count: int, chance: float) -> None:
    peers = nodes(count)
    first = first_round(peers, chance)
    second = second_round(peers, first)

    assert sorted(one.name for one in (*first, *second)) == sorted(one.name for one in peers)


def test_chance_decides_who_is_first() -> None:
    peers = nodes(15)
    assert {first_round(peers, number / 15)[0] for number in range(15)} == set(peers)


def test_of_very_many_a_tenth_is_asked_first() -> None:
    many = [Peer(f"n{number}", "", "") for number in range(31)]

    assert len(first_round(many, 0.0)) == 4
