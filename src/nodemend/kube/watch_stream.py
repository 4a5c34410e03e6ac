"""Decodes list pages and the lines of a watch: typed objects, and the few lines that are not changes."""

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

import msgspec

from nodemend.kube.client import ListMeta, list_of
from nodemend.kube.outcome import DECODE_ERRORS, ApiStatus, decoder_of
from nodemend.kube.store import DecodedObject, key_of

_LONGEST_LINE_BYTES = 32 * 1024 * 1024


class LineTooLongError(ValueError):
    """No object of Kubernetes is this long: the stream is not a watch."""


class LineSplitter:
    """Returns whole lines and keeps the beginning of an incomplete one."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._length = 0

    def feed(self, data: bytes) -> list[bytes | memoryview]:
        """All lines that `data` completes, in blocks that each end with a newline.

        Only a line that began in earlier data is joined; the others are views of `data`. A busy watch
        delivers a quarter of a megabyte at a time, and a copy costs more than all further processing.
        """
        end = data.rfind(b"\n") + 1
        if end == 0:
            self._keep(data)
            return []
        blocks: list[bytes | memoryview] = []
        begin = 0
        if self._begun:
            begin = data.find(b"\n") + 1
            self._begun.append(data[:begin])
            blocks.append(b"".join(self._begun))
            self._begun.clear()
            self._length = 0
        if begin < end:
            blocks.append(memoryview(data)[begin:end])
        if end < len(data):
            self._keep(data[end:])
        return blocks

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > _LONGEST_LINE_BYTES:
            raise LineTooLongError(f"a line of more than {_LONGEST_LINE_BYTES} bytes")
        self._begun.append(piece)


W = TypeVar("W", bound=DecodedObject)

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_ITEMS = b',"items":'
_LONGEST_HEAD = 64 * 1024
"""Bytes. A continue token has a few hundred."""


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
    """The server ends the watch with this Status."""

    status: ApiStatus


@dataclass(frozen=True, slots=True)
class UndecodableObject:
    """An object that cannot be decoded as its type. Only its key and version are known."""

    key: str
    version: str
    why: str


@dataclass(frozen=True, slots=True)
class ProtocolError:
    """Data that is not a watch line. Nothing after it can be trusted either."""

    why: str


WatchLine: TypeAlias = WatchEvent[W] | Bookmark | WatchError | UndecodableObject | ProtocolError


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
    """A page. Objects that cannot be decoded are listed separately."""

    metadata: ListMeta
    items: list[W]
    unreadable: list[UndecodableObject]


class WatchDecoder(Generic[W]):
    def __init__(self, wire: type[W]) -> None:
        self._wire = wire
        event = cast("type[WatchEvent[W]]", cast("Any", WatchEvent)[wire])
        self._events = decoder_of(event)

    def lines(self, block: bytes | memoryview) -> "list[WatchEvent[W]] | list[WatchLine[W]]":
        """The lines of a block, in order; ProtocolError is the last of its list."""
        try:
            # The usual case: only changes, all readable, decoded in one call.
            return self._events.decode_lines(block)
        except DECODE_ERRORS:
            return self._one_by_one(bytes(block))

    def page(self, body: bytes) -> "ListPage[W] | ProtocolError":
        try:
            page = decoder_of(list_of(self._wire)).decode(body)
            return _versioned(ListPage(page.metadata, page.items or [], []))
        except DECODE_ERRORS:
            return self._item_by_item(body)

    def next_page(self, body: bytes) -> str:
        """The continue token of a page, found without decoding the objects; "" if it is not found."""
        # The server writes a list's metadata before its items. A page in another order is decoded in full.
        end = body.find(_ITEMS)
        if not 0 <= end <= _LONGEST_HEAD:
            return ""
        try:
            return decoder_of(_PageHead).decode(body[:end] + b"}").metadata.continue_
        except DECODE_ERRORS:
            return ""

    def _one_by_one(self, block: bytes) -> "list[WatchLine[W]]":
        lines: list[WatchLine[W]] = []
        for line in filter(None, block.split(b"\n")):
            decoded = self._line(line)
            lines.append(decoded)
            if isinstance(decoded, ProtocolError):
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
                    return WatchError(decoder_of(ApiStatus).decode(event.object))
                case other:
                    return ProtocolError(f"an event of type {other[:40]!r}")
        except DECODE_ERRORS as error:
            return ProtocolError(f"{line[:40]!r}: {error}")

    def _change(self, line: bytes, event: _AnyEvent) -> "WatchEvent[W] | UndecodableObject":
        try:
            return self._events.decode(line)
        except DECODE_ERRORS as error:
            return _set_aside(event.object, error)

    def _item_by_item(self, body: bytes) -> "ListPage[W] | ProtocolError":
        try:
            raw = decoder_of(list_of(msgspec.Raw)).decode(body)
            page: ListPage[W] = ListPage(raw.metadata, [], [])
            for item in raw.items or ():
                try:
                    page.items.append(decoder_of(self._wire).decode(item))
                except DECODE_ERRORS as error:
                    page.unreadable.append(_set_aside(item, error))
        except DECODE_ERRORS as error:
            return ProtocolError(f"an invalid page: {error}")
        return _versioned(page)


def _versioned(page: ListPage[W]) -> ListPage[W] | ProtocolError:
    """Refuse a list without a version, which cannot be watched, and one with an oversized token."""
    if len(page.metadata.continue_) > _LONGEST_HEAD or len(page.metadata.resource_version) > _LONGEST_HEAD:
        return ProtocolError("a page with a token that is too long")
    return page if page.metadata.resource_version else ProtocolError("a page without a resourceVersion")


def _set_aside(item: msgspec.Raw, error: Exception) -> UndecodableObject:
    metadata = decoder_of(_SomeObject).decode(item).metadata
    return UndecodableObject(key_of(metadata), metadata.resource_version, str(error))
