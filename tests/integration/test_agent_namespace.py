"""The agents' namespace: it cannot be deleted while agents run, and a deletion in progress completes."""

import subprocess
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import pytest

from controlplane.api import Api
from controlplane.credentials import User
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from installed.manifests import install
from nodemend.api.well_known import AGENT_NAMESPACE, SYSTEM_NAMESPACE
from tests.e2e.refusals.agent_cluster import LEASES, lease, patch_annotations, pods_token
from tests.integration.api_refusals import refusal

pytestmark = [pytest.mark.real, pytest.mark.attack("S11")]

NAMESPACE: Final = f"/api/v1/namespaces/{AGENT_NAMESPACE}"
BINDINGS: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
USERS: Final = (
    # An admin may give these names to any user; they are not those of a controller.
    User("namespace-controller", ("system:masters",)),
    User("system:serviceaccount:kube-system:generic-garbage-collector", ("system:masters",)),
)


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    """A control plane with the Lease of a node that has a marker."""
    with ControlPlane(Settings(controller_manager=True, scheduler=False, users=USERS)) as plane:
        install(plane, "selfFencing.enabled=true")
        plane.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "spec": {}})
        wait_until("the policies are in force", partial(_is_kept, plane.api), within=60.0)
        agent = plane.client_with(pods_token(plane, "node-1"))
        agent.create(lease("node-1"))
        token = plane.service_account_token(SYSTEM_NAMESPACE, "nodemend-remediator")
        patch_annotations(plane.client_with(token), "node-1", marker="{}")
        yield plane


def _is_kept(api: Api) -> bool:
    query = {"dryRun": "All"}
    kept = "nodemend-agent-namespace" in refusal(partial(api.request, "DELETE", NAMESPACE, query=query))
    return kept and "nodemend-agent-leases" in refusal(
        partial(api.request, "POST", LEASES, lease("x"), query=query)
    )


def left(plane: ControlPlane) -> dict[str, Any]:
    role = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{AGENT_NAMESPACE}/roles/nodemend-agent"
    return {"lease": plane.api.find(f"{LEASES}/node-1"), "role": plane.api.find(role)}


def test_it_is_not_deleted_while_self_fencing_is_installed(plane: ControlPlane) -> None:
    said = refusal(partial(plane.api.request, "DELETE", NAMESPACE))

    assert "Uninstall Nodemend first" in said
    assert plane.api.get(NAMESPACE)["status"]["phase"] == "Active"
    assert all(left(plane).values())
    another = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}"
    assert refusal(partial(plane.api.request, "DELETE", another, query={"dryRun": "All"})) == ""


def test_a_namespace_that_is_being_deleted_is_deleted_with_its_leases(plane: ControlPlane) -> None:
    """As if it was deleted before the policies existed, or while they were missing."""
    plane.api.delete(f"{BINDINGS}/nodemend-agent-namespace")
    wait_until(
        "it may be deleted",
        lambda: refusal(partial(plane.api.request, "DELETE", NAMESPACE, query={"dryRun": "All"})) == "",
        within=60.0,
    )
    plane.api.patch(f"{NAMESPACE}/pods/nodemend-agent-node-1", {"metadata": {"finalizers": []}})
    plane.api.request("DELETE", f"{NAMESPACE}/pods/nodemend-agent-node-1", {"gracePeriodSeconds": 0})
    plane.api.request("DELETE", NAMESPACE)

    wait_until("it is gone", lambda: plane.api.find(NAMESPACE) is None, within=90.0)


def test_no_other_account_can_remove_a_marker_with_the_lease_before_that(plane: ControlPlane) -> None:
    others = (plane.api, *(plane.client(user.name) for user in USERS))
    for api in others:
        assert "nodemend-agent-leases" in refusal(partial(api.request, "DELETE", f"{LEASES}/node-1"))
        assert "nodemend-agent-leases" in refusal(partial(api.request, "DELETE", LEASES))
    as_controller = ("delete", "lease", "node-1", "-n", AGENT_NAMESPACE)
    name = "system:serviceaccount:kube-system:namespace-controller"
    with pytest.raises(subprocess.CalledProcessError, match="non-zero"):
        plane.kubectl(*as_controller, f"--as={name}", "--as-group=system:masters")
    assert all(left(plane).values())
