"""The recorded state of a storm."""

import pytest

from nodemend.safety.guard import CALM, Storm, cooldown, step


def test_no_storm_stays_no_storm() -> None:
    assert step(CALM, active=False, now=5.0) == CALM
    assert cooldown(CALM, 300.0, 5.0) == 0


def test_an_active_storm_has_no_settle_time_yet() -> None:
    active = step(CALM, active=True, now=5.0)
    assert active == Storm(active=True)
    assert cooldown(active, 300.0, 1000.0) == 0


@pytest.mark.conforms("N16")
def test_when_it_ends_it_settles() -> None:
    ended = step(Storm(active=True), active=False, now=10.0)
    assert ended == Storm(ended_at=10.0)
    assert [cooldown(ended, 300.0, now) for now in (10.0, 110.0, 310.0, 400.0)] == [300, 200, 0, 0]


def test_evaluations_without_a_storm_do_not_restart_the_settle_time() -> None:
    ended = Storm(ended_at=10.0)
    assert step(ended, active=False, now=50.0) == ended


@pytest.mark.conforms("N16")
def test_another_storm_restarts_the_settle_time() -> None:
    again = step(step(Storm(ended_at=10.0), active=True, now=50.0), active=False, now=60.0)
    assert again == Storm(ended_at=60.0)
