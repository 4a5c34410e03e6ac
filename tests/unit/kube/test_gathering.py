"""A list in the making."""

from nodemend.api.meta import ObjectMeta, Wire
from nodemend.api.resources import NODE
from nodemend.kube.client import ListMeta
from nodemend.kube.reflector import ListCollector
from nodemend.kube.store import Projection, Store
from nodemend.kube.watch_stream import ListPage, UndecodableObject, WatchEvent


class Thing(Wire):
    metadata: ObjectMeta
    size: int = 0


def _keep(wire: Thing, old: Thing | None) -> Thing:
    return old if old == wire else wire


PROJECTION = Projection(NODE, Thing, _keep, lambda thing: thing.metadata.uid)


def _thing(name: str, size: int = 0) -> Thing:
    return Thing(metadata=ObjectMeta(name=name, uid=name), size=size)


def _cache(*things: Thing) -> Store[Thing]:
    cache = Store(PROJECTION.uid_of)
    cache.replace({thing.metadata.name: thing for thing in things}, [])
    return cache


def test_an_unchanged_object_is_the_cache_s_own_and_costs_nothing() -> None:
    known = _thing("a")
    gathering = ListCollector(PROJECTION, _cache(known))

    gathering.take_page(ListPage(ListMeta(), [_thing("a"), _thing("b")], []))

    assert gathering.records["a"] is known


def test_the_cache_is_not_touched() -> None:
    cache = _cache(_thing("a"))
    gathering = ListCollector(PROJECTION, cache)

    gathering.take_event(WatchEvent("DELETED", _thing("a")))
    gathering.take_event(WatchEvent("ADDED", _thing("b")))

    assert sorted(cache.keys()) == ["a"]
    assert sorted(gathering.records) == ["b"]


def test_what_cannot_be_read_is_not_among_the_records() -> None:
    gathering = ListCollector(PROJECTION, _cache())
    gathering.take_event(WatchEvent("ADDED", _thing("a")))

    gathering.set_aside(UndecodableObject("a", "7", "why"))
    gathering.take_page(ListPage(ListMeta(), [], [UndecodableObject("b", "7", "because")]))

    assert gathering.records == {}
    assert gathering.unreadable == {"a": "why", "b": "because"}
