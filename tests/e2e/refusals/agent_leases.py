"""The nodes' agent Leases: which accounts write which of them, and which fields."""

import json
import shlex
from functools import partial
from typing import Any, Final

from controlplane.api import Api
from controlplane.waiting import wait_until
from nodemend.api.well_known import AGENT_NAMESPACE, AGENT_REPORT, MARKER, SYSTEM_NAMESPACE
from nodemend.cli.agents import remove_marker_command
from tests.e2e.refusals.agent_cluster import LEASES, AgentCluster, lease, patch_annotations
from tests.e2e.refusals.trial import Trial

_OWN: Final = f"{LEASES}/node-1"
_OTHER: Final = f"{LEASES}/node-2"
_RENEWAL: Final = {"spec": {"renewTime": "2026-01-31T12:00:00.000000Z"}}
_ITS_OWN: Final = "A node may write only its own Lease"
_MARKED: Final = "only Nodemend's remediator may write nodemend.io/marker and nodemend.io/peer-proposal"
_WITHIN: Final = 30.0
"""Seconds until the authorizer has observed a new binding."""
_NOT_A_WRITER: Final = "Only these nodes and Nodemend's remediator may write the Leases of nodes"


def leases(cluster: AgentCluster, trial: Trial) -> None:
    _own(cluster, trial)
    _of_others(cluster, trial)
    _marker(cluster, trial)
    _what_else_stands_on_it(cluster, trial)
    _elsewhere(cluster, trial)
    _people(cluster, trial)
    _deletion(cluster, trial)


def _own(cluster: AgentCluster, trial: Trial) -> None:
    for node, agent in cluster.agents.items():
        born = {"annotations": {"nodemend.io/marker": "x"}}
        trial.refuses(
            f"the Lease of {node}, born with a marker", partial(agent.create, lease(node, **born)), _MARKED
        )
        trial.accepts(f"the Lease of {node} by its agent", partial(agent.create, lease(node)))
        trial.accepts(f"its renewal on {node}", partial(agent.patch, f"{LEASES}/{node}", _RENEWAL))
        report = partial(patch_annotations, agent, node, agent_report="{}")
        trial.accepts(f"its report on {node}", report)


def _of_others(cluster: AgentCluster, trial: Trial) -> None:
    agent, other = cluster.agents["node-1"], cluster.agents["node-2"]
    trial.accepts("a look at another node's Lease, for it may ask", lambda: agent.get(_OTHER))
    says = (_ITS_OWN, "you are on node-1")
    trial.refuses("another node's renewal", lambda: agent.patch(_OTHER, _RENEWAL), *says)
    trial.refuses(
        "another node's report", lambda: patch_annotations(agent, "node-2", agent_report="x"), *says
    )
    trial.refuses("the Lease of a node that has none", lambda: agent.create(lease("node-3")), *says)
    by_chance = lease("")
    by_chance["metadata"] |= {"generateName": "node-"}
    trial.refuses("a Lease with a name by chance", lambda: agent.create(by_chance), _ITS_OWN)
    trial.refuses(
        "a renewal the other way round", lambda: other.patch(_OWN, _RENEWAL), _ITS_OWN, "you are on node-2"
    )
    for what, api in (("a token of nothing", cluster.unbound),):
        for path in (_OWN, _OTHER):
            trial.refuses(
                f"{path} by {what}", partial(api.patch, path, _RENEWAL), _ITS_OWN, "bound to no node"
            )


def _marker(cluster: AgentCluster, trial: Trial) -> None:
    """The remediator's marker, on which all safety relies."""
    says = (_MARKED,)
    writers = _writers(cluster)
    for who, api, whose in writers:
        if whose == "node-1":
            trial.refuses(f"a marker by {who}", partial(patch_annotations, api, "node-1", marker="x"), *says)
    marks = partial(patch_annotations, cluster.remediator, "node-1", marker="{}", peer_proposal="{}")
    trial.accepts("marker and proposal by the remediator", marks)
    for who, api, whose in writers:
        expected = says if whose == "node-1" else (_ITS_OWN,)
        for what, value in (("changed", "y"), ("taken off", None)):
            for key in ("marker", "peer_proposal"):
                attempt = partial(patch_annotations, api, "node-1", **{key: value})
                trial.refuses(f"{key} {what} by {who}", attempt, *expected)
        trial.refuses(
            f"marker taken off with a report, by {who}",
            partial(patch_annotations, api, "node-1", marker=None, agent_report="{}"),
            *expected,
        )
        trial.refuses(
            f"all annotations taken off by {who}",
            partial(api.patch, _OWN, {"metadata": {"annotations": None}}),
            *expected,
        )
        trial.refuses(
            f"the whole replaced by {who}", partial(_replace, cluster, api), "cannot update resource"
        )
    agent = cluster.agents["node-1"]
    trial.accepts("a renewal beside the marker", lambda: agent.patch(_OWN, _RENEWAL))
    trial.refuses(
        "what a node says of itself, by the remediator",
        lambda: patch_annotations(cluster.remediator, "node-1", agent_report='{"bootID": "new"}'),
        "only the node may write nodemend.io/agent-report",
    )


def _writers(cluster: AgentCluster) -> list[tuple[str, Api, str]]:
    """Accounts that might write, and the node of each."""
    return [(f"the agent on {node}", api, node) for node, api in cluster.agents.items()]


def _replace(cluster: AgentCluster, api: Api) -> object:
    """Write it unchanged, but without annotations."""
    found = cluster.plane.api.get(_OWN)
    del found["metadata"]["annotations"]
    return api.request("PUT", _OWN, found)


def _what_else_stands_on_it(cluster: AgentCluster, trial: Trial) -> None:
    agent = cluster.agents["node-1"]
    owner = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": "gone",
        "uid": "0f8b1b4e-0000-4000-8000-000000000000",
    }
    no_other = "may not change labels, finalizers or owners"
    changes: dict[str, tuple[dict[str, Any], str]] = {
        "another annotation": ({"annotations": {"example.com/x": "y"}}, "no other annotation"),
        "a label": ({"labels": {"a": "b"}}, no_other),
        "an owner that is gone, so that garbage collection deletes it": (
            {"ownerReferences": [owner]},
            no_other,
        ),
        "a finalizer": ({"finalizers": ["example.com/x"]}, no_other),
        "a report without end": (
            {"annotations": {"nodemend.io/agent-report": "x" * 16385}},
            "16384 characters at most",
        ),
        **{
            f"the address {address}": (_reports(address=address), "must be HOST:PORT or empty")
            for address in ("[]@", "[", "user@host:1", "host", "host:0x1", "a" * 300 + ":1", "host:1/x")
        },
        **{
            f"{name} {number}": (_reports(**{name: number}), "must not be negative or huge")
            for name in ("sequence", "acknowledged", "steadySince")
            for number in (-1, 10**30, 1.5)
        },
    }
    for what, (change, says) in changes.items():
        trial.refuses(what, partial(agent.patch, _OWN, {"metadata": change}), says)
    for address in ("", "192.0.2.1:9771", "[fd00::1]:9771", "node-1.example.com:9771"):
        right = {"metadata": _reports(address=address, sequence=2**53, acknowledged=0, steadySince=1)}
        trial.accepts(f"a report with the address {address!r}", partial(agent.patch, _OWN, right))


def _reports(**fields: object) -> dict[str, Any]:
    return {"annotations": {AGENT_REPORT: json.dumps(fields, separators=(",", ":"))}}


def _elsewhere(cluster: AgentCluster, trial: Trial) -> None:
    agent = cluster.agents["node-1"]
    for namespace in ("kube-node-lease", "nodemend-system", "default"):
        path = LEASES.replace(AGENT_NAMESPACE, namespace)
        elsewhere = lease("node-1") | {"metadata": {"name": "node-1", "namespace": namespace}}
        trial.refuses(f"a Lease in {namespace}", partial(agent.create, elsewhere), "cannot create resource")
        trial.refuses(f"a look into {namespace}", partial(agent.get, f"{path}/node-1"), "cannot get resource")
    trial.refuses("all Leases at once", lambda: agent.list(LEASES), "cannot list resource")
    trial.refuses("a watch on them", lambda: agent.get(LEASES, watch="true"), "cannot watch resource")


def _people(cluster: AgentCluster, trial: Trial) -> None:
    """RBAC rights do not help: neither an admin's, nor the superuser's."""
    others = (
        ("a cluster admin", cluster.chief, _NOT_A_WRITER),
        ("the superuser", cluster.plane.api, _NOT_A_WRITER),
        ("the checker", cluster.checker, "cannot patch resource"),
        ("the signer", cluster.signer, "cannot patch resource"),
    )
    for who, api, says in others:
        for what in ("marker", "peer_proposal", "agent_report"):
            attempt = partial(patch_annotations, api, "node-1", **{what: None})
            trial.refuses(f"{what} taken off by {who}", attempt, says)
        trial.refuses(f"a marker on another node by {who}", partial(_mark_other, api), says)
        trial.refuses(f"a renewal by {who}", partial(api.patch, _OWN, _RENEWAL), says)
    trial.refuses("a Lease by a cluster admin", lambda: cluster.chief.create(lease("node-3")), _NOT_A_WRITER)


def _mark_other(api: Api) -> object:
    return patch_annotations(api, "node-2", marker="{}")


def _deletion(cluster: AgentCluster, trial: Trial) -> None:
    by_policy = "Only Nodemend's remediator may delete Leases of nodes"
    for node, agent in cluster.agents.items():
        trial.refuses(
            f"the Lease of node-1 deleted by the agent on {node}",
            partial(agent.request, "DELETE", _OWN),
            "cannot delete resource",
        )
        trial.refuses(
            f"all Leases deleted by the agent on {node}",
            partial(agent.request, "DELETE", LEASES),
            "cannot deletecollection resource",
        )
    for who, api in (("a cluster admin", cluster.chief), ("the superuser", cluster.plane.api)):
        trial.refuses(f"a Lease deleted by {who}", partial(api.request, "DELETE", _OWN), _NOT_A_WRITER)
        trial.refuses(f"all Leases deleted by {who}", partial(api.request, "DELETE", LEASES), _NOT_A_WRITER)
    _nodes_with_more_rights(cluster, trial, by_policy)
    trial.accepts("the marker taken off by a person as they are told to", lambda: _take_off_by_hand(cluster))
    patch_annotations(cluster.remediator, "node-1", marker="{}")
    off = partial(patch_annotations, cluster.remediator, "node-1", marker=None)
    trial.accepts("the marker taken off by the remediator", off)
    trial.accepts("a Lease deleted by the remediator", lambda: cluster.remediator.request("DELETE", _OTHER))


def _take_off_by_hand(cluster: AgentCluster) -> None:
    _, *words = shlex.split(remove_marker_command("node-1", SYSTEM_NAMESPACE))
    cluster.plane.kubectl(*words)
    annotations = cluster.plane.api.get(_OWN)["metadata"].get("annotations", {})
    if MARKER in annotations:
        raise ValueError(f"it is still there: {annotations}")


def _nodes_with_more_rights(cluster: AgentCluster, trial: Trial, says: str) -> None:
    """Agents cannot delete even if they are granted the right to delete."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "name": "nodemend-agent", "namespace": AGENT_NAMESPACE}
    metadata = {"name": "too-much", "namespace": AGENT_NAMESPACE}
    binding = {"roleRef": role, "subjects": [subject], "metadata": metadata}
    kinds = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding"}
    cluster.plane.api.create({**kinds, **binding})
    for node, agent in cluster.agents.items():
        wait_until(f"the agent on {node} has the right", partial(_may_delete, agent), within=_WITHIN)
    for node, agent in cluster.agents.items():
        trial.refuses(
            f"the Lease of node-1 deleted by the agent on {node}, which has the right",
            partial(agent.request, "DELETE", _OWN),
            says,
        )
    cluster.plane.api.delete(
        f"/apis/rbac.authorization.k8s.io/v1/namespaces/{AGENT_NAMESPACE}/rolebindings/too-much"
    )


def _may_delete(agent: Api) -> bool:
    attributes = {
        "verb": "delete",
        "group": "coordination.k8s.io",
        "resource": "leases",
        "namespace": AGENT_NAMESPACE,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {},
        "spec": {"resourceAttributes": attributes},
    }
    found = agent.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    return bool(found["status"]["allowed"])
