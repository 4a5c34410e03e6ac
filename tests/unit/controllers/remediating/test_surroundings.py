"""What a release waits for: what is on that very node, and nothing elsewhere."""

from collections.abc import Iterator

import pytest

from nodemend.api.group_versions import VOLUME_ATTACHMENT
from tests.unit.controllers.power_cycle.power_world import SICK, PowerWorld

KEPT = {"finalizers": ["example.com/never-detached"]}


@pytest.fixture
def world() -> Iterator[PowerWorld]:
    found = PowerWorld("surroundings")
    found.world.machines[SICK].hung = True
    yield found
    found.close()


def attach(world: PowerWorld, name: str, node: str) -> None:
    """A volume that its driver does not detach."""
    source = {"persistentVolumeName": f"pv-{name}"}
    spec = {"attacher": "csi.example.com", "nodeName": node, "source": source}
    world.api.create(VOLUME_ATTACHMENT, {"metadata": {"name": name, **KEPT}, "spec": spec})


def test_a_volume_that_is_still_attached_keeps_the_host_off(world: PowerWorld) -> None:
    attach(world, "stuck", SICK)
    world.ask()
    world.run(600.0)

    assert world.status["phase"] == "release"
    assert (world.status.get("podsLeft", 0), world.status["attachmentsLeft"]) == (0, 1)
    assert "1 volume" in world.status["message"]
    assert not world.world.machines[SICK].powered

    world.api.patch(VOLUME_ATTACHMENT, "stuck", {"metadata": {"finalizers": None}})
    world.api.delete(VOLUME_ATTACHMENT, "stuck")
    world.run(300.0)
    assert world.status["phase"] == "succeeded"


def test_what_is_on_other_nodes_is_not_waited_for(world: PowerWorld) -> None:
    attach(world, "elsewhere", "node-2")
    world.ask()
    world.run(300.0)

    assert world.status["phase"] == "succeeded"
