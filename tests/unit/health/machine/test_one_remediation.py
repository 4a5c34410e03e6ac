"""A node under a NodeHealthCheck and a MachineHealthCheck: only one of them remediates it."""

from typing import Any

import pytest

from nodemend.api.resources import LEASE, NODE_HEALTH_CHECK
from tests.unit.health.machine.conftest import NewWorld
from tests.unit.health.machine.machine_world import FIX, FIX_TEMPLATE, SPACE, MachineWorld


def watch_nodes(world: MachineWorld, seconds: int) -> None:
    template: dict[str, Any] = {
        "apiVersion": FIX_TEMPLATE.api_version,
        "kind": FIX_TEMPLATE.kind,
        "name": "reboot",
        "namespace": SPACE,
    }
    spec = {
        "selector": {},
        "thresholds": [{"type": "Ready", "status": "Unknown", "period": f"{seconds}s"}],
        "maxUnhealthy": "100%",
        "remedies": [{"template": template}],
    }
    world.api.create(NODE_HEALTH_CHECK, {"metadata": {"name": "nodes"}, "spec": spec})


@pytest.mark.parametrize(("seconds", "first"), [(40, "Node"), (90, "Machine")])
@pytest.mark.parametrize("template", [True, False])
def test_the_first_remediation_excludes_all_others(
    new_world: NewWorld, seconds: int, first: str, *, template: bool
) -> None:
    """The Machine has another name than its node, so names alone do not match them."""
    world = new_world()
    for number in range(3):
        world.add_node(f"node-{number}")
        world.add_machine(f"machine-{number}", node=f"node-{number}")
    world.add_check(template=template)
    watch_nodes(world, seconds)
    world.start()
    world.set_condition("node-0", "Ready", "Unknown")
    world.run(150)
    made = {one["metadata"]["ownerReferences"][0]["kind"] for one in world.api.list(FIX)}
    made |= {"Machine"} if "OwnerRemediated" in world.marks("machine-0") else set()
    assert made == {first}


@pytest.mark.parametrize("template", [True, False])
def test_a_machine_whose_node_another_operator_holds_is_left_alone(
    new_world: NewWorld, *, template: bool
) -> None:
    world = new_world()
    for number in range(3):
        world.add_node(f"node-{number}")
        world.add_machine(f"machine-{number}", node=f"node-{number}")
    world.add_check(template=template)
    spec = {"holderIdentity": "NodeHealthCheck-main", "leaseDurationSeconds": 660}
    world.api.create(LEASE, {"metadata": {"name": "node-node-0"}, "spec": spec}, SPACE)
    world.start(medik8s_leases=SPACE)
    world.set_condition("node-0", "Ready", "Unknown")
    world.run(150)
    begun = bool(world.fixes()) or "OwnerRemediated" in world.marks("machine-0")
    assert (begun, world.status()["currentHealthy"]) == (False, 2)
    world.api.delete(LEASE, "node-node-0", SPACE)
    world.run(20)
    assert world.fixes() or "OwnerRemediated" in world.marks("machine-0")
