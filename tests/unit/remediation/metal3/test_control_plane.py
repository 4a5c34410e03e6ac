"""A control plane keeps its majority, however many of its members' hosts are requested at once."""

from collections.abc import Iterator

import pytest

from nodemend.api import well_known
from nodemend.api.resources import METAL3_REMEDIATION, NODE, REMEDIATION_POLICY
from nodemend.kube.request import Selection
from simulation.metal3.rack import NAMESPACE
from tests.unit.remediation.complaints import BY_CONDITION
from tests.unit.remediation.metal3.power_world import PowerWorld

MEMBERS = ("node-1", "node-2", "node-3")


@pytest.fixture(params=range(3))
def world(request: pytest.FixtureRequest) -> Iterator[PowerWorld]:
    found = PowerWorld(f"control plane {request.param}", machines=4, check=BY_CONDITION)
    found.api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"maxConcurrent": 5}})
    for name in MEMBERS:
        labels = {"node-role.kubernetes.io/control-plane": ""}
        found.api.patch(NODE, name, {"metadata": {"labels": labels}})
    yield found
    found.close()


def phases(world: PowerWorld) -> list[str]:
    found = world.api.list(METAL3_REMEDIATION, Selection(NAMESPACE))
    return [one.get("status", {}).get("phase", "pending") for one in found]


@pytest.mark.slow
def test_ready_members_are_powered_off_one_after_the_other(world: PowerWorld) -> None:
    for name in MEMBERS:
        world.ask_by_check(name)

    least = len(MEMBERS)
    while phases(world) != ["succeeded"] * len(MEMBERS):
        world.run(1.0)
        assert world.world.scheduler.now < 3600.0, phases(world)
        least = min(least, sum(world.world.machines[name].powered for name in MEMBERS))
    assert least == 2
