"""A few seeds of self-fencing, for CI and for mutants. `just simulate-fencing` plays thousands."""

from random import Random

import pytest

from tests.simulation.fencing.run import NODES, play, set_up


@pytest.mark.parametrize("seed", range(20_000, 20_010))
def test_the_invariants_hold(seed: int) -> None:
    run = play(seed)
    assert not run.broken, f"{run.broken}\npython -m tests.simulation.fencing.campaign --replay {seed}"


def test_same_seed_same_trace() -> None:
    assert play(1, keep_trace=True).lines == play(1, keep_trace=True).lines


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("bare", [NODES, NODES[:3]], ids=["nobody has one", "most have none"])
def test_an_outage_for_all_resets_nobody_whose_certificate_ran_out_before(
    seed: int, bare: tuple[str, ...]
) -> None:
    world, _, _ = set_up(Random(seed))
    world.line.run(150.0)
    assert all(node.gate_open for node in world.nodes.values())
    before = world.counts["reset"]

    world.uncertified.update(bare)
    world.line.run(200.0)
    world.store.down = True
    world.line.run(500.0)

    assert world.counts["reset"] == before
