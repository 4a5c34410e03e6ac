"""None of Nodemend's accounts can become another: tried on a real API server, with the shipped manifests."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest

from controlplane.api import Api
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from generate.outputs import install_documents
from installed.manifests import bind, install
from nodemend.api.well_known import AGENT_AUTHORITY, AGENT_NAMESPACE, AGENT_TRUST, SYSTEM_NAMESPACE
from tests.integration.api_refusals import await_refused_by, refusal
from tests.unit.signer.requests import pkcs10, signing_request

pytestmark = pytest.mark.real

POLICY: Final = "ValidatingAdmissionPolicy 'nodemend-accounts'"
ACCOUNTS: Final = ("checker", "remediator", "signer", "agent")
LEASES: Final = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases"
SECRETS: Final = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/secrets"
OF_ACCOUNT: Final = "kubernetes.io/service-account.name"


@dataclass(frozen=True)
class Installed:
    plane: ControlPlane
    plain: dict[str, Api]
    """API clients by account, with the rights that the chart grants."""


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    with ControlPlane(Settings(controller_manager=True, scheduler=False)) as plane:
        install(plane, "selfFencing.enabled=true", "powerCycle.enabled=true")
        plain = {
            name: plane.client_with(
                plane.service_account_token(
                    AGENT_NAMESPACE if name == "agent" else SYSTEM_NAMESPACE, f"nodemend-{name}"
                )
            )
            for name in ACCOUNTS
        }
        await_refused_by("nodemend-accounts", plain["checker"], LEASES, lease("probe"))
        yield Installed(plane, plain)


@pytest.fixture(scope="module")
def mighty(installed: Installed) -> dict[str, Api]:
    """The same accounts, after all of them were made cluster admins."""
    for name in ACCOUNTS:
        namespace = AGENT_NAMESPACE if name == "agent" else SYSTEM_NAMESPACE
        bind(installed.plane, "cluster-admin", namespace, f"nodemend-{name}")
    return installed.plain


def lease(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": SYSTEM_NAMESPACE},
        "spec": {"holderIdentity": "x", **spec},
    }


def secret(name: str = AGENT_AUTHORITY, type_: str = "Opaque", **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": SYSTEM_NAMESPACE, **metadata}
    return {"apiVersion": "v1", "kind": "Secret", "type": type_, "metadata": metadata}


def token_of(account: str) -> dict[str, Any]:
    return secret(type_="kubernetes.io/service-account-token", annotations={OF_ACCOUNT: account})


@pytest.mark.attack("S4")
@pytest.mark.parametrize(
    "account", ["nodemend-remediator", "nodemend-checker", "nodemend-wind-down", "default"]
)
def test_the_signer_s_secret_cannot_be_a_service_account_token(installed: Installed, account: str) -> None:
    """As after a theft, when an operator has deleted the CA so that another is made."""
    signer = installed.plain["signer"]

    said = refusal(partial(signer.create, token_of(account)))

    assert POLICY in said
    assert "type Opaque" in said
    assert installed.plane.api.find(f"{SECRETS}/{AGENT_AUTHORITY}") is None


@pytest.mark.attack("S4")
@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("the annotation that names an account", secret(annotations={OF_ACCOUNT: "nodemend-remediator"})),
        ("a label by which others could find it", secret(labels={"a": "b"})),
        ("a finalizer", secret(finalizers=["example.com/x"])),
        ("another type", secret(type_="kubernetes.io/tls") | {"data": {"tls.crt": "", "tls.key": ""}}),
        ("a made-up type", secret(type_="example.com/x")),
        ("other data", secret() | {"stringData": {"token": "x"}}),
        ("another name", secret("stolen")),
    ],
)
def test_and_has_one_form(installed: Installed, what: str, body: dict[str, Any]) -> None:
    said = refusal(partial(installed.plain["signer"].create, body))
    assert POLICY in said or "'nodemend-agent-trust'" in said, what


@pytest.mark.attack("S4")
def test_the_signer_may_do_everything_that_it_needs(installed: Installed) -> None:
    signer, api = installed.plain["signer"], installed.plane.api
    made = secret() | {"stringData": {"authority.json": "{}"}}
    path = f"{SECRETS}/{AGENT_AUTHORITY}"
    signer.create(made)
    api.patch(path, {"metadata": {"annotations": {"nodemend.io/replace-authority": "yes", "team": "x"}}})
    accepted = {
        "metadata": {"annotations": {"nodemend.io/replace-authority": None}},
        "data": {"authority.json": ""},
    }

    signer.patch(path, accepted)

    said = refusal(partial(signer.patch, path, {"metadata": {"annotations": {"team": None}}}))
    assert "may only remove" in said
    said = refusal(
        partial(signer.patch, path, {"metadata": {"annotations": {OF_ACCOUNT: "nodemend-remediator"}}})
    )
    assert "may not change annotations" in said
    api.delete(path)


@pytest.mark.attack("S4")
@pytest.mark.parametrize("name", ["kube-root-ca.crt", "nodemend-host-parts", AGENT_TRUST + "-2"])
def test_the_signer_may_not_change_the_configuration_of_agents(installed: Installed, name: str) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": AGENT_NAMESPACE},
        "data": {"ca.crt": "x"},
    }
    said = refusal(partial(installed.plain["signer"].create, body))
    assert POLICY in said or "'nodemend-agent-trust'" in said


@pytest.mark.attack("S13")
@pytest.mark.parametrize(
    ("account", "name", "allowed"),
    [
        ("checker", "nodemend-checker", True),
        ("checker", "nodemend-remediator", False),
        ("checker", "node-4f9a", False),
        ("checker", "anything", False),
        ("signer", "nodemend-signer", True),
        ("signer", "nodemend-remediator", False),
        ("signer", "nodemend-checker", False),
        ("signer", "node-4f9a", False),
        ("remediator", "nodemend-remediator", True),
        ("remediator", "node-4f9a", True),
        ("remediator", "nodemend-checker", False),
        ("remediator", "nodemend-signer", False),
    ],
)
def test_each_account_has_its_own_leases(
    installed: Installed, account: str, name: str, allowed: bool
) -> None:
    api = installed.plain[account]
    said = refusal(partial(api.request, "POST", LEASES, lease(name), query={"dryRun": "All"}))
    assert (said == "") if allowed else (POLICY in said and "its own leader-election Lease" in said)


@pytest.mark.attack("S13")
def test_the_remediator_may_not_change_another_component_s_leader_lease(installed: Installed) -> None:
    installed.plane.api.create(lease("nodemend-checker", leaseDurationSeconds=15))
    remediator, path = installed.plain["remediator"], f"{LEASES}/nodemend-checker"

    assert POLICY in refusal(partial(remediator.patch, path, {"spec": {"holderIdentity": "me"}}))
    assert POLICY in refusal(partial(remediator.request, "DELETE", path))
    assert POLICY in refusal(partial(remediator.request, "DELETE", LEASES)) or installed.plane.api.find(path)
    installed.plane.api.delete(path)


def pod(account: str) -> dict[str, Any]:
    limits = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True}
    limits |= {"seccompProfile": {"type": "RuntimeDefault"}}
    container = {"name": "c", "image": "x", "securityContext": limits}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "me", "namespace": SYSTEM_NAMESPACE},
        "spec": {"serviceAccountName": account, "containers": [container]},
    }


def rbac(kind: str, account: str) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {
            "name": "more",
            **({} if kind.startswith("Cluster") else {"namespace": SYSTEM_NAMESPACE}),
        },
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": SYSTEM_NAMESPACE}],
    }


def job(account: str) -> dict[str, Any]:
    template = {"spec": pod(account)["spec"] | {"restartPolicy": "Never"}}
    metadata = {"name": "me", "namespace": SYSTEM_NAMESPACE}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


@pytest.mark.attack("S4")
@pytest.mark.parametrize("account", ACCOUNTS)
def test_not_even_as_cluster_admins(mighty: dict[str, Api], installed: Installed, account: str) -> None:
    me, admin = mighty[account], installed.plane.api
    other = "nodemend-remediator" if account != "remediator" else "nodemend-signer"
    accounts = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/serviceaccounts"
    request = signing_request("more", pkcs10(), signerName="kubernetes.io/kube-apiserver-client")
    victim = f"victim-{account}"
    admin.create(pod(other) | {"metadata": {"name": victim, "namespace": SYSTEM_NAMESPACE}})
    attempts = {
        "a token": partial(me.request, "POST", f"{accounts}/{other}/token", {"spec": {}}),
        "a Secret": partial(me.create, token_of(other)),
        "a Secret of another namespace": partial(
            me.create,
            secret(AGENT_AUTHORITY, annotations={}) | {"metadata": {"name": "s", "namespace": "default"}},
        ),
        "a pod": partial(me.create, pod(other)),
        "a Job": partial(me.create, job(other)),
        "a role binding": partial(me.create, rbac("RoleBinding", f"nodemend-{account}")),
        "a cluster role binding": partial(me.create, rbac("ClusterRoleBinding", f"nodemend-{account}")),
        "a certificate": partial(me.create, request),
        "a shell": partial(
            me.request,
            "POST",
            f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/pods/{victim}/exec",
            query={"command": "sh", "stdout": "true"},
        ),
        "another container": partial(
            me.patch,
            f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/pods/{victim}/ephemeralcontainers",
            {"spec": {"ephemeralContainers": [pod(other)["spec"]["containers"][0] | {"name": "c2"}]}},
        ),
        "an account changed": partial(me.patch, f"{accounts}/{other}", {"secrets": [{"name": "x"}]}),
        "a namespace's end": partial(me.request, "DELETE", f"/api/v1/namespaces/{SYSTEM_NAMESPACE}"),
    }

    reported = {what: refusal(attempt) for what, attempt in attempts.items()}

    assert {
        what: said
        for what, said in reported.items()
        if "nodemend-" not in said or "denied request" not in said
    } == {}


NEVER: Final = {
    # Policies do not apply to admission policies themselves, nor to impersonation: only RBAC protects these.
    ("admissionregistration.k8s.io", "*"): {"create", "update", "patch", "delete", "deletecollection"},
    ("rbac.authorization.k8s.io", "*"): {"create", "update", "patch", "delete", "bind", "escalate"},
    ("", "serviceaccounts/token"): {"create"},
    ("", "pods"): {"create", "update", "patch", "delete"},
    ("", "pods/exec"): {"get", "create"},
    ("", "nodes/proxy"): {"get", "create"},
    ("", "users"): {"impersonate"},
    ("", "groups"): {"impersonate"},
    ("", "serviceaccounts"): {"impersonate", "create", "update", "patch"},
}
EVERYTHING_ON: Final = (
    "selfFencing.enabled=true",
    "powerCycle.enabled=true",
    "powerCycle.mayDeleteNodes=true",
    "powerCycle.mayReplaceMachines=true",
    "powerCycle.capm3Kinds=true",
    "machineHealthChecks.enabled=true",
    "machineHealthChecks.mayDeleteMachines=true",
    "machineHealthChecks.workloadClusters.enabled=true",
    "machineHealthChecks.workloadClusters.everyNamespace=true",
    "medik8sLeases.respect=true",
)


@pytest.mark.attack("S4")
def test_no_role_in_the_chart_has_what_policies_cannot_hold() -> None:
    roles = [one for one in install_documents(*EVERYTHING_ON) if one["kind"] in ("Role", "ClusterRole")]
    found = [
        (role["metadata"]["name"], rule)
        for role in roles
        for rule in role.get("rules", ())
        for (group, resource), verbs in NEVER.items()
        if {group, "*"} & set(rule.get("apiGroups", ()))
        and (resource == "*" or {resource, "*"} & set(rule.get("resources", ())))
        and (verbs | {"*"}) & set(rule["verbs"])
    ]

    assert len(roles) > 10
    assert found == []
