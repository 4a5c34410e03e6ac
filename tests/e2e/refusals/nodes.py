"""Writes to Nodes by Nodemend's accounts: the remediator may set its own taint and revocation, the checker
nothing.
"""

from functools import partial
from typing import Any, Final

from controlplane.api import Api
from controlplane.waiting import wait_until
from installed.manifests import bind
from nodemend.api.well_known import SYSTEM_NAMESPACE
from tests.e2e.refusals.installed_cluster import NODES, REMEDIATIONS, Cluster, node, order
from tests.e2e.refusals.trial import Attempt, Trial

_OURS: Final = {"key": "node.kubernetes.io/out-of-service", "value": "nodemend", "effect": "NoExecute"}
_GPU: Final = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}
_CUT_OFF: Final = {
    "key": "node.kubernetes.io/unreachable",
    "effect": "NoExecute",
    "timeAdded": "2026-01-31T12:00:00Z",
}
_THEIRS: Final = [_GPU, _CUT_OFF]
_PATH: Final = f"{NODES}/node-1"


def nodes(cluster: Cluster, trial: Trial) -> None:
    cluster.plane.api.create(node("node-1"))
    # At its creation the API server adds its own taint to every Node.
    cluster.plane.api.patch(_PATH, {"spec": {"taints": _THEIRS}})
    _taints(trial, cluster.remediator)
    _everything_else(trial, cluster.remediator)
    _marks(trial, cluster.remediator)
    _by_rights(trial, cluster)
    _whatever_is_bound(trial, cluster)


def _tainted(api: Api, *taints: dict[str, str]) -> Attempt:
    return lambda: api.patch(_PATH, {"spec": {"taints": list(taints)}})


def _taints(trial: Trial, api: Api) -> None:
    says = ("spec.taints", "only its own taint", "node.kubernetes.io/out-of-service=nodemend:NoExecute")
    wrong: dict[str, list[dict[str, str]]] = {
        "a taint of its own invention": [*_THEIRS, {"key": "nodemend.io/sick", "effect": "NoSchedule"}],
        "an out-of-service taint of another value": [*_THEIRS, _OURS | {"value": "nodeshutdown"}],
        "an out-of-service taint of another effect": [*_THEIRS, _OURS | {"effect": "NoSchedule"}],
        "another's taint gone": [_GPU],
        "another's taint gone for ours": [_GPU, _OURS],
        "another's taint with another value": [_GPU | {"value": "h100"}, _CUT_OFF],
        "another's taint with another effect": [_GPU | {"effect": "NoExecute"}, _CUT_OFF],
        "another's taint with another time": [_GPU, _CUT_OFF | {"timeAdded": "2026-01-31T12:00:09Z"}],
        "others' taints in another order": [_CUT_OFF, _GPU],
        "no taints at all": [],
    }
    for what, taints in wrong.items():
        trial.refuses(what, _tainted(api, *taints), *says)
    trial.accepts("our taint", _tainted(api, *_THEIRS, _OURS))
    trial.refuses("another's taint gone beside ours", _tainted(api, _GPU, _OURS), *says)
    trial.accepts("our taint off", _tainted(api, *_THEIRS))


def _everything_else(trial: Trial, api: Api) -> None:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "x"}
    changes: dict[str, tuple[dict[str, Any], str]] = {
        "a cordon": ({"spec": {"unschedulable": True}}, "spec:"),
        "a provider ID": ({"spec": {"providerID": "cloud://1"}}, "spec:"),
        "a pod network": ({"spec": {"podCIDR": "10.2.0.0/24", "podCIDRs": ["10.2.0.0/24"]}}, "spec:"),
        "a new label": ({"metadata": {"labels": {"sick": "yes"}}}, "may not change labels"),
        "a changed label": ({"metadata": {"labels": {"rack": "8"}}}, "may not change labels"),
        "a lost label": ({"metadata": {"labels": {"rack": None}}}, "may not change labels"),
        "a finalizer": ({"metadata": {"finalizers": ["nodemend.io/mine"]}}, "finalizer"),
        "an owner": ({"metadata": {"ownerReferences": [owner]}}, "owner"),
        "a new annotation": ({"metadata": {"annotations": {"nodemend.io/was-here": "yes"}}}, "annotations"),
        "a changed annotation": ({"metadata": {"annotations": {"team": "network"}}}, "annotations"),
        "a lost annotation": ({"metadata": {"annotations": {"team": None}}}, "annotations"),
    }
    for what, (change, says) in changes.items():
        trial.refuses(what, partial(api.patch, _PATH, change), "Nodemend's remediator may", says)


def _marks(trial: Trial, api: Api) -> None:
    for what, mark in (("our mark", "1"), ("our mark moved", "2"), ("our mark off", None)):
        change = {"metadata": {"annotations": {"nodemend.io/release-revoked": mark}}}
        trial.accepts(what, partial(api.patch, _PATH, change))


def _by_rights(trial: Trial, cluster: Cluster) -> None:
    label = {"metadata": {"labels": {"sick": "yes"}}}
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    for name, api in (("checker", cluster.checker), ("remediator", cluster.remediator)):
        if name == "checker":
            trial.refuses("a taint by the checker", _tainted(api, *_THEIRS, _OURS), "cannot patch", '"nodes"')
            trial.refuses("a label by the checker", partial(api.patch, _PATH, label), "cannot patch")
        for what, attempt in (
            ("a node's status", partial(api.patch, f"{_PATH}/status", ready)),
            ("a new node", partial(api.create, node("made-up"))),
            ("a node deleted", partial(api.delete, _PATH)),
            ("a pod deleted", partial(api.delete, "/api/v1/namespaces/default/pods/db-0")),
            ("a secret read", partial(api.get, "/api/v1/namespaces/default/secrets/bmc")),
        ):
            trial.refuses(f"{what} by the {name}", attempt, "cannot ")


def _whatever_is_bound(trial: Trial, cluster: Cluster) -> None:
    """Both accounts are made cluster admins. The policies still restrict them."""
    for account in ("nodemend-checker", "nodemend-remediator"):
        bind(cluster.plane, "cluster-admin", SYSTEM_NAMESPACE, account)
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    for name, api in (("checker", cluster.checker), ("remediator", cluster.remediator)):
        wait_until(f"{name} is cluster admin", partial(_is_admin, api), within=60.0)
        says = "checker may not write Nodes" if name == "checker" else "may neither create nor delete Nodes"
        for what, attempt in (
            ("a node's status", partial(api.patch, f"{_PATH}/status", ready)),
            ("a new node", partial(api.create, node("made-up"))),
            ("a node deleted", partial(api.delete, _PATH)),
        ):
            trial.refuses(f"{what} by the {name} as cluster admin", attempt, says)
        own = order("made-up", by=f"system:serviceaccount:{SYSTEM_NAMESPACE}:nodemend-{name}")
        trial.refuses(
            f"an order by the {name} as cluster admin",
            partial(api.create, own),
            "only a user may order a remediation, never",
        )
    trial.refuses(
        "a taint by the checker as cluster admin",
        _tainted(cluster.checker, *_THEIRS, _OURS),
        "Nodemend's checker may not write Nodes",
    )
    # Any remediation will do; this one remains from the chapter on statuses.
    left = f"{REMEDIATIONS}/status"
    trial.refuses(
        "a status by the checker as cluster admin",
        lambda: cluster.checker.patch(f"{left}/status", {"status": {"epoch": 99}}),
        "only Nodemend's remediator",
    )
    trial.refuses(
        "a changed remediation by the checker as cluster admin",
        lambda: cluster.checker.patch(left, {"metadata": {"labels": {"a": "b"}}}),
        "creates and deletes remediations, and changes none",
    )


def _is_admin(api: Api) -> bool:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {},
        "spec": {"resourceAttributes": {"verb": "delete", "resource": "nodes"}},
    }
    allowed: bool = api.create(review)["status"]["allowed"]
    return allowed
