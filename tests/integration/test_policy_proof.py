"""Admission policies that are not in force are detected, and nothing is released: on a real API server."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest

from controlplane.api import Api
from controlplane.run import ControlPlane, StartControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from generate.shipped_policies import VARIANTS, fingerprints_of
from installed.manifests import bind, documents_of, install
from installed.programs import mend, start
from nodemend.guard.shipped_policies import SHIPPED
from tests.e2e.refusals.installed_cluster import REMEDIATIONS, remediation
from tests.integration.api_refusals import refusal
from tests.integration.nightly import first_in_ci

POLICIES: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
CLUSTER: Final = "/apis/nodemend.io/v1alpha1/remediationpolicies/cluster"

pytest_plugins = ["controlplane.fixtures"]

ALONE: Final = Settings(controller_manager=False, scheduler=False)
PLUGIN_OFF: Final = Settings(
    controller_manager=False,
    scheduler=False,
    flags={"kube-apiserver": ("--disable-admission-plugins=ServiceAccount,ValidatingAdmissionPolicy",)},
)
NOT_READY: Final = {
    "type": "Ready",
    "status": "Unknown",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "reason": "x",
    "message": "",
}
INFO: Final = (
    "machineID",
    "systemUUID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


def nothing(_api: Api) -> None:
    pass


def delete_binding(name: str, api: Api) -> None:
    api.delete(f"{BINDINGS}/{name}")


def narrow_binding(name: str, api: Api) -> None:
    selector = {"matchLabels": {"no": "such"}}
    api.patch(f"{BINDINGS}/{name}", {"spec": {"matchResources": {"namespaceSelector": selector}}})


def audit_only(name: str, api: Api) -> None:
    api.patch(f"{BINDINGS}/{name}", {"spec": {"validationActions": ["Audit"]}})


def exclude_meddlers(name: str, api: Api) -> None:
    """It refuses anything that a controller of Nodemend could try, and lets the attacker through."""
    condition = {"name": "not-them", "expression": "!request.userInfo.username.contains(':people:')"}
    spec = api.get(f"{POLICIES}/{name}")["spec"]
    conditions = [*spec.get("matchConditions", []), condition]
    api.patch(f"{POLICIES}/{name}", {"spec": {"matchConditions": conditions}})


def demand_nothing(name: str, api: Api) -> None:
    api.patch(f"{POLICIES}/{name}", {"spec": {"validations": [{"expression": "true"}]}})


def ignore_failures(name: str, api: Api) -> None:
    api.patch(f"{POLICIES}/{name}", {"spec": {"failurePolicy": "Ignore"}})


def delete_policy(name: str, api: Api) -> None:
    api.delete(f"{POLICIES}/{name}")


@dataclass(frozen=True)
class Harm:
    what: Callable[[Api], None]
    says: str
    settings: Settings = ALONE


HARMS: Final = {
    "binding deleted": Harm(partial(delete_binding, "nodemend-confirmation"), "it has no binding"),
    "binding narrowed": Harm(partial(narrow_binding, "nodemend-confirmation"), "its binding is not as"),
    "binding audits": Harm(partial(audit_only, "nodemend-remediations"), "its binding is not as"),
    "conditions added": Harm(partial(exclude_meddlers, "nodemend-confirmation"), "its scope is not as"),
    "failures ignored": Harm(partial(ignore_failures, "nodemend-nodes"), "its scope is not as"),
    "nothing demanded": Harm(partial(demand_nothing, "nodemend-orders"), "its rules are not as"),
    "policy deleted": Harm(partial(delete_policy, "nodemend-settings"), "it is missing"),
}


def furnish(plane: ControlPlane) -> None:
    api = plane.api
    api.create(
        {
            "apiVersion": "nodemend.io/v1alpha1",
            "kind": "RemediationPolicy",
            "metadata": {"name": "cluster"},
            "spec": {"mode": "Act"},
        }
    )
    api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "victim"}, "spec": {}})
    info = {**dict.fromkeys(INFO, ""), "bootID": "boot-1"}
    api.patch("/api/v1/nodes/victim/status", {"status": {"nodeInfo": info, "conditions": [NOT_READY]}})
    if api.find("/api/v1/namespaces/kube-node-lease") is None:
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-node-lease"}})
    api.create(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "victim", "namespace": "kube-node-lease"},
            "spec": {
                "holderIdentity": "victim",
                "leaseDurationSeconds": 4,
                "renewTime": "2026-01-01T00:00:00.000000Z",
            },
        }
    )
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "people"}})
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    api.create({**account, "metadata": {"name": "meddler", "namespace": "people"}})
    rule = {
        "apiGroups": ["nodemend.io"],
        "resources": ["manualremediations"],
        "verbs": ["get", "create", "patch", "request", "confirm"],
    }
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    api.create({**role, "metadata": {"name": "meddler"}, "rules": [rule]})
    bind(plane, "meddler", "people", "meddler")


def status_of(plane: ControlPlane) -> dict[str, Any]:
    found: dict[str, Any] = plane.api.get(f"{REMEDIATIONS}/victim").get("status", {})
    return found


def confirm(plane: ControlPlane, by: Api, name: str) -> str:
    """Confirm in that name; returns an empty string if the API server allows it."""
    wait_until("it shows a silent node", lambda: bool(status_of(plane).get("lastRenewTime")), within=60.0)
    shown = status_of(plane)
    confirmation = {key: shown[key] for key in ("nodeUID", "bootID", "lastRenewTime")}
    change = {"spec": {"confirmation": {"by": name, "reason": "I looked", **confirmation}}}
    return refusal(partial(by.patch, f"{REMEDIATIONS}/victim?fieldManager=kubectl-mend", change))


def taints(plane: ControlPlane) -> list[str]:
    found = plane.api.get("/api/v1/nodes/victim")["spec"].get("taints", [])
    return [one["key"] for one in found if one["key"] == "node.kubernetes.io/out-of-service"]


def problem(plane: ControlPlane) -> str:
    conditions = plane.api.get(CLUSTER).get("status", {}).get("conditions", [])
    return next(
        (
            one["message"]
            for one in conditions
            if one["type"] == "AdmissionPolicyUnproven" and one["status"] == "True"
        ),
        "",
    )


PLAYED_OUT: Final = {
    "plugin off": Harm(nothing, "the API server would let", PLUGIN_OFF),
    "binding narrowed": HARMS["binding narrowed"],
    "conditions added": HARMS["conditions added"],
}


@pytest.mark.real
@pytest.mark.attack("S6")
def test_any_change_to_a_policy_is_detected_by_check(start_control_plane: StartControlPlane) -> None:
    plane = start_control_plane(ALONE)
    install(plane)
    for what, harm in HARMS.items():
        harm.what(plane.api)
        checked = mend(plane.kubeconfig, "check")
        assert checked.returncode == 1, what
        assert harm.says in " ".join(checked.stdout.split()), what
        for document in documents_of():
            if document["kind"].startswith("ValidatingAdmissionPolicy"):
                where = BINDINGS if document["kind"].endswith("Binding") else POLICIES
                plane.api.delete(f"{where}/{document['metadata']['name']}")
                plane.api.create(document)
    shown = mend(plane.kubeconfig, "check").stdout
    assert "all 8 admission policies are as shipped, and bound" in shown


@pytest.mark.real
@pytest.mark.attack("S6")
@pytest.mark.parametrize("harm", first_in_ci(PLAYED_OUT))
def test_without_a_policy_nothing_is_released_and_that_is_reported(
    start_control_plane: StartControlPlane, harm: str
) -> None:
    played = PLAYED_OUT[harm]
    plane = start_control_plane(played.settings)
    install(plane)
    played.what(plane.api)
    furnish(plane)
    meddler = plane.client_with(plane.service_account_token("people", "meddler"))
    start(plane, "nodemend-remediator")
    start(plane, "nodemend-checker")
    meddler.create(remediation("victim"))
    # Without policies, in the chief's name; otherwise under an account that may confirm, which is irrelevant
    # here.
    if confirm(plane, meddler, "chief@example.com"):
        assert confirm(plane, meddler, "system:serviceaccount:people:meddler") == ""

    def held() -> bool:
        return played.says in status_of(plane).get("message", "")

    wait_until("it is held", held, within=60.0)
    wait_until("the checker says so", lambda: played.says in problem(plane), within=60.0)
    assert taints(plane) == []
    assert status_of(plane).get("evidence") is None
    log = (plane.directory / "nodemend-remediator-0.log").read_text().splitlines()
    lines = [json.loads(line) for line in log if line.startswith("{")]
    assert any(line["event"] == "admission policy is not in force" for line in lines)
    checked = mend(plane.kubeconfig, "check")
    assert checked.returncode == 1
    assert played.says in " ".join(checked.stdout.split())


@pytest.mark.real
@pytest.mark.attack("S6")
def test_with_all_of_them_a_right_word_releases(start_control_plane: StartControlPlane) -> None:
    plane = start_control_plane(ALONE)
    install(plane)
    furnish(plane)
    meddler = plane.client_with(plane.service_account_token("people", "meddler"))
    start(plane, "nodemend-remediator")
    start(plane, "nodemend-checker")
    meddler.create(remediation("victim"))

    assert "must be your own user name" in confirm(plane, meddler, "chief@example.com")
    assert confirm(plane, meddler, "system:serviceaccount:people:meddler") == ""
    wait_until("it is released", lambda: status_of(plane).get("evidence") is not None, within=60.0)
    assert problem(plane) == ""
    checked = mend(plane.kubeconfig, "check")
    assert "all 8 admission policies are as shipped, and bound" in checked.stdout


@pytest.mark.real
@pytest.mark.attack("S6")
def test_a_user_without_the_right_to_read_policies_is_warned(start_control_plane: StartControlPlane) -> None:
    plane = start_control_plane(ALONE)
    install(plane)
    plane.api.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "eve", "namespace": "default"}}
    )
    bind(plane, "nodemend-operator", "default", "eve")

    checked = mend(plane.service_account_kubeconfig("default", "eve"), "check")

    assert checked.returncode == 1
    assert "it is unknown whether the admission policies are in force" in " ".join(checked.stdout.split())


@pytest.mark.attack("S6")
@pytest.mark.parametrize("namespace", ["nodemend-system", "ops", "nodemend", "kube-system"])
def test_they_are_known_again_in_any_namespace(namespace: str) -> None:
    for settings in VARIANTS:
        for name, found in fingerprints_of(*settings, namespace=namespace).items():
            assert found in SHIPPED[name], name


@pytest.mark.attack("S6")
def test_what_the_installer_chooses_is_not_compared() -> None:
    chosen = (
        "machineHealthChecks.enabled=true",
        "powerCycle.enabled=true",
        "externalRemediationAnnotation.enabled=true",
        "externalRemediationAnnotation.setBy.groups={a,b}",
        "outOfServiceTaint.restrict=true",
        "outOfServiceTaint.breakGlassGroup=fire-brigade",
    )
    for name, found in fingerprints_of(*chosen).items():
        assert found in SHIPPED[name], name
