"""One request on its way through the server: its route, and the state that its stages share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from nodemend.api.resources import Resource
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from simulation.api_server.admission import (
    Attempt,
    Authorizer,
    Denial,
    Operation,
    Question,
    User,
    allow_everything,
    policy_refusal,
    unauthorized,
)
from simulation.api_server.decoding import print_time
from simulation.api_server.kinds import Kind
from simulation.api_server.selectors import exact_name
from simulation.api_server.statuses import NoSuchPath, bad_request
from simulation.api_server.storage import Object, Storage, Stored, Table

_decode: Final = msgspec.json.Decoder().decode


MOST_REMEMBERED = 100_000


@dataclass(frozen=True, slots=True)
class Route:
    """Target of one path. `name` is empty for a collection, `namespace` for all namespaces or none."""

    kind: Kind
    namespace: str
    name: str
    subresource: str

    @property
    def resource(self) -> Resource:
        return self.kind.resource

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.kind.resource.namespaced else self.name


class Router:
    """Parses paths and caches the results, because the same paths occur many times."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = {(kind.resource.api_version, kind.resource.plural): kind for kind in kinds}
        self._known: dict[str, Route] = {}

    def add(self, kind: Kind) -> None:
        self._kinds[kind.resource.api_version, kind.resource.plural] = kind
        self._known.clear()

    def find(self, path: str) -> Route:
        """Return the route of a path. Raises NoSuchPath if the server does not serve it."""
        route = self._known.get(path)
        if route is None:
            if len(self._known) > MOST_REMEMBERED:
                self._known.clear()
            route = self._known[path] = self._parse(path)
        return route

    def _parse(self, path: str) -> Route:
        match [unquote(part) for part in path.strip("/").split("/")]:
            case ["api", "v1", *rest]:
                return self._parse_below("v1", rest)
            case ["apis", group, version, *rest]:
                return self._parse_below(f"{group}/{version}", rest)
            case _:
                raise NoSuchPath

    def _parse_below(self, api_version: str, rest: list[str]) -> Route:
        match rest:
            case ["namespaces", namespace, plural, *more] if (api_version, plural) in self._kinds:
                return self._route(api_version, plural, namespace, more)
            case [plural, *more] if (api_version, plural) in self._kinds:
                return self._route(api_version, plural, "", more)
            case _:
                raise NoSuchPath

    def _route(self, api_version: str, plural: str, namespace: str, more: list[str]) -> Route:
        kind = self._kinds[api_version, plural]
        name, subresource = (*more, "", "")[:2]
        across = kind.resource.namespaced and not namespace and name
        inside = namespace and not kind.resource.namespaced
        unknown = subresource and subresource not in kind.subresources
        if across or inside or unknown or len(more) > 2:
            raise NoSuchPath
        return Route(kind, namespace, name, subresource)


@dataclass(slots=True)
class Backend:
    """The parts of a server that outlive a request."""

    storage: Storage
    tables: dict[Resource, Table]
    now: Callable[[], datetime]
    new_uid: Callable[[], str]
    authorizer: Authorizer
    streaming_lists: bool = True

    _stamped: float = 0.0
    _stamp: str = ""

    def server_time(self) -> float:
        """Return the time in whole seconds since the epoch, the resolution of the Date header."""
        return self.now().timestamp() // 1

    def stamp(self) -> str:
        """Return the current second in the format of object timestamps."""
        now = self.now()
        second = now.timestamp() // 1
        if second != self._stamped:
            self._stamped, self._stamp = second, print_time(now)
        return self._stamp

    def answer(self, status: int, body: bytes) -> ApiResponse:
        return ApiResponse(status, body, None, self.server_time())


@dataclass(slots=True)
class Call:
    """A request and its route. Never changed; not frozen, because frozen costs more than the rest of it."""

    request: Request
    route: Route
    user: User
    query: Mapping[str, str]
    backend: Backend

    @property
    def kind(self) -> Kind:
        return self.route.kind

    @property
    def table(self) -> Table:
        return self.route.kind.table

    @property
    def manager(self) -> str:
        return self.query.get("fieldManager", "")

    def body(self) -> Any:
        """Decode the body. Raises Refusal 400 if it is not JSON."""
        try:
            return _decode(self.request.body)
        except msgspec.DecodeError as error:
            raise bad_request(f"error decoding the body: {error}") from error

    def authorize(self, verb: str) -> None:
        if self.backend.authorizer is allow_everything:
            return
        route = self.route
        name = route.name
        if not name and verb in {"list", "watch"} and "fieldSelector" in self.query:
            name = exact_name(self.query["fieldSelector"])
        question = Question(self.user, verb, route.resource, route.namespace, name, route.subresource)
        if not self.backend.authorizer(question):
            raise unauthorized(question)

    @property
    def dry(self) -> bool:
        """True for a dry run, in which every step except the write happens."""
        return self.query.get("dryRun") == "All"

    def put(self, key: str, object_: Object) -> Stored:
        """Store a new version. A dry run returns the version that a write would store."""
        if self.dry:
            return Stored(key, object_, self.backend.storage.revision)
        return self.backend.storage.put(self.table, key, object_)

    def remove(self, key: str) -> Object:
        """Delete permanently and return the last version."""
        if self.dry:
            return self.table.rows[key].object
        return self.backend.storage.delete(self.table, key).object

    def denials(self, operation: Operation, old: Object | None, new: Object | None) -> list[Denial]:
        """Return the denials of a write by the rules that are registered for this resource."""
        route, backend = self.route, self.backend
        rules = route.kind.rules
        if not rules:
            return []
        attempt = Attempt(
            operation, route.resource, route.subresource, old, new, self.user, backend.authorizer
        )
        return [denial for rule in rules for denial in rule(attempt)]

    def refuse_by_policy(self, name: str, denials: Sequence[Denial]) -> None:
        refused = policy_refusal(self.route.resource, name, denials) if denials else None
        if refused is not None:
            raise refused
