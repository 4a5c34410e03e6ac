"""A target that is deleted while unhealthy counts for a while longer; a healthy one does not."""

import pytest

from nodemend.guard.state import (
    COUNT_ON,
    COUNTED_FOR,
    HEALTHY,
    CountScope,
    DeletedTargets,
    TargetIndex,
    TargetState,
    TargetStatus,
)
from nodemend.safety.guard import HealthCounts

PLACE = CountScope("workers", "zone-a")


@pytest.mark.parametrize("state", TargetState)
def test_who_counts_on(state: TargetState) -> None:
    target_index = TargetIndex()
    target_index.upsert("n1", PLACE, TargetStatus(state))
    counted = DeletedTargets(target_index).count_on("n1", 0.0)
    assert counted == (COUNTED_FOR if state in COUNT_ON else None)
    assert {TargetState.UNHEALTHY, TargetState.HELD, TargetState.REMEDIATING} == COUNT_ON


def test_a_deleted_target_counts_as_unhealthy_in_its_scope_and_not_as_under_remediation() -> None:
    target_index = TargetIndex()
    target_index.upsert("n1", PLACE, TargetStatus(TargetState.REMEDIATING))
    target_index.upsert("n2", PLACE, HEALTHY)
    DeletedTargets(target_index).count_on("n1", 0.0)
    assert (
        target_index.health_counts_of_check("workers")
        == target_index.health_counts_of_domain(PLACE)
        == HealthCounts(2, 1, 0)
    )


def test_the_time_runs_from_when_it_went_and_then_it_is_over() -> None:
    target_index = TargetIndex()
    target_index.upsert("n1", PLACE, TargetStatus(TargetState.HELD))
    deleted = DeletedTargets(target_index)
    assert deleted.count_on("n1", 100.0) == COUNTED_FOR
    assert deleted.count_on("n1", 400.0) == COUNTED_FOR - 300.0
    assert list(deleted.names) == ["n1"]
    assert deleted.count_on("n1", 100.0 + COUNTED_FOR) is None
    assert list(deleted.names) == []


def test_uncounted_and_returned_targets_are_not_remembered() -> None:
    target_index = TargetIndex()
    deleted = DeletedTargets(target_index)
    assert deleted.count_on("stranger", 0.0) is None
    target_index.upsert("n1", PLACE, TargetStatus(TargetState.HELD))
    deleted.count_on("n1", 0.0)
    deleted.forget("n1")
    target_index.upsert("n1", PLACE, HEALTHY)
    assert deleted.count_on("n1", 10.0) is None
