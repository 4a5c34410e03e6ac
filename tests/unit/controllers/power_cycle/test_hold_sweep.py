"""A hold of ours whose remediation is gone does not keep a host off, unless its node is being emptied."""

from collections.abc import Iterator

import pytest

from nodemend.api import keys
from nodemend.api.group_versions import METAL3_REMEDIATION, NODE
from nodemend.testing.metal3.rack import NAMESPACE
from tests.unit.controllers.power_cycle.power_world import SICK, PowerWorld

LEFT = f"{keys.OUR_HOLD_PREFIX}of-a-remediation-that-is-gone"
THEIRS = "reboot.metal3.io/somebody-else"


@pytest.fixture
def world() -> Iterator[PowerWorld]:
    found = PowerWorld("hold sweep")
    yield found
    found.close()


def hold(world: PowerWorld, *holds: str) -> None:
    """While some other remediation is open: then hosts are looked at every minute."""
    world.api.create(METAL3_REMEDIATION, {"metadata": {"name": "of-no-node"}}, NAMESPACE)
    world.patch_host({"metadata": {"annotations": dict.fromkeys(holds, keys.HARD_HOLD)}})


def test_it_is_taken_off_within_a_minute_and_the_host_comes_back(world: PowerWorld) -> None:
    hold(world, LEFT)
    world.run(150.0)

    assert LEFT not in world.annotations
    assert world.world.machines[SICK].powered
    assert world.world.machines[SICK].boots == 2


def test_where_nothing_is_remediated_it_is_found_within_half_an_hour(world: PowerWorld) -> None:
    world.patch_host({"metadata": {"annotations": {LEFT: keys.HARD_HOLD}}})
    world.run(300.0)
    assert LEFT in world.annotations
    world.run(1600.0)
    assert LEFT not in world.annotations


def test_anothers_hold_stays(world: PowerWorld) -> None:
    hold(world, LEFT, THEIRS)
    world.run(150.0)

    assert LEFT not in world.annotations
    assert THEIRS in world.annotations
    assert not world.world.machines[SICK].powered


def test_it_stays_while_the_node_has_our_taint(world: PowerWorld) -> None:
    ours = {"key": keys.OUT_OF_SERVICE, "value": keys.OUR_TAINT_VALUE, "effect": keys.NO_EXECUTE}
    world.api.patch(NODE, SICK, {"spec": {"taints": [ours]}})
    hold(world, LEFT)
    world.run(150.0)

    assert LEFT in world.annotations


def test_the_hold_of_a_living_one_is_its_own(world: PowerWorld) -> None:
    world.rack.bmcs[SICK].faults.off_never_done = True
    world.world.machines[SICK].hung = True
    world.ask(powerOffTimeoutSeconds=600)
    world.run(250.0)

    assert world.status["phase"] == "power-off"
    assert world.holds
