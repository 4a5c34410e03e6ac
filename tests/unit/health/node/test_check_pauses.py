"""The pause of one check, in the simulated world."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from nodemend.api.meta import print_time
from nodemend.api.resources import MANUAL_REMEDIATION, NODE_HEALTH_CHECK
from simulation.cluster.world import CHECK, Shape, World

SILENT_AT, UNHEALTHY_AT = 10.0, 115.0


@pytest.fixture
def world() -> Iterator[World]:
    made = World("check pauses", Shape(machines=6, people=False, replicas=1))
    made.run(SILENT_AT)
    yield made
    made.close()


def pause(world: World, *, for_seconds: float) -> None:
    until = print_time(world.scheduler.wall() + timedelta(seconds=for_seconds))
    change = {"spec": {"pause": {"reason": "new kernel", "by": "admin", "until": until}}}
    world.admin_api.patch(NODE_HEALTH_CHECK, CHECK, change)


def condition(world: World, type_: str) -> str:
    conditions = world.admin_api.list(NODE_HEALTH_CHECK)[0]["status"]["conditions"]
    return str(next(one["status"] for one in conditions if one["type"] == type_))


def test_nothing_starts_until_the_pause_ends_by_itself(world: World) -> None:
    pause(world, for_seconds=300.0)
    world.machines["node-1"].connected = False
    world.run(UNHEALTHY_AT + 120.0)
    assert world.admin_api.list(MANUAL_REMEDIATION) == []
    assert condition(world, "Paused") == "True"
    world.run(SILENT_AT + 330.0)
    assert [one["metadata"]["name"] for one in world.admin_api.list(MANUAL_REMEDIATION)] == ["node-1"]


def test_the_end_of_a_pause_is_reported_without_another_event(world: World) -> None:
    pause(world, for_seconds=60.0)
    world.run(SILENT_AT + 30.0)
    during = condition(world, "Paused"), condition(world, "RemediationAllowed")
    world.run(SILENT_AT + 90.0)
    assert during == ("True", "False")
    assert (condition(world, "Paused"), condition(world, "RemediationAllowed")) == ("False", "True")
