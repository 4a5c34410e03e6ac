"""Parses paths of the API into resource, object and subresource."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from nodemend.api.resources import Resource
from simulation.api_server.kinds import Kind
from simulation.api_server.statuses import NoSuchPath

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
