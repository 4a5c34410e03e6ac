"""Versions as providers write them."""

import pytest

from nodemend.api.resources import NODE_HEALTH_CHECK
from nodemend.cli.cluster import ServerVersion, ask_served


@pytest.mark.parametrize(
    ("major", "minor", "numbers"),
    [("1", "36", (1, 36)), ("1", "33+", (1, 33)), ("", "", (0, 0)), ("v1", "x", (1, 0))],
)
def test_the_numbers_of_a_version(major: str, minor: str, numbers: tuple[int, int]) -> None:
    assert ServerVersion(major=major, minor=minor).numbers == numbers


def test_discovery_is_requested_for_the_group_and_version() -> None:
    assert ask_served(NODE_HEALTH_CHECK).target == "/apis/nodemend.io/v1alpha1"
