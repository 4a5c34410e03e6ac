"""`stop` finds a power cycle by its node, regardless of its name, and stops it at a safe point."""

from collections.abc import Iterator

import pytest

from nodemend.api.resources import NODE
from nodemend.cli.check.assess import assess
from nodemend.cli.check.facts import gather
from nodemend.cli.check.view import Level
from nodemend.cli.cluster import Cluster
from nodemend.cli.listing import find_open
from nodemend.cli.stop import NotStopped, Stopped, stop
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.remediation.metal3.power_world import SICK, PowerWorld


@pytest.fixture
def world() -> Iterator[PowerWorld]:
    found = PowerWorld("stop")
    found.world.machines[SICK].hung = True
    found.ask()
    yield found
    found.close()


def stop_it(world: PowerWorld) -> str:
    async def act(cluster: Cluster) -> Stopped | NotStopped | None:
        return await stop(cluster, await find_open(cluster, SICK), dry_run=False)

    outcome = SimulatedCaller(world.world).run(act)
    assert isinstance(outcome, Stopped)
    return outcome.ends


def until(world: PowerWorld, phase: str) -> None:
    for _ in range(200):
        if world.status.get("phase") == phase:
            return
        world.run(1.0)
    raise AssertionError(f"it never came to {phase}")


def test_a_power_cycle_that_waits_for_power_off_releases_its_host(world: PowerWorld) -> None:
    until(world, "power-off")
    assert stop_it(world) == "ends once its host is on again; nothing was released"
    world.run(200.0)

    assert world.remediation is None
    assert not world.holds
    assert world.world.machines[SICK].powered


def test_one_that_releases_finishes_that_first(world: PowerWorld) -> None:
    until(world, "release")
    assert stop_it(world) == "ends once its workloads have left the node and its host is on again"
    world.run(300.0)

    node = world.api.get(NODE, SICK)
    assert node is not None
    assert world.remediation is None
    assert not world.holds
    assert not [taint for taint in node["spec"].get("taints", ()) if taint["key"].endswith("out-of-service")]


@pytest.mark.slow
def test_its_taint_and_its_lock_do_not_count_as_orphaned(world: PowerWorld) -> None:
    until(world, "release")
    world.run(2.0)
    view = assess(SimulatedCaller(world.world).run(gather))
    wrong = [one.text for group in view.groups for one in group.findings if one.level is not Level.OK]

    assert not [text for text in wrong if "taint" in text or "lock" in text]
