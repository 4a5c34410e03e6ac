"""A condition's age is the time for which the checker has observed its status without interruption."""

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.health.conditions import ConditionTracker
from nodemend.records.node import NodeConditionRecord
from nodemend.rules.node import ConditionSeen

NOON = "12:00"
UNKNOWN = NodeConditionRecord("Ready", "Unknown", "12:00")
BACK = NodeConditionRecord("Ready", "True", "12:05")
UNKNOWN_AGAIN = NodeConditionRecord("Ready", "Unknown", "12:06")


def age(ages: ConditionTracker, condition: NodeConditionRecord, now: float) -> float:
    (seen,) = ages.ages("uid", [condition], now)
    return seen.seen_for


@pytest.mark.conforms("W12")
def test_the_duration_counts_from_the_first_observation() -> None:
    ages = ConditionTracker()
    ages.observe("uid", [UNKNOWN], 100.0)
    ages.observe("uid", [UNKNOWN], 150.0)
    assert age(ages, UNKNOWN, 160.0) == 60.0


def test_a_status_that_returned_restarts_its_duration() -> None:
    ages = ConditionTracker()
    ages.observe("uid", [UNKNOWN], 100.0)
    ages.observe("uid", [BACK], 150.0)
    ages.observe("uid", [UNKNOWN_AGAIN], 155.0)
    assert age(ages, UNKNOWN_AGAIN, 160.0) == 5.0


def test_so_does_one_that_may_have_come_back_while_we_were_not_looking() -> None:
    ages = ConditionTracker()
    ages.observe("uid", [UNKNOWN], 100.0)
    ages.observe("uid", [UNKNOWN_AGAIN], 155.0, after_gap=True)
    assert age(ages, UNKNOWN_AGAIN, 160.0) == 5.0


def test_after_a_gap_the_same_transition_continues() -> None:
    ages = ConditionTracker()
    ages.observe("uid", [UNKNOWN], 100.0)
    ages.observe("uid", [NodeConditionRecord("Ready", "Unknown", NOON)], 155.0, after_gap=True)
    assert age(ages, UNKNOWN, 160.0) == 60.0


@pytest.mark.attack("F2")
def test_a_changed_transition_time_with_the_same_status_restarts_nothing() -> None:
    """Two failing checks under one condition write it in turn."""
    ages = ConditionTracker()
    last = UNKNOWN
    for minute in range(11):
        last = NodeConditionRecord("Ready", "Unknown", f"12:{minute:02}")
        ages.observe("uid", [last], 60.0 * minute)
    assert age(ages, last, 600.0) == 600.0


@pytest.mark.attack("F2")
def test_another_status_of_another_condition_is_no_matter() -> None:
    ages = ConditionTracker()
    ages.observe("uid", [UNKNOWN, NodeConditionRecord("Disk", "True", NOON)], 100.0)
    ages.observe("uid", [UNKNOWN_AGAIN, NodeConditionRecord("Disk", "False", NOON)], 150.0)
    found = ages.ages("uid", [UNKNOWN_AGAIN, NodeConditionRecord("Disk", "False", NOON)], 160.0)
    assert [one.seen_for for one in found] == [60.0, 10.0]


def test_an_unobserved_condition_has_no_age() -> None:
    ages = ConditionTracker()
    assert age(ages, UNKNOWN, 160.0) == 0.0
    ages.observe("uid", [UNKNOWN], 100.0)
    assert age(ages, UNKNOWN_AGAIN, 160.0) == 0.0
    ages.forget("uid")
    assert age(ages, UNKNOWN, 160.0) == 0.0


def test_an_unrecognized_status_is_unknown() -> None:
    (seen,) = ConditionTracker().ages("uid", [NodeConditionRecord("Ready", "Perhaps")], 1.0)
    assert seen == ConditionSeen("Ready", ConditionStatus.UNKNOWN, 0.0)
