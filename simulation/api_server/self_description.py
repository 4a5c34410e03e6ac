"""Version, health, discovery, and reviews of the caller's identity and rights."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from nodemend.api.resources import Resource
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.api_server.admission import Authorizer, Question, User
from simulation.api_server.kinds import Kind

VERSION: Final = {"major": "1", "minor": "36", "gitVersion": "v1.36.3", "platform": "linux/amd64"}
VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
WHO: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
MAY: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class SelfDescription:
    """Answers requests that are not about objects. `server_time` returns the time of the answer."""

    def __init__(
        self, kinds: Iterable[Kind], authorizer: Authorizer, server_time: Callable[[], float]
    ) -> None:
        self._kinds = kinds
        self._authorizer = authorizer
        self._server_time = server_time

    def answer(self, request: Request, user: User) -> ApiResponse | None:
        """Return the answer, or None if no object-independent endpoint has this path."""
        match (request.method, request.path):
            case (Method.GET, "/version"):
                return self._say(200, VERSION)
            case (Method.GET, "/livez" | "/readyz" | "/healthz"):
                return ApiResponse(200, b"ok", server_time=self._server_time())
            case (Method.POST, path) if path == WHO:
                return self._reviewed(
                    request, {"userInfo": {"username": user.name, "groups": list(user.groups)}}
                )
            case (Method.POST, path) if path == MAY:
                return self._reviewed(request, {"allowed": self._may(request, user)})
            case (Method.GET, path):
                return self._served(path)
            case _:
                return None

    def _served(self, path: str) -> ApiResponse | None:
        version = path.removeprefix("/apis/").removeprefix("/api/")
        listed = [_shown(kind) for kind in self._kinds if kind.resource.api_version == version]
        if not listed:
            return None
        body = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version}
        return self._say(200, {**body, "resources": [one for shown in listed for one in shown]})

    def _may(self, request: Request, user: User) -> bool:
        asked: Mapping[str, Any] = msgspec.json.decode(request.body)["spec"]["resourceAttributes"]
        # Access reviews name only the group and the plural of a resource.
        resource = Resource(asked.get("group", ""), "", "", asked.get("resource", ""))
        known = (kind.resource for kind in self._kinds)
        resource = next((one for one in known if str(one) == str(resource)), resource)
        return self._authorizer(
            Question(
                user,
                asked.get("verb", ""),
                resource,
                asked.get("namespace", ""),
                asked.get("name", ""),
                asked.get("subresource", ""),
            )
        )

    def _reviewed(self, request: Request, status: Mapping[str, Any]) -> ApiResponse:
        body: dict[str, Any] = msgspec.json.decode(request.body)
        return self._say(201, {**body, "status": status})

    def _say(self, status: int, body: Mapping[str, Any]) -> ApiResponse:
        return ApiResponse(status, msgspec.json.encode(body), server_time=self._server_time())


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
