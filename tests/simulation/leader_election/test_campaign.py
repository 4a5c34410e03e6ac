"""A few runs of the campaign, and a test that the seed alone decides a run."""

import pytest

from tests.simulation.leader_election.campaign import play_seeds
from tests.simulation.leader_election.world import ElectorWorld


def test_no_promise_is_broken_in_the_first_runs() -> None:
    counts, broken = play_seeds(range(10))

    assert broken == []
    assert counts.terms > 10
    assert counts.actions > 1000


@pytest.mark.parametrize("seed", [3, 17])
def test_the_same_seed_gives_the_same_run(seed: int) -> None:
    digests = []
    for _ in range(2):
        world = ElectorWorld(seed)
        world.play()
        digests.append(world.scheduler.trace.digest)

    assert digests[0] == digests[1]
