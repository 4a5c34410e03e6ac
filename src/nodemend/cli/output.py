"""Converts views to JSON and YAML, and findings about a target, with their durations, to text.

A view is the output of a command as data: a frozen dataclass, which a text function can render as well.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from math import isfinite
from typing import ClassVar, Final, Protocol

import msgspec

from nodemend.api.meta import camel_case
from nodemend.cli.options import VIEW_VERSION, Form
from nodemend.cli.text import spell_seconds
from nodemend.rules.node import ConditionOwner, Finding, Match, NeverStarted, spell_finding
from nodemend.telemetry.printable import printable_json

_LASTING: Final = (Match, NeverStarted)
"""Findings with a duration."""


def spell_met(finding: Finding) -> str:
    """Return the finding and the duration that it requires."""
    return _spell_for(finding, finding.period) if isinstance(finding, _LASTING) else spell_finding(finding)


def spell_so_far(finding: Finding) -> str:
    """Return the finding and the duration that it has lasted."""
    return _spell_for(finding, finding.age) if isinstance(finding, _LASTING) else spell_finding(finding)


def spell_age(finding: Finding) -> str:
    """Return the finding, the duration that it has lasted, and its limit."""
    limit = f", limit {spell_seconds(finding.period)}" if isinstance(finding, _LASTING) else ""
    return f"{spell_so_far(finding)}{limit}"


def _spell_for(finding: Match | NeverStarted, seconds: float) -> str:
    what = _condition(finding) if isinstance(finding, Match) else "no node"
    return f"{what} for {spell_seconds(seconds)}"


def _condition(match: Match) -> str:
    whose = "" if match.of is ConditionOwner.NODE else f"{match.of} "
    return f"{whose}{match.type}={match.status}"


class View(Protocol):
    """The JSON or YAML output of a command: a dataclass with its kind."""

    kind: ClassVar[str]


def as_document(view: View | Sequence[str] | Mapping[str, object], form: Form) -> str:
    """Return a view as JSON or YAML, with fields in camelCase as in Kubernetes."""
    plain = _typed(view)
    if form is Form.YAML:
        text = msgspec.yaml.encode(plain).decode().rstrip("\n")
        if text.replace("\n", "").isprintable():
            return text
        # JSON is also valid YAML, and can escape every character.
    return printable_json(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode())


def as_line(view: View | Sequence[str] | Mapping[str, object]) -> str:
    """Return a view as JSON on one line, for a stream of views."""
    return printable_json(msgspec.json.encode(_typed(view)).decode())


def _typed(view: View | Sequence[str] | Mapping[str, object]) -> object:
    """Add the kind of the view and its API version."""
    plain = as_plain(view)
    if isinstance(view, Sequence | Mapping) or not isinstance(plain, dict):
        return plain
    return {"apiVersion": VIEW_VERSION, "kind": view.kind, **plain}


def as_plain(value: object) -> object:
    """Convert to JSON types. Raises TypeError for a type that a view must not contain."""
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
            return {camel_case(field.name): as_plain(getattr(value, field.name)) for field in fields}
        case _:
            raise TypeError(f"{type(value).__name__} is no part of a view")
