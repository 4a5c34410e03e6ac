"""A list in the making."""

from nodemend.api.group_versions import NODE
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire
from nodemend.kube.gathering import Gathering
from nodemend.kube.object_cache import ObjectCache
from nodemend.kube.paged_list import ListMeta
from nodemend.kube.projection import Projection
from nodemend.kube.watch_lines import ListPage, Unreadable, WatchEvent


class Thing(Wire):
    metadata: ObjectMeta
    size: int = 0


def _keep(wire: Thing, old: Thing | None) -> Thing:
    return old if old == wire else wire


PROJECTION = Projection(NODE, Thing, _keep, lambda thing: thing.metadata.uid)


def _thing(name: str, size: int = 0) -> Thing:
    return Thing(metadata=ObjectMeta(name=name, uid=name), size=size)


def _cache(*things: Thing) -> ObjectCache[Thing]:
    cache = ObjectCache(PROJECTION.uid_of)
    cache.replace({thing.metadata.name: thing for thing in things}, [])
    return cache


def test_an_unchanged_object_is_the_cache_s_own_and_costs_nothing() -> None:
    known = _thing("a")
    gathering = Gathering(PROJECTION, _cache(known))

    gathering.take_page(ListPage(ListMeta(), [_thing("a"), _thing("b")], []))

    assert gathering.records["a"] is known


def test_the_cache_is_not_touched() -> None:
    cache = _cache(_thing("a"))
    gathering = Gathering(PROJECTION, cache)

    gathering.take_event(WatchEvent("DELETED", _thing("a")))
    gathering.take_event(WatchEvent("ADDED", _thing("b")))

    assert sorted(cache.keys()) == ["a"]
    assert sorted(gathering.records) == ["b"]


def test_what_cannot_be_read_is_not_among_the_records() -> None:
    gathering = Gathering(PROJECTION, _cache())
    gathering.take_event(WatchEvent("ADDED", _thing("a")))

    gathering.set_aside(Unreadable("a", "7", "why"))
    gathering.take_page(ListPage(ListMeta(), [], [Unreadable("b", "7", "because")]))

    assert gathering.records == {}
    assert gathering.unreadable == {"a": "why", "b": "because"}
