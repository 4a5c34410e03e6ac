"""The account that Cluster API gives its manager, with the rights from its own module and nothing else.

Its role is made of every ClusterRole with a certain label, its own rules among them: so other projects give
it the rights to their kinds.
"""

from pathlib import Path
from typing import Final

from controlplane.pins import CLUSTER_API
from controlplane.run import ControlPlane
from controlplane.waiting import wait_until
from foreign_kinds.go_modules import GoModule

NAMESPACE: Final = "capi-system"
ACCOUNT: Final = "capi-manager"
AGGREGATE: Final = {"cluster.x-k8s.io/aggregate-to-manager": "true"}
_ROLES: Final = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
_MODULE: Final = GoModule(
    module="sigs.k8s.io/cluster-api",
    pins=CLUSTER_API.pins,
    files=("config/rbac/role.yaml", "config/rbac/aggregated_role.yaml"),
)


def download() -> None:
    """While there is a network for it."""
    _MODULE.read()


def make(plane: ControlPlane) -> Path:
    """The account and its roles; returns its kubeconfig once the rights are gathered."""
    own, aggregated = _MODULE.read()
    documents = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": NAMESPACE}},
        # As its own kustomization names and labels them.
        {**own, "metadata": {"name": "capi-manager-role", "labels": AGGREGATE}},
        {**aggregated, "metadata": {"name": "capi-aggregated-manager-role"}, "rules": []},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "capi-manager-rolebinding"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "capi-aggregated-manager-role",
            },
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
        },
    ]
    for document in documents:
        plane.api.create(document)
    role = f"{_ROLES}/capi-aggregated-manager-role"
    wait_until("its rights are gathered", lambda: bool(plane.api.get(role).get("rules")), within=60)
    return plane.service_account_kubeconfig(NAMESPACE, ACCOUNT)
