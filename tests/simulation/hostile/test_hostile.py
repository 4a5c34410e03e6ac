"""A few seeds with hostile faults, for CI. `just simulate-hostile` runs thousands."""

import pytest

from tests.simulation.hostile.run import play


@pytest.mark.parametrize("seed", range(1000, 1006))
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_the_invariants_hold(seed: int) -> None:
    run = play(seed)
    assert not run.broken, f"{run.broken}\npython -m tests.simulation.hostile --replay {run.world}:{seed}"


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_same_seed_same_trace() -> None:
    assert play(3).digest == play(3).digest
