"""The kinds of other projects on a real API server: served, and complete in the stored version."""

from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.api import collection
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from foreign_kinds.definitions import crds
from foreign_kinds.install import install

pytestmark = pytest.mark.real

PROJECTS = ("cluster-api", "metal3", "openshift")
OLD, NEW = "cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2"
OPENSHIFT = "machine.openshift.io/v1beta1"
METAL3 = ("infrastructure.cluster.x-k8s.io/v1alpha5", "infrastructure.cluster.x-k8s.io/v1beta1")

Spec = dict[str, Any]
SELECTOR = {"matchLabels": {"pool": "workers"}}
REBOOT = {"strategy": {"type": "Reboot", "retryLimit": 1, "timeout": "5m0s"}}
TEMPLATE = {"apiVersion": METAL3[1], "kind": "Metal3RemediationTemplate", "name": "reboot"}
OLD_MACHINE = {
    "clusterName": "main",
    "bootstrap": {"dataSecretName": "none"},
    "infrastructureRef": {"apiVersion": METAL3[1], "kind": "Metal3Machine", "name": "a-0"},
    "nodeDrainTimeout": "10s",
}
NEW_MACHINE = {
    "clusterName": "main",
    "bootstrap": {"dataSecretName": "none"},
    "infrastructureRef": {
        "apiGroup": "infrastructure.cluster.x-k8s.io",
        "kind": "Metal3Machine",
        "name": "a-0",
    },
    "deletion": {"nodeDrainTimeoutSeconds": 10},
}


def owner(machine: Spec) -> Spec:
    """Fields that a MachineSet and a MachineDeployment share."""
    template = {"metadata": {"labels": SELECTOR["matchLabels"]}, "spec": machine}
    return {"clusterName": "main", "replicas": 2, "selector": SELECTOR, "template": template}


SPECS: dict[tuple[str, str], Spec] = {
    (OLD, "Cluster"): {"controlPlaneEndpoint": {"host": "api.example.com", "port": 6443}},
    (NEW, "Cluster"): {"controlPlaneEndpoint": {"host": "api.example.com", "port": 6443}},
    (OLD, "Machine"): OLD_MACHINE,
    (NEW, "Machine"): NEW_MACHINE,
    (OLD, "MachineSet"): owner(OLD_MACHINE),
    (NEW, "MachineSet"): owner(NEW_MACHINE),
    (OLD, "MachineDeployment"): owner(OLD_MACHINE),
    (NEW, "MachineDeployment"): owner(NEW_MACHINE),
    (OLD, "MachineHealthCheck"): {
        "clusterName": "main",
        "selector": SELECTOR,
        "maxUnhealthy": "40%",
        "nodeStartupTimeout": "10m0s",
        "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "5m0s"}],
        "remediationTemplate": TEMPLATE,
    },
    (NEW, "MachineHealthCheck"): {
        "clusterName": "main",
        "selector": SELECTOR,
        "checks": {
            "nodeStartupTimeoutSeconds": 600,
            "unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}],
        },
        "remediation": {"templateRef": TEMPLATE, "triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}},
    },
    (OPENSHIFT, "Machine"): {"providerID": "test://a-0", "providerSpec": {"value": {"kind": "Anything"}}},
    (OPENSHIFT, "MachineSet"): {"replicas": 2, "selector": SELECTOR, "template": {"spec": {}}},
    (OPENSHIFT, "MachineHealthCheck"): {
        "selector": SELECTOR,
        "maxUnhealthy": "40%",
        "nodeStartupTimeout": "10m",
        "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "300s"}],
        "remediationTemplate": TEMPLATE,
    },
    **{(version, "Metal3Remediation"): REBOOT for version in METAL3},
    **{(version, "Metal3RemediationTemplate"): {"template": {"spec": REBOOT}} for version in METAL3},
}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane(API_SERVER_ALONE) as plane:
        install(plane, *PROJECTS)
        yield plane


@pytest.fixture(scope="module")
def old_plane() -> Iterator[ControlPlane]:
    """A control plane from before Cluster API 1.11."""
    with ControlPlane(API_SERVER_ALONE) as plane:
        install(plane, "cluster-api", stored="v1beta1")
        yield plane


def test_every_served_version_of_every_kind_has_a_sample_here() -> None:
    served = {
        (f"{definition['spec']['group']}/{version['name']}", definition["spec"]["names"]["kind"])
        for project in PROJECTS
        for definition in crds(project)
        for version in definition["spec"]["versions"]
        if version["served"]
    }
    assert served == SPECS.keys()


@pytest.mark.parametrize(("version", "kind"), SPECS)
def test_an_object_of_every_version_of_every_kind_is_taken(
    plane: ControlPlane, version: str, kind: str
) -> None:
    read = round_trip(plane, version, kind)

    assert (read["apiVersion"], read["kind"]) == (version, kind)


@pytest.mark.parametrize(("version", "kind"), [key for key in SPECS if key[0] != OLD])
def test_an_object_of_the_stored_version_is_whole(plane: ControlPlane, version: str, kind: str) -> None:
    assert_holds(round_trip(plane, version, kind)["spec"], SPECS[version, kind])


@pytest.mark.parametrize(("version", "kind"), [key for key in SPECS if key[0] == OLD])
def test_an_object_of_an_older_version_is_whole_where_that_is_stored(
    old_plane: ControlPlane, version: str, kind: str
) -> None:
    assert_holds(round_trip(old_plane, version, kind)["spec"], SPECS[version, kind])


def test_an_object_loses_what_the_stored_version_does_not_know(plane: ControlPlane) -> None:
    read = round_trip(plane, OLD, "MachineHealthCheck")

    assert read["spec"] == {"clusterName": "main", "selector": SELECTOR}


def test_installing_twice_changes_nothing(plane: ControlPlane) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    before = {item["metadata"]["name"]: item["metadata"]["generation"] for item in plane.api.list(path)}

    install(plane, *PROJECTS)

    after = {item["metadata"]["name"]: item["metadata"]["generation"] for item in plane.api.list(path)}
    assert after == before


def round_trip(plane: ControlPlane, version: str, kind: str) -> Any:
    """The sample as it is read after writing, without unknown fields of its version."""
    header = {"apiVersion": version, "kind": kind, "metadata": {"generateName": "a-", "namespace": "default"}}
    path = collection(header)
    sample = {**header, "spec": SPECS[version, kind]}
    written = plane.api.request("POST", path, sample, query={"fieldValidation": "Strict"})
    return plane.api.get(f"{path}/{written['metadata']['name']}")


def assert_holds(stored: Any, wanted: Any) -> None:
    """Every written field is present; the schema may have added defaults."""
    if isinstance(wanted, dict):
        assert wanted.keys() <= stored.keys()
        for key, value in wanted.items():
            assert_holds(stored[key], value)
    else:
        assert stored == wanted
