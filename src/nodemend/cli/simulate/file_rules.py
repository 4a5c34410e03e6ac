"""The validation rules of our kinds, for a file that no API server has seen.

What a field may be decoding refuses; here are the rules that the CRDs state in CEL, found by their messages.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from nodemend.api import keys
from nodemend.api.group_versions import OUR_GROUP
from nodemend.api.name_formats import LABEL_KEY
from nodemend.api.quantities import parse_duration

_MATCHES: Final = re.compile(r"self\.matches\('([^']*)'\)")
_LISTED: Final = ("In", "NotIn")
_LONGEST_KEY: Final = 317
_MOST_NODES: Final = 100_000
_LIMIT: Final = re.compile(r"[0-9]{1,5}|([0-9]|[1-9][0-9]|100)%")


def broken_rules(value: Any, schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Where in the object, and what the API server would say."""
    for rule in schema.get("x-kubernetes-validations", ()):
        if not predicate_of(rule)(value):
            yield f"{path or 'it'} {rule['message']}".strip()
    if isinstance(value, dict):
        below = schema.get("properties", {})
        others = schema.get("additionalProperties")
        for name, inner in value.items():
            part = below.get(name, others if isinstance(others, dict) else None)
            if part is not None and inner is not None and name != "status":
                yield from broken_rules(inner, part, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list) and "items" in schema:
        for number, inner in enumerate(value):
            yield from broken_rules(inner, schema["items"], f"{path}[{number}]")


def predicate_of(rule: Mapping[str, str]) -> Callable[[Any], bool]:
    """Raises KeyError for a rule that is not known here."""
    pattern = _MATCHES.fullmatch(rule["rule"])
    if pattern is not None:
        return lambda value: re.fullmatch(pattern[1], str(value)) is not None
    for beginning, predicate in _PREDICATES.items():
        if rule["message"].startswith(beginning):
            return predicate
    raise KeyError(rule["message"])


def _seconds(written: object) -> float | None:
    try:
        return parse_duration(str(written)).total_seconds()
    except ValueError:
        return None


def _lasts(written: object, least: float) -> bool:
    """So long at least. What is no duration another rule refuses."""
    seconds = _seconds(written)
    return seconds is None or seconds >= least


def _is_limit(written: object) -> bool:
    """A range, which a MachineHealthCheck may have, is none here."""
    if isinstance(written, int):
        return 0 <= written <= _MOST_NODES
    return _LIMIT.fullmatch(str(written)) is not None


def _is_label_key(written: str) -> bool:
    return predicate_of({"rule": LABEL_KEY.expression, "message": LABEL_KEY.message})(written)


def _of_own_kind(remedies: Any) -> bool:
    templates = [one.get("template", {}) for one in remedies]
    kinds = [(one.get("apiVersion"), one.get("kind")) for one in templates]
    return len(set(kinds)) == len(kinds)


_PREDICATES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "each key must be a label key": lambda labels: all(
        len(key) <= _LONGEST_KEY and _is_label_key(key) for key in labels
    ),
    "must name at least one value": lambda one: one.get("operator") not in _LISTED or bool(one.get("values")),
    "must be empty for the operators": lambda one: one.get("operator") in _LISTED or not one.get("values"),
    "must be Unknown or False for the condition Ready": lambda one: (
        (one.get("type"), one.get("status")) != ("Ready", "True")
    ),
    "must be at least 40s for the condition Ready": lambda one: (
        one.get("type") != "Ready" or one.get("acceptShortPeriod") is True or _lasts(one.get("period"), 40.0)
    ),
    "must be a duration longer than zero": lambda written: bool(_seconds(written)),
    "each remedy must be of a kind of its own": _of_own_kind,
    "must be at least 1m": lambda one: _lasts(one.get("timeout"), 60.0),
    "must be the kind of a template": lambda one: str(one.get("kind")).endswith("Template"),
    "must be group and version": lambda one: "/" in str(one.get("apiVersion")),
    "must not be ManualRemediationTemplate": lambda one: (
        one.get("template", {}).get("kind") != "ManualRemediationTemplate"
        or not str(one.get("template", {}).get("apiVersion")).startswith(f"{OUR_GROUP}/")
    ),
    "must be a count such as 3": _is_limit,
    "a cluster has one RemediationPolicy": lambda one: (
        one.get("metadata", {}).get("name") == keys.POLICY_NAME
    ),
}
