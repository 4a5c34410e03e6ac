"""Applies deploy/manifests/install.yaml, without the objects that only a kubelet could run."""

from functools import partial
from typing import Final

from controlplane.api import Api, ApiError, Object
from controlplane.run import ControlPlane
from controlplane.waiting import wait_until
from generate.outputs import install_documents

# Pods cannot run on fake nodes: the programs run as processes instead (programs.py).
_NOT_INSTALLED: Final = ("Deployment", "PodDisruptionBudget", "Service", "NetworkPolicy")


def documents_of(*settings: str) -> list[Object]:
    return [one for one in install_documents(*settings) if one["kind"] not in _NOT_INSTALLED]


def install(plane: ControlPlane, *settings: str) -> None:
    """Install it; returns when every kind of Nodemend is served. Policies take a moment longer.

    `settings` are the chart's, as `key=value`, if the plain manifests are not enough.
    """
    documents = documents_of(*settings)
    for document in documents:
        plane.api.create(document)
    kinds = [d for d in documents if d["kind"] == "CustomResourceDefinition"]
    for kind in kinds:
        spec = kind["spec"]
        path = f"/apis/{spec['group']}/v1alpha1/{spec['names']['plural']}"
        wait_until(f"{path} is served", partial(_is_served, plane.api, path), within=30.0)


def _is_served(api: Api, path: str) -> bool:
    try:
        return api.find(path) is not None
    except ApiError as error:
        if error.status == 429:  # Its storage is being created.
            return False
        raise


def bind(plane: ControlPlane, role: str, namespace: str, account: str) -> str:
    """Give an account a ClusterRole; returns the path of the binding."""
    name = f"{account}-{role}"
    plane.api.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        }
    )
    return f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}"
