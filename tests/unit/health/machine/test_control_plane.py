"""Control-plane Machines, identified by their nodes."""

import pytest

from nodemend.api.resources import POD
from nodemend.records.node import MIRROR
from tests.unit.health.machine.conftest import NewWorld


@pytest.mark.parametrize("etcd", [True, False])
def test_a_machine_whose_node_runs_etcd_is_one_of_them(new_world: NewWorld, *, etcd: bool) -> None:
    """Two of three fall silent. Of a control plane neither may be remediated then; of workers both may."""
    world = new_world()
    world.add_pool(3)
    for name in ("m1", "m2", "m3") if etcd else ():
        metadata = {"name": f"etcd-{name}", "labels": {"component": "etcd"}, "annotations": {MIRROR: "8c1"}}
        spec = {"nodeName": name, "containers": [{"name": "etcd", "image": "etcd"}]}
        world.api.create(POD, {"metadata": metadata, "spec": spec}, "kube-system")
    world.add_check()
    world.start()
    for name in ("m1", "m2"):
        world.set_condition(name, "Ready", "Unknown")
    world.run(120)
    begun = [name for name in ("m1", "m2") if "OwnerRemediated" in world.marks(name)]
    assert begun == ([] if etcd else ["m1", "m2"])
