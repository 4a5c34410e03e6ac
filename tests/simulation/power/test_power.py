"""A few seeds of power cycles, for CI and mutation testing. `just simulate-power` runs thousands."""

import pytest

from tests.simulation.power.run import play


@pytest.mark.parametrize("seed", range(1000, 1010))
def test_the_invariants_hold(seed: int) -> None:
    run = play(seed)
    assert not run.broken, f"{run.broken}\npython -m tests.simulation.power.campaign --replay {seed}"


def test_same_seed_same_trace() -> None:
    assert play(1).digest == play(1).digest
