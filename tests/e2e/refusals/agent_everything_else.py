"""All other resources of the API server: an agent's token reads none of them, and writes none of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from controlplane.api import Api
from nodemend.api.well_known import AGENT_NAMESPACE
from tests.e2e.refusals.agent_cluster import AgentCluster
from tests.e2e.refusals.trial import Trial

_ANYBODY: Final = {
    # Any authenticated user may ask the API server about itself.
    "selfsubjectaccessreviews",
    "selfsubjectreviews",
    "selfsubjectrulesreviews",
}
_METHODS: Final = {"create": "POST", "list": "GET", "deletecollection": "DELETE"}
_ALLOWED: Final = {("leases", "create"), ("certificatesigningrequests", "create")}
"""The other chapters test these thoroughly."""


@dataclass(frozen=True, slots=True)
class Served:
    path: str
    resource: str
    verbs: frozenset[str]


def everything_else(cluster: AgentCluster, trial: Trial) -> None:
    agent = cluster.agents["node-1"]
    for served in discovered(cluster.plane.api):
        for verb, method in _METHODS.items():
            if verb in served.verbs and (served.resource, verb) not in _ALLOWED:
                body: object = {} if verb == "create" else None
                trial.refuses(
                    f"{verb} {served.path}",
                    partial(agent.request, method, served.path, body),
                    f"cannot {verb} resource",
                )
    _by_name(agent, trial)


def discovered(api: Api) -> Iterator[Served]:
    """Every resource that the server serves, as its collection in the agents' namespace."""
    groups = [f"/apis/{one['preferredVersion']['groupVersion']}" for one in api.get("/apis")["groups"]]
    for root in ("/api/v1", *groups):
        for found in api.get(root)["resources"]:
            name = found["name"]
            if "/" not in name and name not in _ANYBODY:
                where = f"/namespaces/{AGENT_NAMESPACE}" if found["namespaced"] else ""
                yield Served(f"{root}{where}/{name}", name, frozenset(found["verbs"]))


def _by_name(agent: Api, trial: Trial) -> None:
    """Objects that an attacker with a stolen node would want first."""
    account = f"/api/v1/namespaces/{AGENT_NAMESPACE}/serviceaccounts/nodemend-agent/token"
    wanted: tuple[tuple[str, str, Any], ...] = (
        ("GET", "/api/v1/nodes/node-1", None),
        ("GET", "/api/v1/namespaces/nodemend-system/secrets/nodemend-agent-authority", None),
        ("GET", f"/api/v1/namespaces/{AGENT_NAMESPACE}/configmaps/nodemend-agent-trust", None),
        ("GET", f"/api/v1/namespaces/{AGENT_NAMESPACE}/pods/nodemend-agent-node-2", None),
        ("GET", "/apis/coordination.k8s.io/v1/namespaces/nodemend-system/leases/nodemend-remediator", None),
        ("PATCH", "/api/v1/nodes/node-1", {"spec": {"taints": []}}),
        ("PATCH", "/api/v1/nodes/node-2/status", {"status": {}}),
        ("DELETE", "/api/v1/nodes/node-2", None),
        ("DELETE", f"/api/v1/namespaces/{AGENT_NAMESPACE}/pods/nodemend-agent-node-2", None),
        ("POST", account, {"spec": {}}),
        ("POST", f"/api/v1/namespaces/{AGENT_NAMESPACE}/pods/nodemend-agent-node-2/eviction", {}),
        ("GET", "/api/v1/nodes/node-1/proxy/", None),
        ("GET", "/metrics", None),
    )
    for method, path, body in wanted:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        attempt = partial(agent.request, method, path, body, content_type=kind)
        trial.refuses(f"{method} {path}", attempt, "cannot")
