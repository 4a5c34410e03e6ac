"""What a command has to say, as data: frozen dataclasses, which text functions put into sentences."""

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from math import isfinite

import msgspec

from nodemend.cli.options import VIEW_VERSION, Form
from nodemend.telemetry.printable import printable_json


def as_document(view: object, form: Form) -> str:
    """A view as JSON or YAML, its fields in camelCase as everywhere in Kubernetes."""
    plain = _typed(view)
    if form is Form.YAML:
        return _as_yaml(plain)
    return printable_json(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode())


def as_line(view: object) -> str:
    """A view as JSON on one line, for a stream of them."""
    return printable_json(msgspec.json.encode(_typed(view)).decode())


def _typed(view: object) -> object:
    """With what kind of view it is, and in which version."""
    plain = as_plain(view)
    if not isinstance(plain, dict) or not dataclasses.is_dataclass(view):
        return plain
    return {"apiVersion": VIEW_VERSION, "kind": type(view).__name__.removesuffix("View"), **plain}


def _as_yaml(plain: object) -> str:
    text = msgspec.yaml.encode(plain).decode().rstrip("\n")
    if text.replace("\n", "").isprintable():
        return text
    # JSON is YAML, and has an escape for everything.
    return printable_json(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode())


def as_plain(value: object) -> object:
    """Only what JSON has. Raises TypeError for what should not be part of a view."""
    match value:
        case Enum():
            return value.value
        case float():
            return round(value, 3) if isfinite(value) else None
        case None | bool() | int() | str():
            return value
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case Mapping():
            return {str(key): as_plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [as_plain(inner) for inner in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = dataclasses.fields(value)
            return {_camel(field.name): as_plain(getattr(value, field.name)) for field in fields}
        case _:
            raise TypeError(f"{type(value).__name__} is no part of a view")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.upper() if word in ("id", "uid") else word.capitalize() for word in rest)
