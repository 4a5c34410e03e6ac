"""The fast path returns healthy only if the full evaluation does, and for nearly all of those."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.api.node_health_check import Threshold
from nodemend.health.conditions import ConditionTracker
from nodemend.rules.node import Healthy, evaluate_health, fast_path_check, types_that_matter

TYPES = ("Ready", "Disk")
THRESHOLDS = [
    Threshold(type=type_, status=status, period="60s") for type_ in TYPES for status in ConditionStatus
]
STATUSES = ("", "True", "False", "Unknown", "Unheard-of")


@dataclass(frozen=True)
class Shown:
    type: str
    status: str
    last_transition_time: str = ""


def every_node() -> Iterator[tuple[Shown, ...]]:
    """Each condition absent or with any status; finally one that has the same condition twice."""
    for statuses in product(STATUSES, repeat=3):
        shown = zip((*TYPES, "Other"), statuses, strict=True)
        yield tuple(Shown(type_, status) for type_, status in shown if status)
    yield Shown("Ready", "Unknown"), Shown("Ready", "True")


def is_healthy(thresholds: tuple[Threshold, ...], shown: tuple[Shown, ...]) -> bool:
    ages = ConditionTracker().ages("uid", shown, 0.0, types_that_matter(thresholds))
    return isinstance(evaluate_health(thresholds, ages), Healthy)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_node_on_the_fast_path_is_healthy(number: int) -> None:
    for thresholds in combinations(THRESHOLDS, number):
        fast_check = fast_path_check(thresholds)
        for shown in every_node():
            assert not fast_check.finds_well(shown) or is_healthy(thresholds, shown), (thresholds, shown)


def test_a_healthy_node_is_on_the_fast_path_unless_it_has_an_unknown_status() -> None:
    for thresholds in combinations(THRESHOLDS, 2):
        fast_check = fast_path_check(thresholds)
        for shown in every_node():
            plain = len({one.type for one in shown}) == len(shown)
            known = all(one.status in tuple(ConditionStatus) for one in shown)
            if plain and known:
                assert fast_check.finds_well(shown) == is_healthy(thresholds, shown), (thresholds, shown)
