"""Version, health, discovery, and reviews of the caller's identity and rights."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from nodemend.api.resources import Resource
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.api_server.admission import Authorizer, Question, User
from simulation.api_server.calls import Backend
from simulation.api_server.kinds import Kind

VERSION: Final = {"major": "1", "minor": "36", "gitVersion": "v1.36.3", "platform": "linux/amd64"}
VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
WHO: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
MAY: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def describe(request: Request, user: User, kinds: Iterable[Kind], backend: Backend) -> ApiResponse | None:
    """Return the answer, or None if no object-independent endpoint has this path."""
    match (request.method, request.path):
        case (Method.GET, "/version"):
            return _say(backend, 200, VERSION)
        case (Method.GET, "/livez" | "/readyz" | "/healthz"):
            return backend.answer(200, b"ok")
        case (Method.POST, path) if path == WHO:
            named = {"userInfo": {"username": user.name, "groups": list(user.groups)}}
            return _say(backend, 201, {**msgspec.json.decode(request.body), "status": named})
        case (Method.POST, path) if path == MAY:
            review = msgspec.json.decode(request.body)
            allowed = _may(review["spec"]["resourceAttributes"], user, kinds, backend.authorizer)
            return _say(backend, 201, {**review, "status": {"allowed": allowed}})
        case (Method.GET, path):
            version = path.removeprefix("/apis/").removeprefix("/api/")
            listed = [_shown(kind) for kind in kinds if kind.resource.api_version == version]
            body = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version}
            resources = [one for shown in listed for one in shown]
            return _say(backend, 200, {**body, "resources": resources}) if listed else None
        case _:
            return None


def _may(asked: Mapping[str, Any], user: User, kinds: Iterable[Kind], authorizer: Authorizer) -> bool:
    # Access reviews name only the group and the plural of a resource.
    resource = Resource(asked.get("group", ""), "", "", asked.get("resource", ""))
    known = (kind.resource for kind in kinds)
    resource = next((one for one in known if str(one) == str(resource)), resource)
    return authorizer(
        Question(
            user,
            asked.get("verb", ""),
            resource,
            asked.get("namespace", ""),
            asked.get("name", ""),
            asked.get("subresource", ""),
        )
    )


def _say(backend: Backend, status: int, body: Mapping[str, Any]) -> ApiResponse:
    return backend.answer(status, msgspec.json.encode(body))


def _shown(kind: Kind) -> list[dict[str, Any]]:
    resource = kind.resource
    names = (resource.plural, *(f"{resource.plural}/{part}" for part in kind.subresources))
    return [
        {
            "name": name,
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(VERBS) if name == resource.plural else ["get", "patch", "update"],
        }
        for name in names
    ]
