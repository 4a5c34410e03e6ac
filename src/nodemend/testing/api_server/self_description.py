"""What a server says of itself and of whoever asks: its version, what it serves, their name and rights."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from nodemend.api.group_versions import Resource
from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Method, Request
from nodemend.testing.api_server.admission import Authorizer, Question, User
from nodemend.testing.api_server.kinds import Kind

VERSION: Final = {"major": "1", "minor": "36", "gitVersion": "v1.36.3", "platform": "linux/amd64"}
VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
WHO: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
MAY: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class SelfDescription:
    """Answers what is about no object, at the moment `server_time` tells."""

    def __init__(
        self, kinds: Iterable[Kind], authorizer: Authorizer, server_time: Callable[[], float]
    ) -> None:
        self._kinds = kinds
        self._authorizer = authorizer
        self._server_time = server_time

    def answer(self, request: Request, user: User) -> Answer | None:
        """None when the request is about objects after all."""
        match (request.method, request.path):
            case (Method.GET, "/version"):
                return self._say(200, VERSION)
            case (Method.GET, "/livez" | "/readyz" | "/healthz"):
                return Answer(200, b"ok", server_time=self._server_time())
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

    def _served(self, path: str) -> Answer | None:
        version = path.removeprefix("/apis/").removeprefix("/api/")
        listed = [_shown(kind) for kind in self._kinds if kind.resource.api_version == version]
        if not listed:
            return None
        body = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version}
        return self._say(200, {**body, "resources": [one for shown in listed for one in shown]})

    def _may(self, request: Request, user: User) -> bool:
        asked: Mapping[str, Any] = msgspec.json.decode(request.body)["spec"]["resourceAttributes"]
        # Rights are asked for by group and plural alone.
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

    def _reviewed(self, request: Request, status: Mapping[str, Any]) -> Answer:
        body: dict[str, Any] = msgspec.json.decode(request.body)
        return self._say(201, {**body, "status": status})

    def _say(self, status: int, body: Mapping[str, Any]) -> Answer:
        return Answer(status, msgspec.json.encode(body), server_time=self._server_time())


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
