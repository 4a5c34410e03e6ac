"""The nodes that run etcd, as far as the caller may read them."""

from collections.abc import Iterator

import pytest

from nodemend.api.resources import POD
from nodemend.cli.cluster import find_etcd_hosts
from nodemend.cli.explain.facts import gather_node
from nodemend.cli.explain.node import evaluate_node
from nodemend.records.node import MIRROR
from nodemend.safety.guard import ControlPlane
from simulation.cluster.world import Shape, World
from tests.unit.cli.simulated_caller import SimulatedCaller


@pytest.fixture
def world() -> Iterator[World]:
    made = World("etcd hosts", Shape(people=False, replicas=0))
    made.run(30.0)
    for name, annotations in (("node-1", {MIRROR: "8c1"}), ("node-2", {MIRROR: "8c1"}), ("node-3", {})):
        metadata = {"name": f"etcd-{name}", "labels": {"component": "etcd"}, "annotations": annotations}
        spec = {"nodeName": name, "containers": [{"name": "etcd", "image": "etcd"}]}
        made.admin_api.create(POD, {"metadata": metadata, "spec": spec}, "kube-system")
    yield made
    made.close()


def test_they_are_those_whose_kubelets_mirror_it(world: World) -> None:
    assert SimulatedCaller(world).run(find_etcd_hosts).nodes == {"node-1", "node-2"}


def test_an_explanation_counts_them_to_the_control_plane(world: World) -> None:
    facts = SimulatedCaller(world).run(lambda cluster: gather_node(cluster, "node-1"))
    judged = evaluate_node(facts)
    assert judged is not None
    assert judged.guard_facts.control_plane == ControlPlane(total=2, others_ready=1, busy="")
