"""A node that resets itself again and again stays out of service."""

import pytest

from nodemend.protocol.self_resets import MayStart, ResetLimit, StaysGated, evaluate_resets

LIMIT = ResetLimit(most=3, window=3600.0)


@pytest.mark.parametrize(
    ("ages", "verdict"),
    [
        ([], MayStart(0)),
        ([10.0, 20.0], MayStart(2)),
        ([10.0, 20.0, 30.0], StaysGated(3, 3600.0)),
        ([10.0, 20.0, 3600.0], MayStart(2)),
        ([10.0, 20.0, 3599.9], StaysGated(3, 3600.0)),
        ([4000.0] * 9, MayStart(0)),
        ([None, None, 5.0], StaysGated(3, 3600.0)),
    ],
    ids=str,
)
def test_only_resets_within_the_window_count_and_those_of_unknown_age(
    ages: list[float | None], verdict: StaysGated | MayStart
) -> None:
    assert evaluate_resets(ages, LIMIT) == verdict


def test_by_default_three_self_resets_within_an_hour_are_too_many() -> None:
    assert evaluate_resets([10.0, 20.0, 3599.9], ResetLimit()) == StaysGated(3, 3600.0)
    assert evaluate_resets([10.0, 20.0, 3600.0], ResetLimit()) == MayStart(2)
