"""Conclusions of a manager from the numbers in a peer's Lease."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.safety.time_proof import Anchor, Contact, SequenceHistory, anchor_at, covered_until

CONTACT = Contact(
    uid="uid-2", boot_id="boot-2", sequence=12, acknowledged=11, steady_since=4, contact_age=15.0
)
ANCHOR = Anchor("uid-2", "boot-2", acknowledged=9)


def observations(*seen: tuple[int, float]) -> SequenceHistory:
    history = SequenceHistory()
    for number, when in seen:
        history = history.seen(number, when)
    return history


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, True),
        ({"steady_since": 9}, True),
        ({"steady_since": 10}, False),
        ({"boot_id": "boot-3"}, False),
        ({"uid": "uid-3"}, False),
    ],
    ids=str,
)
def test_an_anchor_holds_while_the_same_boot_of_the_same_peer_was_steady_since(
    change: dict[str, Any], holds: bool
) -> None:
    assert ANCHOR.holds_for(replace(CONTACT, **change)) is holds


def test_a_new_anchor_rests_on_acknowledged_renewals_and_not_on_sent_ones() -> None:
    assert anchor_at(CONTACT) == Anchor("uid-2", "boot-2", acknowledged=11)


def test_a_number_is_dated_to_the_last_read_that_did_not_show_it() -> None:
    history = observations((10, 100.0), (10, 101.0), (11, 103.0), (11, 104.0), (12, 108.0))

    assert history.not_before(11) == 101.0
    assert history.not_before(12) == 104.0
    assert history.not_before(13) == 108.0
    assert history.not_before(10) is None


def test_a_number_that_is_seen_again_and_again_takes_no_room_from_the_one_before() -> None:
    history = observations((10, 100.0), *((11, 101.0 + again) for again in range(20)))

    assert history.not_before(11) == 100.0


def test_numbers_that_fall_are_of_another_and_date_nothing_of_what_was_before() -> None:
    history = observations((2, 100.0), (7, 101.0), (3, 102.0))

    assert history.not_before(3) is None
    assert history.not_before(4) == 102.0


def test_an_answer_to_an_older_request_proves_nothing() -> None:
    assert observations((4, 10.0), (5, 20.0), (4, 15.0)) == observations((4, 10.0), (5, 20.0))
    assert observations((4, 10.0), (5, 20.0), (5, 15.0)) == observations((4, 10.0), (5, 20.0))


def test_what_was_seen_only_once_has_no_date() -> None:
    assert covered_until(CONTACT, observations((12, 100.0)), 0.001) is None


def test_it_is_covered_for_a_little_less_than_its_contact_age_after_that() -> None:
    until = covered_until(CONTACT, observations((10, 100.0), (12, 104.0)), 0.001)

    assert until == pytest.approx(114.97, abs=0.001)


def test_only_an_acknowledged_renewal_counts() -> None:
    """A peer that gets no replies keeps reporting that it cannot reach the API server."""
    renewing = observations(*((number, 5.0 * number) for number in range(10, 40)))
    lost = replace(CONTACT, sequence=39, acknowledged=11)

    assert covered_until(lost, renewing, 0.0) is None


def test_numbers_that_fall_are_of_another_and_prove_nothing_together() -> None:
    assert observations((10, 100.0), (11, 105.0), (3, 110.0)).not_before(11) == 110.0
    assert observations((10, 100.0), (11, 105.0), (3, 110.0)).not_before(3) is None


def test_few_looks_are_remembered_and_that_only_dates_evidence_earlier() -> None:
    history = observations(*((number, float(number)) for number in range(100)))

    assert len(history.last_seen) == 8
    assert history.not_before(99) == 98.0
    assert history.not_before(50) is None
