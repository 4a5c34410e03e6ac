"""The back-off keeps its minimum waits for any random value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.kube.flowcontrol import Backoff


def test_it_doubles_to_its_limit() -> None:
    backoff = Backoff(first=0.8, most=30.0)

    assert [backoff.delay(failures, 0.0) for failures in range(1, 9)] == [
        0.8,
        1.6,
        3.2,
        6.4,
        12.8,
        25.6,
        30,
        30,
    ]


@given(st.integers(0, 10**9), st.floats(0, 1, exclude_max=True))
def test_chance_only_lengthens_and_at_most_doubles(failures: int, chance: float) -> None:
    shortest = Backoff().delay(failures, 0.0)

    assert shortest <= Backoff().delay(failures, chance) <= 2 * shortest


@pytest.mark.parametrize(("first", "most", "spread"), [(0.0, 1.0, 0.0), (2.0, 1.0, 0.0), (1.0, 2.0, -0.1)])
def test_a_backoff_with_inconsistent_limits_is_refused(first: float, most: float, spread: float) -> None:
    with pytest.raises(ValueError, match=r"back-off|spread"):
        Backoff(first, most, spread)
