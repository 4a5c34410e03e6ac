"""A few seeds of the checks, for CI and for the hunt for mutants. `just simulate-checks` plays thousands."""

import pytest

from tests.simulation.checks.run import play

SEEDS = range(2000, 2006)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_the_invariants_hold(seed: int) -> None:
    run = play(seed)
    assert not run.broken, f"{run.broken}\npython -m tests.simulation.checks.campaign --replay {seed}"


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_same_seed_same_trace() -> None:
    assert play(1).digest == play(1).digest
