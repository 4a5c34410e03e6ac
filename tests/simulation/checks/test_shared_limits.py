"""Nodes and Machines share the limits: a remediation of one counts for the other."""

from collections.abc import Iterator

import pytest

from simulation.network import GOOD_LINK
from tests.simulation.checks.world import SECONDS, ChecksWorld

POLICY = {"maxConcurrent": 1, "minInterval": "1s", "settleTime": "1s", "maxUnhealthy": "100%"}
SOON = SECONDS + 30.0


@pytest.fixture
def world() -> Iterator[ChecksWorld]:
    made = ChecksWorld("room for both", GOOD_LINK, POLICY)
    made.run(60.0)
    yield made
    made.close()


def begun(world: ChecksWorld) -> list[str]:
    return sorted([*world.asked(), *(one["metadata"]["name"] for one in world.fixes())])


@pytest.mark.parametrize(
    ("first", "second"), [("owned-1", "bare-1"), ("bare-1", "owned-1"), ("fixed-1", "bare-1")]
)
def test_the_second_waits_until_the_first_is_healthy(world: ChecksWorld, first: str, second: str) -> None:
    world.report(first, "Unknown")
    world.run(world.scheduler.now + SOON)
    assert begun(world) == [first]
    world.report(second, "Unknown")
    world.run(world.scheduler.now + 4 * SOON)
    assert begun(world) == [first]

    world.report(first, "True")
    world.run(world.scheduler.now + 2 * SOON)
    assert begun(world) == [second]


@pytest.mark.parametrize("pool", ["owned", "fixed"])
def test_one_of_two_simultaneous_failures_is_remediated(world: ChecksWorld, pool: str) -> None:
    world.report("bare-1", "Unknown")
    world.report(f"{pool}-1", "Unknown")
    world.run(world.scheduler.now + 4 * SOON)
    assert len(begun(world)) == 1
