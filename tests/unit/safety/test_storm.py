"""The recorded state of a storm."""

import pytest

from nodemend.safety.guard import CALM, Storm, cooldown, step


def test_calm_stays_calm() -> None:
    assert step(CALM, active=False, now=5.0) == CALM
    assert cooldown(CALM, 300.0, 5.0) == 0


def test_while_it_rages_there_is_nothing_to_wait_for() -> None:
    active = step(CALM, active=True, now=5.0)
    assert active == Storm(active=True)
    assert cooldown(active, 300.0, 1000.0) == 0


@pytest.mark.conforms("N16")
def test_when_it_ends_it_settles() -> None:
    ended = step(Storm(active=True), active=False, now=10.0)
    assert ended == Storm(ended_at=10.0)
    assert [cooldown(ended, 300.0, now) for now in (10.0, 110.0, 310.0, 400.0)] == [300, 200, 0, 0]


def test_calm_looks_do_not_start_the_settling_anew() -> None:
    ended = Storm(ended_at=10.0)
    assert step(ended, active=False, now=50.0) == ended


@pytest.mark.conforms("N16")
def test_another_storm_starts_it_anew() -> None:
    again = step(step(Storm(ended_at=10.0), active=True, now=50.0), active=False, now=60.0)
    assert again == Storm(ended_at=60.0)
