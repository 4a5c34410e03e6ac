"""The table of peers' answers: complete, and equal to the rules in prose."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from nodemend.protocol.peers import TABLE, Poll, Verdict, conclude


def all_polls(peers: int) -> Iterator[Poll]:
    for healthy, fence_requested, out_of_reach in product(range(peers + 1), repeat=3):
        if healthy + fence_requested + out_of_reach <= peers:
            for all_asked in (False, True):
                yield Poll(
                    peers=peers,
                    healthy=healthy,
                    fence_requested=fence_requested,
                    out_of_reach=out_of_reach,
                    all_asked=all_asked,
                )


def concluded_in_prose(poll: Poll) -> Verdict:
    """The rules, written a second time from the design."""
    if poll.peers == 0:
        return Verdict.UNDECIDABLE
    if poll.healthy:
        return Verdict.HEALTHY
    if poll.out_of_reach > poll.peers / 2:
        return Verdict.OUTAGE
    if poll.fence_requested > poll.peers / 2:
        return Verdict.FENCE_NOW
    return Verdict.UNDETERMINED if poll.all_asked else Verdict.ASK_THE_REST


@pytest.mark.parametrize("peers", range(16))
def test_every_count_of_every_list_has_the_verdict_of_the_design(peers: int) -> None:
    for poll in all_polls(peers):
        assert conclude(poll) is concluded_in_prose(poll), poll


def test_every_row_decides_something() -> None:
    deciding = set()
    for peers in range(4):
        for poll in all_polls(peers):
            deciding.add(next(name for name, holds, _ in TABLE if holds(poll)))
    assert deciding == {name for name, _, _ in TABLE}


@pytest.mark.parametrize(
    ("poll", "verdict"),
    [
        pytest.param(
            Poll(peers=4, out_of_reach=2, all_asked=True), Verdict.UNDETERMINED, id="half is no majority"
        ),
        pytest.param(
            Poll(peers=15, out_of_reach=3), Verdict.ASK_THE_REST, id="all who were asked, but few of the list"
        ),
        pytest.param(
            Poll(peers=2, out_of_reach=1, all_asked=True), Verdict.UNDETERMINED, id="two cut off together"
        ),
        pytest.param(
            Poll(peers=5, fence_requested=1), Verdict.ASK_THE_REST, id="a single voice condemns nobody"
        ),
        pytest.param(
            Poll(peers=5, fence_requested=1, all_asked=True),
            Verdict.UNDETERMINED,
            id="nor after all were asked",
        ),
        pytest.param(Poll(peers=1, fence_requested=1), Verdict.FENCE_NOW, id="unless it is the only one"),
        pytest.param(
            Poll(peers=5, healthy=1, fence_requested=4), Verdict.HEALTHY, id="one who looked is enough"
        ),
        pytest.param(
            Poll(peers=5, healthy=1, fence_requested=3, healthy_wanted=2),
            Verdict.FENCE_NOW,
            id="but not if strict",
        ),
        pytest.param(
            Poll(peers=15, fence_requested=7, all_asked=True),
            Verdict.UNDETERMINED,
            id="a minority condemns nobody, however large",
        ),
        pytest.param(
            Poll(peers=5, healthy=2, fence_requested=2, healthy_wanted=2), Verdict.HEALTHY, id="two then"
        ),
        pytest.param(
            Poll(peers=1, fence_requested=1, healthy_wanted=2, all_asked=True),
            Verdict.UNDETERMINED,
            id="one that may lie condemns nobody",
        ),
        pytest.param(Poll(peers=1, healthy=1, healthy_wanted=2), Verdict.HEALTHY, id="or all there are"),
    ],
)
def test_what_is_easily_done_wrong(poll: Poll, verdict: Verdict) -> None:
    assert conclude(poll) is verdict


def polls_with_byzantine_peers(peers: int, byzantine_peers: int, truth: str) -> Iterator[Poll]:
    """Every honest peer answers the truth, Byzantine peers anything or nothing; also after each part of a
    round.
    """
    for lies in product(range(byzantine_peers + 1), repeat=3):
        if sum(lies) <= byzantine_peers:
            said = dict(zip(("healthy", "fence_requested", "out_of_reach"), lies, strict=True))
            for honest in range(peers - byzantine_peers + 1):
                so_far = said | {truth: said[truth] + honest}
                yield Poll(
                    peers=peers, **so_far, all_asked=honest == peers - byzantine_peers, healthy_wanted=2
                )


@pytest.mark.attack("S3")
@pytest.mark.parametrize(("nodes", "byzantine_peers"), [(3, 0), (4, 1), (5, 1), (16, 7), (100, 7)])
def test_the_tolerated_number_of_lying_peers_ends_no_node_in_a_full_outage(
    nodes: int, byzantine_peers: int
) -> None:
    """Availability: up to a minority of the list. With one more, the others are no majority."""
    peers = min(nodes - 1, 15)
    for poll in polls_with_byzantine_peers(peers, byzantine_peers, "out_of_reach"):
        verdict = conclude(poll)
        assert verdict is not Verdict.FENCE_NOW, poll
        assert verdict in (Verdict.OUTAGE, Verdict.HEALTHY) or not poll.all_asked, poll
    one_more = [
        conclude(poll) for poll in polls_with_byzantine_peers(peers, byzantine_peers + 1, "out_of_reach")
    ]
    assert Verdict.UNDETERMINED in one_more


@pytest.mark.attack("S3")
@pytest.mark.parametrize("nodes", [3, 5, 16])
def test_lying_peers_do_not_end_a_node_whose_peers_see_no_marker(nodes: int) -> None:
    peers = nodes - 1
    for poll in polls_with_byzantine_peers(peers, (peers - 1) // 2, "healthy"):
        assert conclude(poll) is not Verdict.FENCE_NOW, poll


@pytest.mark.parametrize("nodes", [3, 5, 16])
def test_one_lying_peer_cannot_keep_a_marked_node_alive(nodes: int) -> None:
    """Safety, at any size: of two that saw no marker, one is honest. Two Byzantine peers break that."""
    peers = nodes - 1
    for poll in polls_with_byzantine_peers(peers, 1, "fence_requested"):
        assert conclude(poll) not in (Verdict.HEALTHY, Verdict.OUTAGE), poll
    assert Verdict.HEALTHY in {
        conclude(poll) for poll in polls_with_byzantine_peers(peers, 2, "fence_requested")
    }


@pytest.mark.parametrize(
    "wrong",
    [{"healthy": 3}, {"healthy": 1, "fence_requested": 1, "out_of_reach": 1}, {"fence_requested": -1}],
)
def test_more_answers_than_peers_are_a_mistake(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="more answers than peers"):
        Poll(peers=2, **wrong)
