"""The lines of a watch, as the API server writes them and as faults leave them."""

import msgspec
import pytest

from nodemend.api.meta import ObjectMeta, Wire
from nodemend.kube.outcome import ApiStatus
from nodemend.kube.watch_stream import (
    Bookmark,
    ListPage,
    ProtocolError,
    UndecodableObject,
    WatchDecoder,
    WatchError,
    WatchEvent,
    WatchLine,
)


class Thing(Wire):
    """Requires what a bookmark does not have, as many kinds do."""

    metadata: ObjectMeta
    size: int


_DECODER = WatchDecoder(Thing)

_ADDED = b'{"type":"ADDED","object":{"metadata":{"name":"a","uid":"1","resourceVersion":"5"},"size":1}}\n'
_GONE = b'{"type":"DELETED","object":{"metadata":{"name":"a","uid":"1","resourceVersion":"6"},"size":1}}\n'
_BOOKMARK = b'{"type":"BOOKMARK","object":{"kind":"Thing","metadata":{"resourceVersion":"9"}}}\n'
_LIST_END = (
    b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","creationTimestamp":null,'
    b'"annotations":{"k8s.io/initial-events-end":"true"}},"size":0}}\n'
)
_ERROR = b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n'
_BAD_THING = (
    b'{"type":"MODIFIED","object":{"metadata":{"name":"b","namespace":"n","resourceVersion":"7"},'
    b'"size":"x"}}\n'
)


def _read(block: bytes) -> list[WatchLine[Thing]]:
    return list(_DECODER.lines(block))


def _thing(name: str, version: str) -> Thing:
    return Thing(metadata=ObjectMeta(name=name, uid="1", resource_version=version), size=1)


def test_changes_are_typed_objects() -> None:
    assert _read(_ADDED + _GONE) == [
        WatchEvent("ADDED", _thing("a", "5")),
        WatchEvent("DELETED", _thing("a", "6")),
    ]


def test_other_lines_among_changes_keep_their_order() -> None:
    assert _read(_BOOKMARK + _ADDED + _LIST_END + _BAD_THING + _ERROR) == [
        Bookmark("9", ends_list=False),
        WatchEvent("ADDED", _thing("a", "5")),
        Bookmark("9", ends_list=True),
        UndecodableObject("n/b", "7", "Expected `int`, got `str` - at `$.object.size`"),
        WatchError(ApiStatus(code=410, reason="Expired", message="too old")),
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"<html>gateway</html>\n",
        b'{"type":"ADDED","object":{"metadata":{"name":"a"\n',
        b'{"type":"PARTY","object":{}}\n',
        b'{"type":"ADDED","object":{"size":"x"}}\n',
        b'{"kind":"Status"}\n',
        b"\xff\xfe\x00\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_garbage_ends_the_block_and_keeps_what_came_before(line: bytes) -> None:
    first, second = _read(_ADDED + line + _GONE)

    assert first == WatchEvent("ADDED", _thing("a", "5"))
    assert isinstance(second, ProtocolError)


def test_empty_lines_mean_nothing() -> None:
    assert _read(b"\n" + _BOOKMARK + b"\n") == [Bookmark("9", ends_list=False)]


def _page(*items: object, version: str = "3", follow: str = "") -> bytes:
    return msgspec.json.encode({"metadata": {"resourceVersion": version, "continue": follow}, "items": items})


def test_a_page_has_its_objects_and_its_token() -> None:
    page = _DECODER.page(_page({"metadata": {"name": "a"}, "size": 1}, follow="more"))

    assert isinstance(page, ListPage)
    assert (page.metadata.resource_version, page.metadata.continue_) == ("3", "more")
    assert page.items == [Thing(metadata=ObjectMeta(name="a"), size=1)]


def test_one_bad_object_does_not_hide_the_others() -> None:
    page = _DECODER.page(
        _page({"metadata": {"name": "a"}, "size": 1}, {"metadata": {"name": "bad", "resourceVersion": "2"}})
    )

    assert isinstance(page, ListPage)
    assert [thing.metadata.name for thing in page.items] == ["a"]
    assert page.unreadable == [UndecodableObject("bad", "2", "Object missing required field `size`")]


def test_an_empty_list_may_have_no_items_at_all() -> None:
    page = _DECODER.page(b'{"metadata":{"resourceVersion":"3"},"items":null}')

    assert isinstance(page, ListPage)
    assert page.items == []


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"items":[]}', b'{"metadata":{},"items":[]}'])
def test_what_is_no_page_is_garbage(body: bytes) -> None:
    assert isinstance(_DECODER.page(body), ProtocolError)


def test_the_next_page_is_found_before_the_objects_are_read() -> None:
    assert _DECODER.next_page(_page({"metadata": {"name": "a"}, "size": "bad"}, follow="more")) == "more"
    assert _DECODER.next_page(_page({"metadata": {"name": "a"}, "size": 1})) == ""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"items":[],"metadata":{"continue":"x"}}',
        b'{"metadata":{"continue":5},"items":[]}',
        b',"items":',
    ],
)
def test_where_it_is_not_found_so_the_page_is_read_in_full(body: bytes) -> None:
    assert _DECODER.next_page(body) == ""
