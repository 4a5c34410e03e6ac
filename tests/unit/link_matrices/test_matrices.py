"""The matrices are the intended ones, and each error in them is found."""

from itertools import islice

import pytest

from nodemend.protocol.peers import PeerReply
from tests.campaigns.link_matrices.life import Line
from tests.campaigns.link_matrices.matrices import Case, Peer, cases, classes, lives_on, play, should_live_on

WHOLE, CUT = Line(heard=True, hears=True), Line(heard=False, hears=False)
NEAR, FAR = Peer(WHOLE, answers=True), Peer(WHOLE, answers=False)
LOST = Peer(CUT, answers=True)


def test_every_matrix_is_counted_once() -> None:
    assert cases(range(2**12), nodes=3).total() == 2**12
    assert len(cases(range(2**12), nodes=3)) == 4 * 8**2


def test_whole_links_release_a_marked_node_after_its_end_and_let_an_unmarked_one_live() -> None:
    case = Case(WHOLE, (NEAR, NEAR, NEAR))
    outcome = play(case)
    assert outcome.released_at is not None
    assert outcome.released_at >= outcome.over_at
    assert lives_on(case)


def test_a_node_without_any_contact_ends_and_is_released_by_time() -> None:
    case = Case(CUT, (FAR, FAR, FAR))
    assert play(case).released_at is not None
    assert not lives_on(case)


@pytest.mark.parametrize("line", [CUT, Line(heard=True, hears=False), Line(heard=False, hears=True)])
def test_a_node_whose_peers_have_lost_the_api_server_lives_and_is_not_released(line: Line) -> None:
    case = Case(line, (LOST, LOST, LOST))
    assert play(case).released_at is None
    assert lives_on(case)


def test_a_manager_that_tolerates_no_lying_peer_releases_too_early() -> None:
    """So the matrices can show what they are there to show."""
    byzantine_peer = Peer(WHOLE, answers=True, lie=PeerReply.API_OUT_OF_REACH)
    case = Case(CUT, (byzantine_peer, LOST, FAR, FAR, FAR))
    assert not play(case).wrong
    worse = Case(CUT, (byzantine_peer, LOST, Peer(WHOLE, answers=False)))
    assert not play(worse).wrong
    assert play(worse, 0).wrong


def test_the_surviving_nodes_are_computed_without_the_shipped_table() -> None:
    some = list(islice(classes(nodes=4), 0, None, 7))
    assert len(some) > 50
    assert all(lives_on(case) == should_live_on(case) for case in some)
