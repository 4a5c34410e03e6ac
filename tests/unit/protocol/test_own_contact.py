"""The time after which a node may report that it cannot reach the API server, and what it publishes."""

import pytest

from nodemend.protocol.timing import begin

K = 15.0


@pytest.mark.parametrize(("now", "out_of_reach"), [(0.0, False), (14.9, False), (15.0, True), (99.0, True)])
def test_it_says_so_when_its_last_acknowledgement_is_old(now: float, out_of_reach: bool) -> None:
    assert begin(7, 0.0, K).out_of_reach(now) is out_of_reach


def test_while_acknowledgements_come_in_time_it_is_steady_since_its_start() -> None:
    contact = begin(7, 0.0, K)
    for number in range(8, 20):
        contact = contact.acknowledge(number, contact.unslewed_at + 14.9)

    assert (contact.acknowledged, contact.steady_since) == (19, 7)


def test_after_a_gap_it_is_steady_only_from_the_acknowledgement_that_ended_it() -> None:
    contact = begin(7, 0.0, K).acknowledge(8, 5.0).acknowledge(9, 22.0)

    assert (contact.acknowledged, contact.steady_since) == (9, 9)
