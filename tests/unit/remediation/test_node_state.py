"""A release waits for workloads on exactly that node, and for nothing elsewhere."""

from collections.abc import Iterator
from typing import Any

import pytest

from nodemend.api.meta import ObjectMeta
from nodemend.api.resources import PERSISTENT_VOLUME_CLAIM, POD, VOLUME_ATTACHMENT
from nodemend.api.upstream_types import Pod, PodSpec, PodToleration
from nodemend.kube.request import Method
from nodemend.remediation.node_state import must_leave, stays
from nodemend.safety.lifecycle import OUR_TAINT
from tests.unit.remediation.metal3.power_world import SICK, PowerWorld

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_pods_on_other_nodes_are_not_pending(world: PowerWorld) -> None:
    attach(world, "elsewhere", "node-2")
    world.ask()
    world.run(300.0)

    assert world.status["phase"] == "succeeded"


def stay(world: PowerWorld, volumes: list[dict[str, Any]], *, phase: str = "Running") -> None:
    """A pod that tolerates every taint, on the failing node. Its volume has the same name."""
    spec = {
        "nodeName": SICK,
        "containers": [{"name": "main", "image": "simulated"}],
        "tolerations": [{"operator": "Exists"}],
        "volumes": volumes,
    }
    world.api.create(POD, {"metadata": {"name": "agent"}, "spec": spec}, "default")
    world.api.patch(POD, "agent", {"status": {"phase": phase}}, at=("default", "status"))


def claim(world: PowerWorld, name: str, volume: str) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "volumeName": volume}
    world.api.create(PERSISTENT_VOLUME_CLAIM, {"metadata": {"name": name}, "spec": spec}, "default")


CLAIMED = [{"name": "disk", "persistentVolumeClaim": {"claimName": "disk-of-agent"}}]
EPHEMERAL = [{"name": "disk", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]


@pytest.mark.slow
@pytest.mark.attack("K8")
@pytest.mark.parametrize(
    ("volumes", "named"), [(CLAIMED, "disk-of-agent"), (EPHEMERAL, "agent-disk")], ids=["claim", "ephemeral"]
)
def test_a_pod_that_tolerates_the_taint_keeps_its_volume_and_is_not_pending(
    world: PowerWorld, volumes: list[dict[str, Any]], named: str
) -> None:
    stay(world, volumes)
    claim(world, named, "agent")
    world.ask()
    world.run(300.0)

    assert world.status["phase"] == "succeeded"
    assert world.api.get(POD, "agent", "default") is not None
    assert world.api.get(VOLUME_ATTACHMENT, f"agent.{SICK}") is not None


@pytest.mark.slow
@pytest.mark.attack("K8")
@pytest.mark.parametrize("volume", ["pv-other", ""], ids=["of another volume", "not bound"])
def test_a_volume_of_another_pod_is_pending(world: PowerWorld, volume: str) -> None:
    stay(world, CLAIMED)
    claim(world, "disk-of-agent", volume)
    world.ask()
    world.run(300.0)

    assert (world.status["phase"], world.status["attachmentsLeft"]) == ("release", 1)


@pytest.mark.slow
@pytest.mark.attack("K8")
def test_a_claim_that_cannot_be_read_holds_with_words(world: PowerWorld) -> None:
    stay(world, CLAIMED)
    claim(world, "disk-of-agent", "agent")
    world.world.remediator.forbidden.add((Method.GET, "persistentvolumeclaims"))
    world.ask()
    world.run(300.0)

    assert world.status["phase"] == "release"
    assert "Cannot read the node's pods and volumes" in world.status["message"]


@pytest.mark.attack("K8")
def test_a_terminating_pod_is_pending_regardless_of_its_tolerations() -> None:
    """Kubernetes removes it by force while the taint is set, so the node must not come back meanwhile."""
    tolerant = PodSpec(node_name="n1", tolerations=(PodToleration(operator="Exists"),))
    pod = Pod(metadata=ObjectMeta(name="agent"), spec=tolerant)
    terminating = pod.but(metadata=ObjectMeta(name="agent", deletion_timestamp="2026-01-01T00:00:00Z"))

    assert (must_leave(pod), stays(pod, OUR_TAINT)) == (False, True)
    assert (must_leave(terminating), stays(terminating, OUR_TAINT)) == (True, False)
