"""Writes that a kubelet's credential allows, to its own Lease and to others'."""

from functools import partial
from typing import Any, Final

from controlplane.api import Api
from nodemend.api.well_known import AGENT_NAMESPACE, EXCLUDE, MEDIK8S_EXCLUDE
from tests.e2e.refusals.agent_cluster import LEASES, TOKEN, AgentCluster, lease, patch_annotations
from tests.e2e.refusals.trial import Trial

_RENEWAL: Final = {"spec": {"renewTime": "2026-01-31T12:00:00.000000Z"}}


def exclusion(cluster: AgentCluster, trial: Trial) -> None:
    """A kubelet may write its own Node, except what would exclude it from remediation."""
    says = "A kubelet may not change nodemend.io/exclude"
    api, path = cluster.nodes["node-1"], "/api/v1/nodes/node-1"
    for where in (path, f"{path}/status"):
        for kind, key in (
            ("labels", EXCLUDE),
            ("annotations", EXCLUDE),
            ("labels", MEDIK8S_EXCLUDE),
        ):
            for value in ("true", "", "false"):
                change = {"metadata": {kind: {key: value}}}
                trial.refuses(f"{kind} {key}={value!r} at {where}", partial(api.patch, where, change), says)
    trial.accepts(
        "another label by a kubelet",
        lambda: api.patch(path, {"metadata": {"labels": {"example.com/a": "b"}}}),
    )
    by_person = {"metadata": {"labels": {EXCLUDE: "true"}}}
    trial.accepts("the exclusion by a person", lambda: cluster.chief.patch(path, by_person))
    taken_off = {"metadata": {"labels": {EXCLUDE: None}}}
    trial.refuses("a person's exclusion taken off by a kubelet", lambda: api.patch(path, taken_off), says)
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    trial.accepts("a kubelet's status beside it", lambda: api.patch(f"{path}/status", ready))
    trial.accepts("the exclusion taken off by a person", lambda: cluster.chief.patch(path, taken_off))


def nodes_own(cluster: AgentCluster, trial: Trial) -> None:
    """Kubernetes lets a kubelet write only its own Lease, in another namespace.

    It may act as its own agent.
    """
    cluster.agents["node-2"].create(lease("node-2"))
    elsewhere = 'can only access leases in the "kube-node-lease" system namespace'
    for node, api in cluster.nodes.items():
        path = f"{LEASES}/{node}"
        trial.accepts(f"a look at its Lease by {node} itself", partial(api.get, path))
        trial.refuses(f"a renewal by {node} itself", partial(api.patch, path, _RENEWAL), elsewhere)
        trial.refuses(
            f"a marker by {node} itself", partial(patch_annotations, api, node, marker=None), elsewhere
        )
    first, other = cluster.nodes["node-1"], "nodemend-agent-node-2"
    trial.refuses(
        "a token of another node's agent",
        partial(_token, cluster, first, other),
        "a pod scheduled on a different node",
    )
    trial.refuses(
        "an agent's token that is bound to nothing",
        lambda: first.request("POST", TOKEN, {"spec": {}}),
        "not bound",
    )
    as_agent = partial(_speaking_as_agent, cluster, first)
    trial.accepts("a renewal as its own agent", lambda: as_agent().patch(f"{LEASES}/node-1", _RENEWAL))
    trial.refuses(
        "another's renewal as that",
        lambda: as_agent().patch(f"{LEASES}/node-2", _RENEWAL),
        "you are on node-1",
    )


def _speaking_as_agent(cluster: AgentCluster, node: Api) -> Api:
    return cluster.plane.client_with(_token(cluster, node, "nodemend-agent-node-1"))


def _token(cluster: AgentCluster, api: Api, pod: str) -> str:
    """A token as a kubelet requests it."""
    found = cluster.plane.api.get(f"/api/v1/namespaces/{AGENT_NAMESPACE}/pods/{pod}")
    bound = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": found["metadata"]["uid"]}
    spec = {"expirationSeconds": 3600, "boundObjectRef": bound}
    return str(api.request("POST", TOKEN, {"spec": spec})["status"]["token"])


def nodes_by_policy(cluster: AgentCluster, trial: Trial) -> None:
    """Without NodeRestriction, Nodemend's policy restricts a node to its own Lease."""
    node, other = cluster.nodes["node-1"], cluster.nodes["node-2"]
    trial.accepts("its Lease by a node", lambda: node.create(lease("node-1")))
    trial.accepts("its renewal", lambda: node.patch(f"{LEASES}/node-1", _RENEWAL))
    own = ("A node may write only its own Lease", "you are on node-2")
    trial.refuses("another's renewal", lambda: other.patch(f"{LEASES}/node-1", _RENEWAL), *own)
    trial.refuses("another's Lease", lambda: other.create(lease("node-3")), *own)
    patch_annotations(cluster.remediator, "node-1", marker="{}", peer_proposal="{}")
    changes: dict[str, dict[str, Any]] = {
        "the marker taken off": {"marker": None},
        "the marker changed": {"marker": "x"},
        "the proposal changed": {"peer_proposal": "x"},
    }
    for what, change in changes.items():
        trial.refuses(
            f"{what} by the node",
            partial(patch_annotations, node, "node-1", **change),
            "only Nodemend's remediator may write",
        )
        trial.refuses(
            f"{what} by another node", partial(patch_annotations, other, "node-1", **change), own[0]
        )
    only = "Only Nodemend's remediator may delete"
    trial.refuses("its Lease deleted by a node", lambda: node.request("DELETE", f"{LEASES}/node-1"), only)
    trial.refuses(
        "all Leases deleted by a node", lambda: node.request("DELETE", LEASES), "cannot deletecollection"
    )
