"""A Transport that counts what it carries."""

from typing import Final, Protocol, assert_never

from nodemend.kube.api_reply import Answer, Reply, Unanswered, Unsent
from nodemend.kube.api_request import Method, Request
from nodemend.kube.ports import Stream, Transport

_VERBS: Final = {
    Method.POST: "create",
    Method.PUT: "update",
    Method.PATCH: "patch",
    Method.DELETE: "delete",
}


class RequestCounter(Protocol):
    """Told of each request once it is over. Must not raise."""

    def __call__(self, verb: str, resource: str, outcome: str) -> None: ...


class CountedTransport:
    """The Transport port over another, for metrics."""

    def __init__(self, transport: Transport, count: RequestCounter) -> None:
        self._transport = transport
        self._count = count

    async def send(self, request: Request, deadline: float) -> Reply:
        reply = await self._transport.send(request, deadline)
        self._count(*_asked(request), _outcome(reply))
        return reply

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        opened = await self._transport.open(request, deadline)
        outcome = _outcome(opened) if isinstance(opened, Answer | Unsent | Unanswered) else "200"
        self._count(*_asked(request), outcome)
        return opened


def _asked(request: Request) -> tuple[str, str]:
    """The verb as Kubernetes' own rules name it, and the resource with its subresource."""
    match request.path.strip("/").split("/"):
        case ["api", _, "namespaces", _, plural, *rest] | ["apis", _, _, "namespaces", _, plural, *rest]:
            pass
        case ["api", _, plural, *rest] | ["apis", _, _, plural, *rest]:
            pass
        case _:
            return request.method.value.lower(), request.path
    resource = "/".join((plural, *rest[1:]))
    if request.method is not Method.GET:
        return _VERBS[request.method], resource
    if rest:
        return "get", resource
    return ("watch" if ("watch", "true") in request.query else "list"), resource


def _outcome(reply: Reply) -> str:
    match reply:
        case Answer():
            return str(reply.status)
        case Unsent():
            return "unsent"
        case Unanswered():
            return "unanswered"
        case _:
            assert_never(reply)
