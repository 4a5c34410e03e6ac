"""The judge of the real runs, on histories small enough to judge by eye."""

from typing import Any

from tests.e2e.leader_election.histories import (
    Term,
    Version,
    foreign_actions,
    foreign_writes,
    late_writes,
    overlap,
    terms_of,
    ticked,
)


def leads(at: float, until: float, epoch: int = 7) -> dict[str, Any]:
    return {"at": at, "what": "leads", "epoch": epoch, "until": until}


def acts(at: float, epoch: int = 7) -> dict[str, Any]:
    return {"at": at, "what": "action", "epoch": epoch}


def test_a_candidate_leads_until_the_promised_or_reported_end() -> None:
    lines = [leads(1.0, 4.5), leads(2.0, 5.5), {"at": 5.0, "what": "ended", "epoch": 7}]

    assert terms_of("a", lines, renew_deadline=4.0) == [Term("a", 7, 0.5, 1.0, ((1.0, 4.5), (2.0, 5.0)))]


def test_time_in_two_histories_is_counted_once() -> None:
    assert overlap([[(0.0, 4.0), (3.0, 6.0)], [(5.0, 9.0)]]) == 1.0
    assert overlap([[(0.0, 4.0)], [(4.0, 9.0)]]) == 0.0
    assert overlap([[(0.0, 9.0)], [(1.0, 2.0)], [(1.5, 3.0)]]) == 2.0


def test_an_action_after_the_claim_of_another_is_foreign() -> None:
    claim = Term("b", 9, claimed_at=5.0, began=5.1, accepted=())

    assert foreign_actions("a", [acts(4.9), acts(5.0), acts(6.0)], [claim]) == 2
    assert foreign_actions("b", [acts(6.0, epoch=9)], [claim]) == 0


def test_a_pause_is_not_acting() -> None:
    assert ticked([acts(1.0), acts(1.1), acts(9.0), acts(9.1)]) == [(1.0, 1.1), (9.0, 9.1)]


def test_a_commit_with_a_lower_epoch_than_the_object_bore_is_foreign() -> None:
    assert foreign_writes([Version(1, 0), Version(5, 4), Version(8, 7), Version(9, 7)]) == 0
    assert foreign_writes([Version(5, 4), Version(8, 7), Version(9, 4), Version(10, 7)]) == 1


def test_a_commit_between_the_claim_and_the_stamp_is_late() -> None:
    versions = [Version(5, 4), Version(8, 4), Version(9, 7)]

    assert late_writes(versions, claims=[4, 7]) == 1
