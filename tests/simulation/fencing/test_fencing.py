"""A few seeds of self-fencing, for CI and for mutants. `just simulate-fencing` plays thousands."""

from functools import partial
from random import Random

import pytest

from tests.simulation.fencing.network import API
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
    for node in world.nodes.values():
        assert node.gate_open
        # Who has one peer lives by its word, and a feeder that is paused for almost W ends its node.
        node.liar = node.stubborn = False
    before = world.counts["reset"]

    world.uncertified.update(bare)
    world.line.run(200.0)
    world.store.down = True
    world.line.run(500.0)

    assert world.counts["reset"] == before


@pytest.mark.attack("V3")
@pytest.mark.parametrize("away", [60.0, 120.0])
def test_agents_that_die_without_a_word_reset_nobody(away: float) -> None:
    """A bad release: killed everywhere, at once or one after another, and away for longer than G."""
    for seed, apart in ((1, 0.0), (2, 7.0)):
        world, managers, _ = set_up(Random(seed))
        world.line.run(150.0)
        before = world.counts["reset"]
        managers[0].leads = False  # Nobody asks for their end.

        for number, node in enumerate(world.nodes.values()):
            world.line.after(number * apart, partial(node.restart_agent, away))
        world.line.run(150.0 + away + 120.0)

        assert world.counts["reset"] == before
        assert all(node.agent.alive for node in world.nodes.values())


@pytest.mark.attack("V3")
def test_one_whose_agent_is_dead_still_ends_when_it_is_cut_off_and_when_it_is_marked() -> None:
    world, managers, statuses = set_up(Random(3))
    world.line.run(150.0)
    for name in ("a", "b"):
        world.nodes[name].restart_agent(10_000.0)
    world.line.run(250.0)
    boots = {name: node.boot_id for name, node in world.nodes.items()}

    world.network.cut |= world.network.links_of("a", [API, *NODES])
    managers[0].want("b", statuses.of["b"])
    world.line.run(350.0)

    ended = {name for name, node in world.nodes.items() if node.boot_id != boots[name]}
    assert ended == {"a", "b"}
