"""A real API server with Nodemend's manifests, and with accounts of controllers and users."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from controlplane.api import MERGE, Api, ApiError
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from installed.manifests import bind, install
from nodemend.api.well_known import SYSTEM_NAMESPACE

REMEDIATIONS: Final = "/apis/nodemend.io/v1alpha1/namespaces/default/manualremediations"
POLICY: Final = "/apis/nodemend.io/v1alpha1/remediationpolicies/cluster"
CHECKS: Final = "/apis/nodemend.io/v1alpha1/nodehealthchecks"
ORDERS: Final = "/apis/nodemend.io/v1alpha1/remediationorders"
NODES: Final = "/api/v1/nodes"
PEOPLE: Final = "people"
_ACTIVE_WITHIN: Final = 60.0

_BINDINGS: Final = {
    # All users are service accounts, so that tokens are real. The last three have roles that the chart does
    # not ship.
    "viewer": "nodemend-viewer",
    "operator": "nodemend-operator",
    "overrider": "nodemend-overrider",
    "driller": "nodemend-driller",
    "anna": "nodemend-confirmer",
    "berta": "nodemend-confirmer",
    "chief": "cluster-admin",
    "meddler": "meddler",
    "requester": "requester",
    "author": "author",
}
_OTHER_ROLES: Final = {
    # May write remediations by Kubernetes' verbs, but has none of Nodemend's.
    "meddler": ("get", "create", "update", "patch"),
    "requester": ("create", "request"),
}
_AUTHOR: Final = (
    # May create and delete any check, and configure one of them.
    {"verbs": ["create", "delete"]},
    {"verbs": ["configure"], "resourceNames": ["the-author-s"]},
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Clients with the accounts of the cluster. `plane.api` is the superuser, used only for setup."""

    plane: ControlPlane
    checker: Api
    remediator: Api
    people: dict[str, Api]

    def user_name(self, person: str) -> str:
        return f"system:serviceaccount:{PEOPLE}:{person}"


@contextmanager
def installed_cluster(settings: Settings | None = None) -> Iterator[Cluster]:
    """Yields once every policy refuses."""
    with ControlPlane(settings or Settings(controller_manager=False, scheduler=False)) as plane:
        install(plane)
        _make_people(plane)
        cluster = Cluster(
            plane=plane,
            checker=_account(plane, SYSTEM_NAMESPACE, "nodemend-checker"),
            remediator=_account(plane, SYSTEM_NAMESPACE, "nodemend-remediator"),
            people={person: _account(plane, PEOPLE, person) for person in _BINDINGS},
        )
        _await_policies(cluster)
        yield cluster


def remediation(name: str, **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "ManualRemediation",
        "metadata": {"name": name, "namespace": "default", "labels": {"nodemend.io/check": "workers"}},
        "spec": spec,
    }


def health_check(name: str) -> dict[str, Any]:
    """A check that selects no node, with dryRun set as well."""
    reference = {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "ManualRemediationTemplate",
        "name": "call-the-admin",
        "namespace": "default",
    }
    spec = {
        "selector": {"matchLabels": {"rack": "none"}},
        "thresholds": [{"type": "Ready", "status": "Unknown", "period": "5m"}],
        "remedies": [{"template": reference}],
        "dryRun": True,
    }
    return {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "NodeHealthCheck",
        "metadata": {"name": name},
        "spec": spec,
    }


def order(name: str, **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "RemediationOrder",
        "metadata": {"name": name},
        "spec": {"reason": "its disk is failing", "nodeUID": "5f0c1d3e-0b6a-4c8e-9a53-6d2f1be3a7c4", **spec},
    }


def node(name: str, **spec: object) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"rack": "7"}, "annotations": {"team": "storage"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}


def _make_people(plane: ControlPlane) -> None:
    plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PEOPLE}})
    for role, verbs in _OTHER_ROLES.items():
        rule = {"apiGroups": ["nodemend.io"], "resources": ["manualremediations"], "verbs": list(verbs)}
        plane.api.create(_rbac("ClusterRole", role, rules=[rule]))
    checks = {"apiGroups": ["nodemend.io"], "resources": ["nodehealthchecks"]}
    plane.api.create(_rbac("ClusterRole", "author", rules=[{**checks, **rule} for rule in _AUTHOR]))
    for person, role in _BINDINGS.items():
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": person, "namespace": PEOPLE},
        }
        plane.api.create(account)
        bind(plane, role, PEOPLE, person)


def _rbac(kind: str, name: str, **content: object) -> dict[str, Any]:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, **content}


def _account(plane: ControlPlane, namespace: str, name: str) -> Api:
    return plane.client_with(plane.service_account_token(namespace, name))


def _await_policies(cluster: Cluster) -> None:
    """Wait until policies are in force: try in dry runs what each must refuse, until it does."""
    cluster.plane.api.create(remediation("probe"))
    cluster.plane.api.create(node("probe"))
    chief, operator = cluster.people["chief"], cluster.people["operator"]
    policy = {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "RemediationPolicy",
        "metadata": {"name": "cluster"},
    }
    cluster.plane.api.create(policy)
    confirmation = {"by": "x", "reason": "x", "nodeUID": "x", "bootID": "x", "lastRenewTime": "x"}
    probes = (
        ("nodemend-confirmation", chief, f"{REMEDIATIONS}/probe", {"spec": {"confirmation": confirmation}}),
        ("nodemend-remediations", chief, f"{REMEDIATIONS}/probe/status", {"status": {"epoch": 1}}),
        ("nodemend-nodes", cluster.remediator, f"{NODES}/probe", {"metadata": {"labels": {"a": "b"}}}),
        ("nodemend-settings", operator, POLICY, {"spec": {"mode": "Act"}}),
    )
    for name, api, path, change in probes:
        attempt = partial(api.request, "PATCH", path, change, content_type=MERGE, query={"dryRun": "All"})
        wait_until(f"{name} is active", partial(_refused_by, name, attempt), within=_ACTIVE_WITHIN)
    another_s = partial(chief.request, "POST", ORDERS, order("probe", by="x"), query={"dryRun": "All"})
    wait_until(
        "nodemend-orders is active", partial(_refused_by, "nodemend-orders", another_s), within=_ACTIVE_WITHIN
    )
    cluster.plane.api.delete(f"{REMEDIATIONS}/probe")
    cluster.plane.api.delete(f"{NODES}/probe")


def _refused_by(policy: str, attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except ApiError as error:
        return f"ValidatingAdmissionPolicy '{policy}'" in str(error)
    return False
