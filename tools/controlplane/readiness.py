"""Readiness checks of a control plane."""

import http.client
from pathlib import Path

from controlplane.api import Api, ApiError

ROLES_FOR_PEOPLE = ("admin", "edit", "view")


def serves(port: int, ca: Path, token: str) -> bool:
    """True if this API server, identified by its certificate and token, answers on the port and is ready."""
    # The server writes its certificate meanwhile: an existing file may still be empty, or incomplete.
    if not ca.exists() or "-----END CERTIFICATE-----" not in ca.read_text():
        return False
    api = Api(port, ca, token)
    try:
        return bool(api.get("/readyz") == "ok")
    except (ApiError, OSError, http.client.HTTPException):
        return False
    finally:
        api.close()


def furnished(api: Api) -> bool:
    """True if the controller manager has created the objects that pods and users need.

    Every namespace gets a service account, without which no pod is admitted; the default user roles get
    rules.
    """
    namespaces = len(api.list("/api/v1/namespaces"))
    accounts = api.list("/api/v1/serviceaccounts", fieldSelector="metadata.name=default")
    bundles = api.list("/api/v1/configmaps", fieldSelector="metadata.name=kube-root-ca.crt")
    roles = [api.get(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}") for name in ROLES_FOR_PEOPLE]
    return len(accounts) == len(bundles) == namespaces and all(role.get("rules") for role in roles)
