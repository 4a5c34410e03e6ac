"""What is remembered of a storm."""

import pytest

from nodemend.decide.storm import CALM, Storm, settling, step


def test_calm_stays_calm() -> None:
    assert step(CALM, raging=False, now=5.0) == CALM
    assert settling(CALM, 300.0, 5.0) == 0


def test_while_it_rages_there_is_nothing_to_wait_for() -> None:
    raging = step(CALM, raging=True, now=5.0)
    assert raging == Storm(raging=True)
    assert settling(raging, 300.0, 1000.0) == 0


@pytest.mark.conforms("N16")
def test_when_it_ends_it_settles() -> None:
    ended = step(Storm(raging=True), raging=False, now=10.0)
    assert ended == Storm(ended_at=10.0)
    assert [settling(ended, 300.0, now) for now in (10.0, 110.0, 310.0, 400.0)] == [300, 200, 0, 0]


def test_calm_looks_do_not_start_the_settling_anew() -> None:
    ended = Storm(ended_at=10.0)
    assert step(ended, raging=False, now=50.0) == ended


@pytest.mark.conforms("N16")
def test_another_storm_starts_it_anew() -> None:
    again = step(step(Storm(ended_at=10.0), raging=True, now=50.0), raging=False, now=60.0)
    assert again == Storm(ended_at=60.0)
