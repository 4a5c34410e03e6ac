"""Managers of other projects, under accounts that have Nodemend's opt-in roles by aggregation, and nothing
else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from controlplane.api import MERGE, Api, ApiError
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from installed.manifests import bind, install
from nodemend.api import well_known
from tests.integration.api_refusals import refusal

pytestmark = pytest.mark.real

GROUP = "remediation.metal3.io/v1alpha1"
BASE = f"/apis/{GROUP}/namespaces/default"
SPACE = "managers"
FINALIZER = {"metadata": {"finalizers": ["nodemend.io/safe-end"]}}
ON = ("powerCycle.enabled=true", "powerCycle.askedBy.clusterApi=true", "powerCycle.askedBy.medik8s=true")


@dataclass(frozen=True, slots=True)
class Asker:
    """A manager of another project: its aggregation label, and the remediation that it makes from Nodemend's
    template.
    """

    account: str
    label: str
    metadata: dict[str, Any]
    may_annotate: bool


CLUSTER_API = Asker(
    "capi-manager",
    "cluster.x-k8s.io/aggregate-to-manager",
    {
        "annotations": {
            "cluster.x-k8s.io/cloned-from-groupkind": "Metal3RemediationTemplate.remediation.metal3.io",
            "cluster.x-k8s.io/cloned-from-name": "power-cycle",
        },
        "labels": {"cluster.x-k8s.io/cluster-name": "main"},
        "ownerReferences": [
            {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "a-0", "uid": "38978a4d"}
        ],
    },
    may_annotate=False,
)
MEDIK8S = Asker(
    "node-healthcheck-controller-manager",
    "rbac.ext-remediation/aggregate-to-ext-remediation",
    {
        "annotations": {
            well_known.NODE_OF_REMEDIATION: "a-0",
            "remediation.medik8s.io/template-name": "power-cycle",
        },
        "labels": {"app.kubernetes.io/part-of": "node-healthcheck-controller"},
        "ownerReferences": [
            {
                "apiVersion": "remediation.medik8s.io/v1alpha1",
                "kind": "NodeHealthCheck",
                "name": "main",
                "controller": False,
                "uid": "90c54d12",
            }
        ],
    },
    may_annotate=True,
)
ASKERS = pytest.mark.parametrize("asker", [CLUSTER_API, MEDIK8S], ids=lambda asker: asker.account)


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane with a controller manager, which fills aggregated roles."""
    with ControlPlane(Settings(scheduler=False)) as plane:
        install(plane, *ON)
        plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        template = {"strategy": "retry", "powerOffTimeoutSeconds": 120}
        plane.api.create(
            {
                "apiVersion": GROUP,
                "kind": "Metal3RemediationTemplate",
                "metadata": {"name": "power-cycle", "namespace": "default"},
                "spec": {"template": {"spec": template}},
            }
        )
        yield plane


def log_in_as(plane: ControlPlane, asker: Asker) -> Api:
    """Create the objects of the project's manifests: an account, a role that aggregates by a label, a
    binding.
    """
    role = f"{asker.account}-aggregated"
    if plane.api.find(f"/api/v1/namespaces/{SPACE}/serviceaccounts/{asker.account}") is None:
        metadata = {"name": asker.account, "namespace": SPACE}
        plane.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        plane.api.create(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": role},
                "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {asker.label: "true"}}]},
            }
        )
        bind(plane, role, SPACE, asker.account)
    api = plane.client_with(plane.service_account_token(SPACE, asker.account))
    wait_until("its role is filled", partial(_may_read, api), within=60.0)
    return api


def _may_read(api: Api) -> bool:
    try:
        api.list(f"{BASE}/metal3remediations")
    except ApiError as error:
        if error.status != 403:
            raise
        return False
    return True


def _is_refused(attempt: Callable[[], object]) -> bool:
    return refusal(attempt) != ""


def remediation(asker: Asker, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "a-0", "namespace": "default", **asker.metadata}
    return {"apiVersion": GROUP, "kind": "Metal3Remediation", "metadata": metadata, "spec": spec}


@ASKERS
def test_it_creates_a_remediation_from_a_template_and_deletes_it(plane: ControlPlane, asker: Asker) -> None:
    api = log_in_as(plane, asker)
    template = api.get(f"{BASE}/metal3remediationtemplates/power-cycle")

    made = api.create(remediation(asker, template["spec"]["template"]["spec"]))
    assert made["spec"]["strategy"] == "retry"
    assert api.get(f"{BASE}/metal3remediations/a-0")["metadata"]["uid"] == made["metadata"]["uid"]
    api.delete(f"{BASE}/metal3remediations/a-0")
    assert api.find(f"{BASE}/metal3remediations/a-0") is None


@ASKERS
def test_it_can_delete_a_running_one_but_not_mark_it_as_ended(plane: ControlPlane, asker: Asker) -> None:
    api, path = log_in_as(plane, asker), f"{BASE}/metal3remediations/a-0"
    remediator = plane.client_with(
        plane.service_account_token(well_known.SYSTEM_NAMESPACE, "nodemend-remediator")
    )
    api.create(remediation(asker, {}))
    remediator.patch(path, FINALIZER)

    for change, where in (
        ({"status": {"phase": "succeeded"}}, f"{path}/status"),
        ({"metadata": {"finalizers": None}}, path),
        ({"spec": {"strategy": "retry"}}, path),
    ):
        # In dry runs until it is refused: policies take effect after a moment.
        attempt = partial(api.request, "PATCH", where, change, content_type=MERGE, query={"dryRun": "All"})
        wait_until(f"{change} is refused", partial(_is_refused, attempt), within=60.0)
        with pytest.raises(ApiError):
            api.patch(where, change)
    api.delete(path)
    assert "deletionTimestamp" in api.get(path)["metadata"]
    remediator.patch(path, {"metadata": {"finalizers": None}})
    assert api.find(path) is None


@ASKERS
def test_only_medik8s_writes_to_the_objects_it_created(plane: ControlPlane, asker: Asker) -> None:
    api, path = log_in_as(plane, asker), f"{BASE}/metal3remediations/a-0"
    api.create(remediation(asker, {}))
    note = {"metadata": {"annotations": {"remediation.medik8s.io/nhc-timed-out": "2026-01-01T00:00:00Z"}}}

    if asker.may_annotate:
        api.patch(path, note)
    else:
        with pytest.raises(ApiError, match="cannot patch"):
            api.patch(path, note)
    api.delete(path)


@ASKERS
def test_it_gets_no_other_rights(plane: ControlPlane, asker: Asker) -> None:
    api = log_in_as(plane, asker)
    for path in (
        "/apis/nodemend.io/v1alpha1/remediationpolicies",
        "/apis/nodemend.io/v1alpha1/manualremediations",
        "/api/v1/nodes",
        "/api/v1/secrets",
    ):
        with pytest.raises(ApiError, match="403"):
            api.list(path)
