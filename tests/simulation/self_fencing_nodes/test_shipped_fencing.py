"""A few seeds of self-fencing by the shipped controllers. The campaign in this folder runs thousands."""

import pytest

from tests.simulation.self_fencing_nodes.campaign import WANTED_MARGIN
from tests.simulation.self_fencing_nodes.run import play

LONGEST_LIVES = (0, 6, 12)


@pytest.mark.parametrize("seed", range(30_000, 30_012))
def test_the_invariants_hold(seed: int) -> None:
    run = play(seed)
    replay = f"python -m tests.simulation.self_fencing_nodes.campaign --replay {seed}"
    assert not run.broken, f"{run.broken}\n{replay}"


def test_the_adversary_comes_within_a_second_of_the_bound() -> None:
    """Otherwise a release that is too early by a second would go unnoticed."""
    margins = [margin for seed in LONGEST_LIVES for margin in play(seed).margins]

    assert 0.0 < min(margins) < WANTED_MARGIN


def test_same_seed_same_trace() -> None:
    for seed in (0, 1):
        assert play(seed, keep_trace=True).lines == play(seed, keep_trace=True).lines
