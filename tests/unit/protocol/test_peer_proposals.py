"""The peers that each node must have."""

from dataclasses import replace

import pytest

from nodemend.api.agent import PeerEntry, PeerProposal
from nodemend.protocol.peers import Peer, PeerCandidate, propose_peers


def agent(number: int) -> PeerCandidate:
    peer = Peer(f"n{number}", f"uid-{number}", f"10.0.0.{number}:9443")
    return PeerCandidate(peer, None, silent=False, marked=False)


FIVE = [agent(number) for number in range(5)]


def proposed(agents: list[PeerCandidate]) -> dict[str, set[str]]:
    return {one.peer.name: {p.name for p in wanted.peers} for one, wanted in propose_peers(agents)}


def test_in_a_small_cluster_every_node_has_all_others() -> None:
    all_nodes = {one.peer.name for one in FIVE}
    assert proposed(FIVE) == {name: all_nodes - {name} for name in all_nodes}


def test_the_loss_of_one_node_ends_no_other() -> None:
    """Of two peers, one is gone with the API server, and the other has lost contact with it.

    This cannot be distinguished from a cut-off node with one Byzantine peer.
    """
    three = [replace(one, control_plane=number == 0) for number, one in enumerate(FIVE[:3])]
    before = [replace(one, proposal=PeerProposal(peers=(PeerEntry(name="n9", address=""),))) for one in three]

    assert proposed(before) == {"n0": {"n1", "n2"}, "n1": set(), "n2": set()}


@pytest.mark.parametrize(("nodes", "members"), [(3, 0), (3, 3), (4, 1), (4, 2), (5, 1)], ids=str)
def test_where_one_may_fail_all_have_peers(nodes: int, members: int) -> None:
    agents = [replace(one, control_plane=number < members) for number, one in enumerate(FIVE[:nodes])]
    assert all(len(peers) == nodes - 1 for peers in proposed(agents).values())


def test_addresses_go_with_the_names() -> None:
    (first, wanted), *_ = propose_peers(FIVE[:2])

    assert first.peer.name == "n0"
    assert wanted == PeerProposal(peers=(PeerEntry(name="n1", address="10.0.0.1:9443"),), every=5.0)


def test_what_was_proposed_already_is_not_written_again() -> None:
    known = [replace(one, proposal=wanted) for one, wanted in propose_peers(FIVE)]
    assert proposed(known) == {}


def test_who_is_silent_marked_or_without_an_address_is_nobodys_peer() -> None:
    six = [agent(number) for number in range(6)]
    silent = replace(six[0], silent=True)
    marked = replace(six[1], marked=True)
    mute = replace(six[2], peer=replace(six[2].peer, address=""))

    found = proposed([silent, marked, mute, *six[3:]])

    assert set.union(*found.values()) == {"n3", "n4", "n5"}
    # Nothing is written to the first two. The third may query peers, although no node queries it.
    assert set(found) == {"n2", "n3", "n4", "n5"}


def test_nobodys_peers_change_while_many_are_silent() -> None:
    ten = [agent(number) for number in range(10)]
    two = [replace(one, silent=number < 2) for number, one in enumerate(ten)]
    three = [replace(one, silent=number < 3) for number, one in enumerate(ten)]

    assert len(proposed(two)) == 8
    assert proposed(three) == {}


def test_large_clusters_renew_less_often() -> None:
    _, wanted = next(propose_peers([agent(number) for number in range(6001)]))
    assert wanted.every == 7.0


def test_the_peer_list_may_be_empty() -> None:
    assert proposed([]) == {}


def _without_address(one: PeerCandidate) -> PeerCandidate:
    return replace(one, peer=replace(one.peer, address=""))


def test_if_many_nodes_lose_their_addresses_at_once_no_node_gets_other_peers() -> None:
    """After an outage longer than their certificates: they get new ones one after another."""
    twenty = [agent(number) for number in range(20)]
    known = [replace(one, proposal=wanted) for one, wanted in propose_peers(twenty)]
    assert proposed([*map(_without_address, known[:5]), *known[5:]]) == {}


@pytest.mark.parametrize("lost", range(2, 6))
def test_who_keeps_too_few_peers_that_answer_gives_all_of_them_up(lost: int) -> None:
    """Otherwise it would end itself in an outage: fewer than half of its peers could confirm the outage."""
    known = [replace(one, proposal=wanted) for one, wanted in propose_peers(FIVE)]
    found = proposed([*map(_without_address, known[:lost]), *known[lost:]])
    assert found == {one.peer.name: set() for one in known[lost:]}


def test_silent_peers_may_answer_later_and_are_kept() -> None:
    known = [replace(one, proposal=wanted) for one, wanted in propose_peers(FIVE)]
    assert proposed([*(replace(one, silent=True) for one in known[:3]), *known[3:]]) == {}


def test_a_single_node_that_lost_its_address_is_removed_from_all_peer_lists() -> None:
    known = [replace(one, proposal=wanted) for one, wanted in propose_peers(FIVE)]

    assert all("n0" not in peers for peers in proposed([_without_address(known[0]), *known[1:]]).values())


def test_nodes_that_never_had_an_address_do_not_block_the_others() -> None:
    """As agents start, and in clusters where many nodes have no reachable address."""
    assert set(proposed([*map(_without_address, FIVE[:3]), *FIVE[3:]])["n4"]) == {"n3"}
