"""Which nodes run etcd, as far as whoever asks may see."""

from collections.abc import Iterator

import pytest

from nodemend.api.group_versions import POD
from nodemend.cli.etcd_hosts import look_for_etcd
from nodemend.cli.explain.facts import gather
from nodemend.cli.explain.judging import judge_node
from nodemend.decide.guard_facts import ControlPlane
from nodemend.kube.etcd_pod_record import MIRROR
from nodemend.testing.cluster.world import Shape, World
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
    assert SimulatedCaller(world).run(look_for_etcd).nodes == {"node-1", "node-2"}


def test_an_explanation_counts_them_to_the_control_plane(world: World) -> None:
    facts = SimulatedCaller(world).run(lambda cluster: gather(cluster, "node-1"))
    judged = judge_node(facts)
    assert judged is not None
    assert judged.guarding.control_plane == ControlPlane(total=2, others_ready=1, busy="")
