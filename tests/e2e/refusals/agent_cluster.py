"""A real API server with self-fencing installed: nodes, agents' pods on them, and their tokens."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from controlplane.api import MERGE, Api, ApiError
from controlplane.credentials import User
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from installed.manifests import bind, install
from installed.programs import start
from nodemend.api.well_known import AGENT_AUTHORITY, AGENT_NAMESPACE, AGENT_TRUST, SYSTEM_NAMESPACE
from tests.unit.signer.requests import pkcs10, signing_request

NODES: Final = ("node-1", "node-2")
LEASES: Final = f"/apis/coordination.k8s.io/v1/namespaces/{AGENT_NAMESPACE}/leases"
REQUESTS: Final = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
AUTHORITY: Final = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/secrets/{AGENT_AUTHORITY}"
TRUST: Final = f"/api/v1/namespaces/{AGENT_NAMESPACE}/configmaps/{AGENT_TRUST}"
TOKEN: Final = f"/api/v1/namespaces/{AGENT_NAMESPACE}/serviceaccounts/nodemend-agent/token"
_WITHIN: Final = 60.0


@dataclass(frozen=True, slots=True)
class AgentCluster:
    """Clients with the accounts of the cluster.

    `plane.api` is the superuser, for setup, and as the most privileged attacker.
    """

    plane: ControlPlane
    tokens: dict[str, str]
    """The token of the agent's pod, by node."""
    agents: dict[str, Api]
    """Clients with these tokens, by node."""
    nodes: dict[str, Api]
    """Clients with the kubelets' credentials, by node."""
    unbound: Api
    """The agents' account with an unbound token."""
    of_node_alone: Api
    """The agents' account with a token that is bound to node-1, but to no pod."""
    remediator: Api
    checker: Api
    signer: Api
    chief: Api


@contextmanager
def agent_cluster(*, node_restriction: bool = True) -> Iterator[AgentCluster]:
    """Yields once every policy refuses, and the signer has published its CA."""
    users = tuple(User(f"system:node:{node}", ("system:nodes",)) for node in NODES)
    plugins = ("NodeRestriction",) if node_restriction else ()
    settings = Settings(controller_manager=False, scheduler=False, users=users, admission_plugins=plugins)
    with ControlPlane(settings) as plane:
        install(plane, "selfFencing.enabled=true")
        remediator = {
            "kind": "ServiceAccount",
            "name": "nodemend-remediator",
            "namespace": SYSTEM_NAMESPACE,
        }
        nodes = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:nodes"}
        _give_rights(plane, "may-mark", remediator)
        _give_rights(plane, "nodes-may-write", nodes)
        cluster = _people(plane)
        _await_policies(cluster)
        start(plane, "nodemend-signer")
        wait_until("the bundle is there", lambda: plane.api.find(TRUST) is not None, within=_WITHIN)
        yield cluster


def lease(node: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node, "namespace": AGENT_NAMESPACE, **metadata},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": 15},
    }


def _people(plane: ControlPlane) -> AgentCluster:
    for node in NODES:
        plane.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    plane.api.create({**account, "metadata": {"name": "chief", "namespace": "default"}})
    bind(plane, "cluster-admin", "default", "chief")
    by_name = partial(_account, plane)
    uid = plane.api.get("/api/v1/nodes/node-1")["metadata"]["uid"]
    tokens = {node: pods_token(plane, node) for node in NODES}
    return AgentCluster(
        plane=plane,
        tokens=tokens,
        agents={node: plane.client_with(token) for node, token in tokens.items()},
        nodes={node: plane.client(f"system:node:{node}") for node in NODES},
        unbound=by_name(AGENT_NAMESPACE, "nodemend-agent"),
        of_node_alone=plane.client_with(_token(plane, "Node", "node-1", uid)),
        remediator=by_name(SYSTEM_NAMESPACE, "nodemend-remediator"),
        checker=by_name(SYSTEM_NAMESPACE, "nodemend-checker"),
        signer=by_name(SYSTEM_NAMESPACE, "nodemend-signer"),
        chief=by_name("default", "chief"),
    )


def _account(plane: ControlPlane, namespace: str, name: str) -> Api:
    return plane.client_with(plane.service_account_token(namespace, name))


def pods_token(plane: ControlPlane, node: str) -> str:
    """A token as the kubelet of this node requests it: bound to a pod that runs there."""
    projected = {"path": "token", "expirationSeconds": 3600}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"nodemend-agent-{node}", "namespace": AGENT_NAMESPACE},
        "spec": {
            "nodeName": node,
            "serviceAccountName": "nodemend-agent",
            "containers": [{"name": "agent", "image": "nodemend"}],
            # A kubelet gets a token only for an audience that a volume of the pod names.
            "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": projected}]}}],
        },
    }
    metadata = plane.api.create(pod)["metadata"]
    return _token(plane, "Pod", metadata["name"], metadata["uid"])


def _token(plane: ControlPlane, kind: str, name: str, uid: str) -> str:
    bound = {"apiVersion": "v1", "kind": kind, "name": name, "uid": uid}
    spec = {"expirationSeconds": 3600, "boundObjectRef": bound}
    return str(plane.api.request("POST", TOKEN, {"spec": spec})["status"]["token"])


def _give_rights(plane: ControlPlane, name: str, subject: dict[str, str]) -> None:
    """Grant rights on the nodes' Leases: the tests check that policies hold regardless of RBAC."""
    kinds = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    metadata = {"name": name, "namespace": AGENT_NAMESPACE}
    rule = {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
    }
    plane.api.create({**kinds, "kind": "Role", "metadata": metadata, "rules": [rule]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    binding = {"kind": "RoleBinding", "metadata": metadata, "roleRef": reference, "subjects": [subject]}
    plane.api.create({**kinds, **binding})


def _await_policies(cluster: AgentCluster) -> None:
    """Wait until policies are in force: try in dry runs what each must refuse, until it does."""
    request = signing_request("probe", pkcs10(), signerName="example.com/other")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "probe"}}
    secrets = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/secrets"
    probes = (
        ("nodemend-agent-leases", cluster.chief, LEASES, lease("probe")),
        ("nodemend-agent-requests", cluster.agents["node-1"], REQUESTS, request),
        ("nodemend-agent-trust", cluster.signer, secrets, secret),
    )
    for name, api, path, body in probes:
        wait_until(f"{name} is active", partial(_refused_by, name, api, path, body), within=_WITHIN)


def _refused_by(policy: str, api: Api, path: str, body: dict[str, Any]) -> bool:
    try:
        api.request("POST", path, body, query={"dryRun": "All"})
    except ApiError as error:
        return f"ValidatingAdmissionPolicy '{policy}'" in str(error)
    return False


def patch_annotations(api: Api, node: str, **annotations: str | None) -> object:
    """Annotations by the names after `nodemend.io/`, with dashes for underscores."""
    named = {f"nodemend.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    change = {"metadata": {"annotations": named}}
    return api.request("PATCH", f"{LEASES}/{node}", change, content_type=MERGE)
