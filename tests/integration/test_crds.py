"""Our CustomResourceDefinitions on a real API server: accepted, complete, lossless."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from controlplane.api import Api, ApiError
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from generate.outputs import CRDS, FLAT, INSTALL, ROOT
from nodemend.api.crds import FLAT_MACHINE_HEALTH_CHECK, CustomResource
from nodemend.kube.request import collection_path, item_path
from tests.unit.api.full_samples import ALL, BY_KIND, full_sample, schema_of
from tests.unit.api.sample_objects import leaves

pytestmark = pytest.mark.real

EXAMPLES = ROOT / "deploy" / "examples"
# Fields that a spec may not have at its creation (tests/e2e/refusals).
LATER = {"ManualRemediation": ("confirmation",)}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane(Settings(controller_manager=False, scheduler=False)) as plane:
        plane.kubectl("apply", "--server-side", "-f", str(CRDS), "-f", str(FLAT))
        for custom in ALL:
            wait_until(f"{custom.resource} is served", partial(_is_served, plane.api, custom))
        yield plane


@pytest.mark.parametrize("kind", BY_KIND)
def test_every_field_is_kept_by_the_api_server(plane: ControlPlane, kind: str) -> None:
    custom = BY_KIND[kind]
    wanted = full_sample(kind)
    namespace = "default" if custom.resource.namespaced else ""
    name = "cluster" if kind == "RemediationPolicy" else "sample"
    path = item_path(custom.resource, name, namespace)

    first = {key: value for key, value in wanted["spec"].items() if key not in LATER.get(kind, ())}
    header = {"apiVersion": custom.resource.api_version, "kind": kind, "metadata": {"name": name}}
    strict = {"fieldValidation": "Strict"}
    collection = collection_path(custom.resource, namespace)
    written = plane.api.request("POST", collection, {**header, "spec": first}, query=strict)
    if first != wanted["spec"]:
        written = plane.api.request("PUT", path, {**written, "spec": wanted["spec"]}, query=strict)
    if custom.has_status:
        plane.api.request("PUT", f"{path}/status", {**written, "status": wanted["status"]}, query=strict)

    stored = plane.api.get(path)
    assert {key: stored.get(key) for key in wanted} == wanted


def test_a_flat_machine_health_check_is_whole_in_its_older_version_too(plane: ControlPlane) -> None:
    wanted = full_sample("MachineHealthCheck")["spec"]
    older = msgspec.structs.replace(FLAT_MACHINE_HEALTH_CHECK.resource, version="v1alpha3")
    metadata = {"name": "older", "namespace": "default"}
    check = {"apiVersion": older.api_version, "kind": older.kind, "metadata": metadata, "spec": wanted}

    plane.api.request("POST", collection_path(older, "default"), check, query={"fieldValidation": "Strict"})

    for resource in (older, FLAT_MACHINE_HEALTH_CHECK.resource):
        assert plane.api.get(item_path(resource, "older", "default"))["spec"] == wanted


@pytest.mark.conforms("N1")
def test_defaults_are_filled_in(plane: ControlPlane) -> None:
    check = {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "NodeHealthCheck",
        "metadata": {"name": "defaults"},
        "spec": {
            "selector": {},
            "thresholds": [{"type": "Ready", "status": "Unknown", "period": "5m"}],
            "remedies": full_sample("NodeHealthCheck")["spec"]["remedies"],
        },
    }

    assert plane.api.create(check)["spec"]["healthyDelay"] == "30s"


def test_a_policy_without_a_spec_is_a_dry_run(plane: ControlPlane) -> None:
    path = item_path(BY_KIND["RemediationPolicy"].resource, "cluster")
    plane.api.delete(path)
    policy = {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "RemediationPolicy",
        "metadata": {"name": "cluster"},
    }

    assert plane.api.create(policy)["spec"] == {
        "mode": "DryRun",
        "maxConcurrent": 10,
        "maxConcurrentPercent": 10,
        "maxUnhealthy": "40%",
        "settleTime": "5m",
        "minInterval": "10s",
    }


def test_short_names_columns_and_categories_work_in_kubectl(plane: ControlPlane) -> None:
    for custom in ALL:
        for name in (*custom.short_names, custom.resource.kind.lower()):
            wide = plane.kubectl("get", name, "-A", "-o", "wide")
            assert all(column.name.upper() in wide for column in custom.columns)
    assert "nodehealthcheck" in plane.kubectl("get", "nodemend", "-A")


def test_remediations_can_be_selected_by_phase(plane: ControlPlane) -> None:
    assert (
        plane.kubectl("get", "mrem", "-A", "--field-selector", "status.phase=Releasing", "-o", "name") == ""
    )


def test_kubectl_explains_every_field(plane: ControlPlane) -> None:
    for custom in ALL:
        explained = plane.kubectl("explain", custom.resource.plural, "--recursive")
        for part in ("spec", "status"):
            schema = schema_of(custom.resource.kind)["properties"].get(part)
            for leaf in leaves(schema, part) if schema else ():
                assert leaf.removesuffix("[0]").split(".")[-1].removesuffix("[0]") in explained


def test_the_plain_manifests_are_accepted_whole(plane: ControlPlane) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nodemend-system"}}
    plane.api.create(namespace)

    said = plane.kubectl(
        "apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", str(INSTALL)
    )

    kinds = {line.split("/")[0] for line in said.splitlines()}
    assert {"deployment.apps", "validatingadmissionpolicy.admissionregistration.k8s.io", "flowschema"} <= {
        kind.removesuffix(".flowcontrol.apiserver.k8s.io") for kind in kinds
    }


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.stem)
def test_the_examples_are_accepted(plane: ControlPlane, file: Path) -> None:
    plane.kubectl("create", "namespace", f"for-{file.stem}")
    text = file.read_text().replace("namespace: nodemend-system", f"namespace: for-{file.stem}")

    plane.kubectl("apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-", stdin=text)


def _is_served(api: Api, custom: CustomResource) -> bool:
    try:
        return api.find(collection_path(custom.resource)) is not None
    except ApiError as error:
        if error.status == 429:  # Its storage is being made.
            return False
        raise
