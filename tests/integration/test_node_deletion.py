"""Writes to Nodes that the remediator may make if the chart lets it delete them, on a real API server."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from controlplane.api import Api
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from installed.manifests import install
from nodemend.api.resources import NODE
from nodemend.api.well_known import SYSTEM_NAMESPACE
from simulation.api_server.admission import Attempt, Operation, User
from simulation.api_server.policies import REMEDIATOR, deletable_nodes_policy
from tests.integration.api_refusals import await_refusal, refusal

pytestmark = pytest.mark.real

NODES = "/api/v1/nodes"
GPU = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}
OURS = {"key": "node.kubernetes.io/out-of-service", "value": "nodemend", "effect": "NoExecute"}
THEIRS = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
UPDATES: dict[str, tuple[dict[str, Any], str]] = {
    "labels, annotations, a taint and a cordon are given back": (
        {
            "metadata": {"labels": {"zone": "a"}, "annotations": {"owner": "anna"}},
            "spec": {"taints": [GPU, {"key": "old", "effect": "NoSchedule"}], "unschedulable": True},
        },
        "",
    ),
    "our taint": ({"spec": {"taints": [GPU, OURS]}}, ""),
    "our mark": ({"metadata": {"annotations": {"nodemend.io/release-revoked": "1"}}}, ""),
    "a changed label": ({"metadata": {"labels": {"rack": "8"}}}, "metadata.labels"),
    "a lost label": ({"metadata": {"labels": {"rack": None}}}, "metadata.labels"),
    "a changed annotation": ({"metadata": {"annotations": {"team": "x"}}}, "metadata.annotations"),
    "a lost annotation": ({"metadata": {"annotations": {"team": None}}}, "metadata.annotations"),
    "a lost taint": ({"spec": {"taints": []}}, "spec.taints"),
    "a changed taint": ({"spec": {"taints": [GPU | {"value": "h100"}]}}, "spec.taints"),
    "another's out-of-service taint": ({"spec": {"taints": [GPU, THEIRS]}}, "spec.taints"),
    "a provider ID": ({"spec": {"providerID": "cloud://1"}}, "spec:"),
    "a finalizer": ({"metadata": {"finalizers": ["nodemend.io/mine"]}}, "finalizer"),
}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane(Settings(controller_manager=False, scheduler=False)) as plane:
        install(plane, "powerCycle.enabled=true", "powerCycle.mayDeleteNodes=true")
        yield plane


@pytest.fixture(scope="module")
def remediator(plane: ControlPlane) -> Api:
    api = plane.client_with(plane.service_account_token(SYSTEM_NAMESPACE, "nodemend-remediator"))
    plane.api.create(node("probe"))
    await_refusal("nodemend-nodes", api, f"{NODES}/probe", {"metadata": {"labels": {"rack": "8"}}})
    return api


def node(name: str, *, ready: str = "Unknown") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"rack": "7"}, "annotations": {"team": "storage"}},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def make(plane: ControlPlane, name: str, *, ready: str = "Unknown", **spec: object) -> dict[str, Any]:
    plane.api.create(node(name))
    plane.api.patch(f"{NODES}/{name}", {"spec": {"taints": [GPU], **spec}})
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    made: dict[str, Any] = plane.api.patch(f"{NODES}/{name}/status", {"status": status})
    return made


ADDITIONS: dict[str, dict[str, Any]] = {
    "a control plane's role": {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}},
    "a label that kubelets may not set": {
        "metadata": {"labels": {"node-restriction.kubernetes.io/pci": "yes"}}
    },
    "a taint that evicts": {
        "spec": {"taints": [GPU, {"key": "evict", "value": "all", "effect": "NoExecute"}]}
    },
    "another Machine": {"metadata": {"annotations": {"cluster.x-k8s.io/machine": "other"}}},
    "a cordon": {"spec": {"unschedulable": True}},
}


@pytest.mark.attack("S12")
@pytest.mark.parametrize("what", ADDITIONS)
def test_a_node_that_has_long_been_there_gets_nothing(
    plane: ControlPlane, remediator: Api, what: str
) -> None:
    name = f"settled-{list(ADDITIONS).index(what)}"
    make(plane, name)
    beat = (datetime.now(UTC) + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "Ready", "status": "Unknown", "lastHeartbeatTime": beat}
    made = plane.api.patch(f"{NODES}/{name}/status", {"status": {"conditions": [condition]}})
    said = refusal(partial(remediator.patch, f"{NODES}/{name}", ADDITIONS[what]))

    assert "ValidatingAdmissionPolicy 'nodemend-nodes'" in said
    assert "registered within the last hour" in said
    assert simulated(made, ADDITIONS[what])
    assert refusal(partial(remediator.patch, f"{NODES}/{name}", {"spec": {"taints": [GPU, OURS]}})) == ""


@pytest.mark.attack("S12")
def test_a_condition_s_taint_is_kubernetes_own(plane: ControlPlane, remediator: Api) -> None:
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    made = make(plane, "conditioned")
    change = {"spec": {"taints": [GPU, taint]}}
    assert "spec.taints" in refusal(partial(remediator.patch, f"{NODES}/conditioned", change))
    assert simulated(made, change)


def deletion(api: Api, made: dict[str, Any], **conditions: str) -> str:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if conditions:
        options["preconditions"] = conditions
    return refusal(partial(api.request, "DELETE", f"{NODES}/{made['metadata']['name']}", options))


@pytest.mark.parametrize("what", UPDATES)
def test_a_node_gets_back_what_another_had_and_nothing_on_it_is_changed(
    plane: ControlPlane, remediator: Api, what: str
) -> None:
    change, says = UPDATES[what]
    made = make(plane, f"n-{list(UPDATES).index(what)}")
    said = refusal(partial(remediator.patch, f"{NODES}/{made['metadata']['name']}", change))

    assert (says in said) if says else said == ""
    assert bool(simulated(made, change)) is bool(says)


def simulated(old: dict[str, Any], change: dict[str, Any]) -> list[Any]:
    """The answer of the simulated server's policy to the same write."""
    new = merged(old, change)
    attempt = Attempt(Operation.UPDATE, NODE, "", old, new, User(REMEDIATOR), lambda _question: True)
    return list(deletable_nodes_policy(attempt))


def merged(old: Any, change: Any) -> Any:
    if not isinstance(change, dict) or not isinstance(old, dict):
        return change
    kept = {key: value for key, value in old.items() if key not in change}
    return kept | {key: merged(old.get(key), value) for key, value in change.items() if value is not None}


@pytest.mark.attack("F1")
def test_nodemend_s_taint_cannot_be_set_beside_or_instead_of_a_foreign_one(
    plane: ControlPlane, remediator: Api
) -> None:
    """So a node that another controller has tainted is out of service already, and Nodemend must not remove
    that taint.
    """
    make(plane, "theirs", taints=[GPU, THEIRS])
    beside = refusal(partial(remediator.patch, f"{NODES}/theirs", {"spec": {"taints": [GPU, THEIRS, OURS]}}))
    assert "taints must be unique by key and effect pair" in beside
    instead = refusal(partial(remediator.patch, f"{NODES}/theirs", {"spec": {"taints": [GPU, OURS]}}))
    assert "spec.taints" in instead


def test_a_cordon_is_not_removed(plane: ControlPlane, remediator: Api) -> None:
    make(plane, "cordoned", unschedulable=True)
    said = refusal(partial(remediator.patch, f"{NODES}/cordoned", {"spec": {"unschedulable": None}}))
    assert "may add taints and a cordon" in said


def test_a_node_is_deleted_only_by_its_uid_and_version(plane: ControlPlane, remediator: Api) -> None:
    made = make(plane, "silent")
    uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]

    assert "only with its UID and its resourceVersion" in deletion(remediator, made)
    assert "only with its UID and its resourceVersion" in deletion(remediator, made, uid=uid)
    assert "the ResourceVersion in the precondition" in deletion(
        remediator, made, uid=uid, resourceVersion="1"
    )
    assert deletion(remediator, made, uid=uid, resourceVersion=version) == ""
    assert plane.api.find(f"{NODES}/silent") is None


def test_one_that_is_ready_is_not(plane: ControlPlane, remediator: Api) -> None:
    made = make(plane, "well", ready="True")
    metadata = made["metadata"]
    said = deletion(remediator, made, uid=metadata["uid"], resourceVersion=metadata["resourceVersion"])
    assert "may not delete a Node that is Ready" in said


def test_nor_does_it_make_any(remediator: Api) -> None:
    assert "cannot create" in refusal(partial(remediator.create, node("made-up")))
