"""The lines of a watch, decoded: changes as typed objects, and the few lines that are not changes."""

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

import msgspec

from nodemend.kube.api_outcome import Status
from nodemend.kube.json_decoding import UNREADABLE, decoder_of
from nodemend.kube.paged_list import ListMeta, list_of
from nodemend.kube.projection import Wire, key_of

W = TypeVar("W", bound=Wire)

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_ITEMS = b',"items":'
_LONGEST_HEAD = 64 * 1024
"""Bytes. The token of a next page has some hundred."""


class WatchEvent(msgspec.Struct, Generic[W], gc=False):
    """One object was added, modified or deleted."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: W


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Everything up to this version has been sent. `ends_list` marks the end of a streaming list."""

    version: str
    ends_list: bool


@dataclass(frozen=True, slots=True)
class WatchError:
    """The server ends the watch, and says why."""

    status: Status


@dataclass(frozen=True, slots=True)
class Unreadable:
    """One object is not as its type says. We know which, and nothing else of it."""

    key: str
    version: str
    why: str


@dataclass(frozen=True, slots=True)
class Garbage:
    """This is not a watch line at all. Nothing after it can be trusted either."""

    why: str


WatchLine: TypeAlias = WatchEvent[W] | Bookmark | WatchError | Unreadable | Garbage


class _SomeMetadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] = {}


class _SomeObject(msgspec.Struct):
    metadata: _SomeMetadata


class _PageHead(msgspec.Struct):
    metadata: ListMeta


class _AnyEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


@dataclass(frozen=True, slots=True)
class ListPage(Generic[W]):
    """A page, with the objects on it that cannot be read set aside."""

    metadata: ListMeta
    items: list[W]
    unreadable: list[Unreadable]


class WatchDecoder(Generic[W]):
    """Decodes the lines and pages of one kind."""

    def __init__(self, wire: type[W]) -> None:
        self._wire = wire
        event = cast("type[WatchEvent[W]]", cast("Any", WatchEvent)[wire])
        self._events = decoder_of(event)

    def lines(self, block: bytes | memoryview) -> "list[WatchEvent[W]] | list[WatchLine[W]]":
        """The lines of a block, in order; Garbage is the last of its list."""
        try:
            # Nearly always: nothing but changes, all readable, decoded in one call.
            return self._events.decode_lines(block)
        except UNREADABLE:
            return self._one_by_one(bytes(block))

    def page(self, body: bytes) -> "ListPage[W] | Garbage":
        """One page of a list."""
        try:
            page = decoder_of(list_of(self._wire)).decode(body)
            return _versioned(ListPage(page.metadata, page.items or [], []))
        except UNREADABLE:
            return self._item_by_item(body)

    def next_page(self, body: bytes) -> str:
        """The token of the page after this one, found without reading the objects; "" if it is not found."""
        # The server writes a list's metadata before its items. One that does not is read in full.
        end = body.find(_ITEMS)
        if end < 0:
            return ""
        if end > _LONGEST_HEAD:
            return ""
        try:
            return decoder_of(_PageHead).decode(body[:end] + b"}").metadata.continue_
        except UNREADABLE:
            return ""

    def _one_by_one(self, block: bytes) -> "list[WatchLine[W]]":
        lines: list[WatchLine[W]] = []
        for line in filter(None, block.split(b"\n")):
            decoded = self._line(line)
            lines.append(decoded)
            if isinstance(decoded, Garbage):
                break
        return lines

    def _line(self, line: bytes) -> "WatchLine[W]":
        try:
            event = decoder_of(_AnyEvent).decode(line)
            match event.type:
                case "ADDED" | "MODIFIED" | "DELETED":
                    return self._change(line, event)
                case "BOOKMARK":
                    metadata = decoder_of(_SomeObject).decode(event.object).metadata
                    return Bookmark(metadata.resource_version, _INITIAL_EVENTS_END in metadata.annotations)
                case "ERROR":
                    return WatchError(decoder_of(Status).decode(event.object))
                case other:
                    return Garbage(f"an event of type {other[:40]!r}")
        except UNREADABLE as error:
            return Garbage(f"{line[:40]!r}: {error}")

    def _change(self, line: bytes, event: _AnyEvent) -> "WatchEvent[W] | Unreadable":
        try:
            return self._events.decode(line)
        except UNREADABLE as error:
            return _set_aside(event.object, error)

    def _item_by_item(self, body: bytes) -> "ListPage[W] | Garbage":
        try:
            raw = decoder_of(list_of(msgspec.Raw)).decode(body)
            page: ListPage[W] = ListPage(raw.metadata, [], [])
            for item in raw.items or ():
                try:
                    page.items.append(decoder_of(self._wire).decode(item))
                except UNREADABLE as error:
                    page.unreadable.append(_set_aside(item, error))
        except UNREADABLE as error:
            return Garbage(f"a page that is none: {error}")
        return _versioned(page)


def _versioned(page: ListPage[W]) -> ListPage[W] | Garbage:
    """A list without a version cannot be followed, nor one whose next page has a name without end."""
    if len(page.metadata.continue_) > _LONGEST_HEAD or len(page.metadata.resource_version) > _LONGEST_HEAD:
        return Garbage("a page with a token that is too long")
    return page if page.metadata.resource_version else Garbage("a page without a resourceVersion")


def _set_aside(item: msgspec.Raw, error: Exception) -> Unreadable:
    metadata = decoder_of(_SomeObject).decode(item).metadata
    return Unreadable(key_of(metadata), metadata.resource_version, str(error))
