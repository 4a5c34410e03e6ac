"""The table of what peers say: complete, and the same as the rules in words."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from nodemend.decide.peer_verdict import TABLE, Poll, Verdict, conclude


def all_polls(peers: int) -> Iterator[Poll]:
    for healthy, condemned, out_of_reach in product(range(peers + 1), repeat=3):
        if healthy + condemned + out_of_reach <= peers:
            for all_asked in (False, True):
                yield Poll(
                    peers=peers,
                    healthy=healthy,
                    condemned=condemned,
                    out_of_reach=out_of_reach,
                    all_asked=all_asked,
                )


def told_in_words(poll: Poll) -> Verdict:
    """The rules, written a second time from the design."""
    if poll.peers == 0:
        return Verdict.UNDECIDABLE
    if poll.healthy:
        return Verdict.HEALTHY
    if poll.out_of_reach > poll.peers / 2:
        return Verdict.OUTAGE
    if poll.condemned > poll.peers / 2:
        return Verdict.CONDEMNED
    return Verdict.UNDETERMINED if poll.all_asked else Verdict.ASK_THE_REST


@pytest.mark.parametrize("peers", range(16))
def test_every_count_of_every_list_has_the_verdict_of_the_design(peers: int) -> None:
    for poll in all_polls(peers):
        assert conclude(poll) is told_in_words(poll), poll


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
        pytest.param(Poll(peers=5, condemned=1), Verdict.ASK_THE_REST, id="a single voice condemns nobody"),
        pytest.param(
            Poll(peers=5, condemned=1, all_asked=True), Verdict.UNDETERMINED, id="nor after all were asked"
        ),
        pytest.param(Poll(peers=1, condemned=1), Verdict.CONDEMNED, id="unless it is the only one"),
        pytest.param(Poll(peers=5, healthy=1, condemned=4), Verdict.HEALTHY, id="one who looked is enough"),
        pytest.param(
            Poll(peers=5, healthy=1, condemned=3, healthy_wanted=2), Verdict.CONDEMNED, id="but not if strict"
        ),
        pytest.param(
            Poll(peers=15, condemned=7, all_asked=True),
            Verdict.UNDETERMINED,
            id="a minority condemns nobody, however large",
        ),
        pytest.param(Poll(peers=5, healthy=2, condemned=2, healthy_wanted=2), Verdict.HEALTHY, id="two then"),
        pytest.param(
            Poll(peers=1, condemned=1, healthy_wanted=2, all_asked=True),
            Verdict.UNDETERMINED,
            id="one that may lie condemns nobody",
        ),
        pytest.param(Poll(peers=1, healthy=1, healthy_wanted=2), Verdict.HEALTHY, id="or all there are"),
    ],
)
def test_what_is_easily_done_wrong(poll: Poll, verdict: Verdict) -> None:
    assert conclude(poll) is verdict


def polls_with_liars(peers: int, liars: int, truth: str) -> Iterator[Poll]:
    """Every honest peer says the truth; the liars anything, or nothing. Also after each part of a round."""
    for lies in product(range(liars + 1), repeat=3):
        if sum(lies) <= liars:
            said = dict(zip(("healthy", "condemned", "out_of_reach"), lies, strict=True))
            for honest in range(peers - liars + 1):
                so_far = said | {truth: said[truth] + honest}
                yield Poll(peers=peers, **so_far, all_asked=honest == peers - liars, healthy_wanted=2)


@pytest.mark.attack("S3")
@pytest.mark.parametrize(("nodes", "liars"), [(3, 0), (4, 1), (5, 1), (16, 7), (100, 7)])
def test_so_many_liars_end_nobody_in_an_outage_for_all(nodes: int, liars: int) -> None:
    """Availability: a minority of the list. With one more, the others are no majority any more."""
    peers = min(nodes - 1, 15)
    for poll in polls_with_liars(peers, liars, "out_of_reach"):
        verdict = conclude(poll)
        assert verdict is not Verdict.CONDEMNED, poll
        assert verdict in (Verdict.OUTAGE, Verdict.HEALTHY) or not poll.all_asked, poll
    one_more = [conclude(poll) for poll in polls_with_liars(peers, liars + 1, "out_of_reach")]
    assert Verdict.UNDETERMINED in one_more


@pytest.mark.attack("S3")
@pytest.mark.parametrize("nodes", [3, 5, 16])
def test_liars_do_not_condemn_a_node_whose_peers_see_no_marker(nodes: int) -> None:
    peers = nodes - 1
    for poll in polls_with_liars(peers, (peers - 1) // 2, "healthy"):
        assert conclude(poll) is not Verdict.CONDEMNED, poll


@pytest.mark.parametrize("nodes", [3, 5, 16])
def test_one_liar_keeps_no_marked_node_alive(nodes: int) -> None:
    """Safety, at any size: of two who saw no marker one is honest. Two liars are enough to break that."""
    peers = nodes - 1
    for poll in polls_with_liars(peers, 1, "condemned"):
        assert conclude(poll) not in (Verdict.HEALTHY, Verdict.OUTAGE), poll
    assert Verdict.HEALTHY in {conclude(poll) for poll in polls_with_liars(peers, 2, "condemned")}


@pytest.mark.parametrize(
    "wrong", [{"healthy": 3}, {"healthy": 1, "condemned": 1, "out_of_reach": 1}, {"condemned": -1}]
)
def test_more_answers_than_peers_are_a_mistake(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="more answers than peers"):
        Poll(peers=2, **wrong)
