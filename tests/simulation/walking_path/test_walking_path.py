"""A few seeds of the walking path, for CI and mutation testing. `just simulate` runs thousands."""

import pytest

from tests.simulation.walking_path.run import play

SEEDS = range(1000, 1012)


@pytest.mark.conforms("N21")
@pytest.mark.parametrize("seed", SEEDS)
def test_the_invariants_hold(seed: int) -> None:
    run = play(seed)
    assert not run.broken, f"{run.broken}\npython -m tests.simulation.walking_path.campaign --replay {seed}"


def test_same_seed_same_trace() -> None:
    assert play(1).digest == play(1).digest
