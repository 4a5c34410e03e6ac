"""Kubernetes objects from a file: JSON or YAML, one or many, as `kubectl get -o json` prints them."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from nodemend.kube.json_decoding import UNREADABLE, decoder_of

_FIRST: Final = re.compile(rb'\{\s*"apiVersion":\s*"([a-z0-9./]*)",\s*"kind":\s*"([A-Za-z0-9]*)"')
_ENOUGH: Final = 400


class DocumentsError(ValueError):
    """What is wrong with the file, as the rest of a sentence."""


class Document(msgspec.Struct, frozen=True):
    """One object, not yet decoded. `raw` is JSON."""

    api_version: str
    kind: str
    raw: msgspec.Raw

    def __str__(self) -> str:
        return f"{self.kind} of {self.api_version}"


class _Header(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    kind: str = ""
    api_version: str = ""


class _Listed(_Header, frozen=True, gc=False):
    items: list[msgspec.Raw] | None = None


def read_documents(content: bytes) -> list[Document]:
    """Every object, those of lists one by one. Raises DocumentsError."""
    try:
        return [found for whole in _as_json(content) for found in _unfold(whole)]
    except UNREADABLE as error:
        raise DocumentsError(f"is no list of objects: {error}") from error


def _as_json(content: bytes) -> Iterable[bytes]:
    """JSON is taken as it is: a snapshot of 5,000 nodes is 50 MB of it."""
    return [content] if content.lstrip()[:1] == b"{" else _from_yaml(content)


def _from_yaml(content: bytes) -> list[bytes]:
    import yaml  # noqa: PLC0415 - JSON needs none of it

    # The parser in C where there is one: it is ten times as fast.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found = [document for document in yaml.load_all(content, loader) if document is not None]
        return [msgspec.json.encode(document) for document in found]
    except Exception as error:
        raise DocumentsError(f"is neither JSON nor YAML: {type(error).__name__}: {error}") from error


def _unfold(whole: bytes) -> Iterator[Document]:
    listed = decoder_of(_Listed).decode(whole)
    if listed.items is None:
        yield _named(listed, msgspec.Raw(whole))
        return
    for raw in listed.items:
        head = _peek(raw)
        # The items of a NodeList do not say what they are.
        kind = head.kind or listed.kind.removesuffix("List")
        yield _named(_Header(kind, head.api_version or listed.api_version), raw)


def _peek(raw: msgspec.Raw) -> _Header:
    """kubectl writes these two first: thousands of nodes need not be read through for them."""
    found = _FIRST.match(memoryview(raw)[:_ENOUGH])
    if found is None:
        return decoder_of(_Header).decode(raw)
    return _Header(kind=found[2].decode(), api_version=found[1].decode())


def _named(header: _Header, raw: msgspec.Raw) -> Document:
    if not header.kind:
        raise DocumentsError("has an object that does not say its kind")
    return Document(header.api_version, header.kind, raw)
