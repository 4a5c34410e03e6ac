"""A lock that nobody holds is given back; any other is left alone."""

import pytest

from nodemend.api import keys
from nodemend.api.group_versions import LEASE, MANUAL_REMEDIATION, NODE
from nodemend.testing.cluster.direct import Object
from nodemend.testing.cluster.world import Shape, World
from tests.unit.controllers.power_cycle.power_world import SICK, PowerWorld

SYSTEM = keys.SYSTEM_NAMESPACE


def a_lock(name: str, holder: str, uid: str) -> Object:
    metadata = {"name": name, "annotations": {keys.HOLDER: holder} if holder else {}}
    return {"metadata": metadata, "spec": {"holderIdentity": uid}}


@pytest.mark.attack("S13")
@pytest.mark.conforms("N7")
def test_locks_without_a_living_holder_go_and_others_stay() -> None:
    world = World("sweep", Shape(machines=3, people=False, replicas=1))
    world.run(30.0)
    api = world.admin_api
    living = api.create(MANUAL_REMEDIATION, {"metadata": {"name": "node-9"}, "spec": {}}, SYSTEM)
    here = f"ManualRemediation {SYSTEM}/node-9"
    locks = (
        a_lock("node-gone", f"ManualRemediation {SYSTEM}/node-7", "u7"),
        a_lock("node-replaced", here, "an-earlier-one"),
        a_lock("node-held", here, living["metadata"]["uid"]),
        a_lock("node-of-others", "NodeFence default/x", "u8"),
        a_lock("node-unnamed", "", "u9"),
        a_lock("node-half-named", "ManualRemediation", "u9"),
        a_lock("node-nowhere", "ManualRemediation /node-9", "u9"),
    )
    for lock in locks:
        api.create(LEASE, lock, SYSTEM)
    world.run(120.0)
    left = {lease["metadata"]["name"] for lease in api.list(LEASE)}
    world.close()

    assert left & {lock["metadata"]["name"] for lock in locks} == {"node-held", "node-of-others"}


@pytest.mark.attack("S13")
def test_a_lock_without_a_holder_keeps_nobody_from_a_node() -> None:
    world = PowerWorld("nobody's lock")
    try:
        uid = (world.api.get(NODE, SICK) or {})["metadata"]["uid"]
        world.api.create(LEASE, a_lock(f"node-{uid}", "", "x"), SYSTEM)
        world.world.machines[SICK].hung = True
        world.ask()
        world.run(300.0)
        assert world.status["phase"] not in ("", "pending")
    finally:
        world.close()
