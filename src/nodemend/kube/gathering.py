"""A list in the making, held apart from the cache until it is complete."""

from typing import Generic, TypeVar

from nodemend.kube.json_decoding import UNREADABLE
from nodemend.kube.object_cache import ObjectCache
from nodemend.kube.projection import Projection, Wire, key_of
from nodemend.kube.watch_lines import Garbage, ListPage, Unreadable, WatchEvent

W = TypeVar("W", bound=Wire)
R = TypeVar("R")


class Gathering(Generic[W, R]):
    """What a list has brought so far. Records that did not change are the cache's own, not copies."""

    def __init__(self, projection: Projection[W, R], cache: ObjectCache[R]) -> None:
        self._projection = projection
        self._cache = cache
        self._pages = self._octets = 0
        self.records: dict[str, R] = {}
        self.unreadable: dict[str, str] = {}
        self.garbage = ""
        """Why what was gathered is worth nothing, if so."""

    def weigh(self, data: bytes, *, page: bool = True) -> bool:
        """Whether the list is within its limits with these bytes, which are not read yet."""
        self._pages += page
        self._octets += len(data)
        limits = self._projection.limits
        for what, count, most in (
            ("objects", len(self.records) + len(self.unreadable), limits.objects),
            ("pages", self._pages, limits.pages),
            ("bytes", self._octets, limits.octets),
        ):
            if count > most:
                self.garbage = f"a list of more than {most} {what}"
        return not self.garbage

    def take_page(self, page: ListPage[W] | Garbage) -> None:
        if isinstance(page, Garbage):
            self.garbage = page.why
            return
        for wire in page.items:
            self._keep(wire)
        for item in page.unreadable:
            self.set_aside(item)

    def take_event(self, event: WatchEvent[W]) -> None:
        """Objects may change, and go, while a streaming list is under way."""
        if event.type == "DELETED":
            self.records.pop(key_of(event.object.metadata), None)
        else:
            self._keep(event.object)

    def set_aside(self, item: Unreadable) -> None:
        self.records.pop(item.key, None)
        self.unreadable[item.key] = item.why

    def _keep(self, wire: W) -> None:
        key = key_of(wire.metadata)
        try:
            self.records[key] = self._projection.project(wire, self._cache.get(key))
        except UNREADABLE as error:
            self.set_aside(Unreadable(key, wire.metadata.resource_version, str(error)))
