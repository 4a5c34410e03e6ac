"""Label and field selectors."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from simulation.api_server.statuses import bad_request

REQUIREMENT: Final = re.compile(
    r"\s*(?P<absent>!\s*)?(?P<key>[A-Za-z0-9][\w./-]*)\s*"
    r"(?:(?P<sign>==|=|!=)\s*(?P<value>[\w.-]*)|(?P<set>in|notin)\s*\((?P<values>[^)]*)\))?\s*(?:,|$)"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    values: frozenset[str] | None
    wanted: bool

    def matches(self, labels: Mapping[str, str]) -> bool:
        if self.values is None:
            return (self.key in labels) is self.wanted
        return (labels.get(self.key) in self.values) is self.wanted


@lru_cache(maxsize=1024)
def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Parse a label selector. Raises Refusal 400 if it is invalid."""
    found, end = [], 0
    while end < len(text):
        match = REQUIREMENT.match(text, end)
        if match is None or (match["absent"] and (match["sign"] or match["set"])):
            raise bad_request(f"unable to parse requirement: {text!r} is no label selector")
        found.append(_requirement(match))
        end = match.end()
    return tuple(found)


def _requirement(match: re.Match[str]) -> Requirement:
    if match["set"]:
        listed = frozenset(value.strip() for value in match["values"].split(","))
        return Requirement(match["key"], listed, wanted=match["set"] == "in")
    if match["sign"]:
        return Requirement(match["key"], frozenset({match["value"]}), wanted=match["sign"] != "!=")
    return Requirement(match["key"], None, wanted=not match["absent"])


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One condition on one selectable field."""

    field: str
    value: str
    wanted: bool


@lru_cache(maxsize=1024)
def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """Parse a field selector. Raises Refusal 400 if it is invalid."""
    terms = []
    for part in filter(None, text.split(",")):
        for sign, wanted in (("!=", False), ("==", True), ("=", True)):
            field, found, value = part.partition(sign)
            if found:
                terms.append(FieldTerm(field.strip(), value.strip(), wanted))
                break
        else:
            raise bad_request(f"invalid field selector: {part!r}")
    return tuple(terms)


def exact_name(text: str) -> str:
    """Return the only name that a field selector allows, or "" if it does not restrict the name."""
    for part in text.split(","):
        field, _, value = part.replace("==", "=").partition("=")
        if field.strip() == "metadata.name":
            return value.strip()
    return ""


Selectable = Mapping[str, Callable[[dict[str, Any]], str]]


@dataclass(frozen=True, slots=True)
class Filter:
    """The objects of one resource that a list or watch selects."""

    namespace: str = ""
    labels: tuple[Requirement, ...] = ()
    terms: tuple[FieldTerm, ...] = ()
    selectable: Selectable = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not self.labels and not self.terms

    def matches(self, object_: dict[str, Any]) -> bool:
        if self.labels:
            labels = object_["metadata"].get("labels") or {}
            if not all(requirement.matches(labels) for requirement in self.labels):
                return False
        return all((self.selectable[term.field](object_) == term.value) is term.wanted for term in self.terms)

    def exact(self, field: str) -> str | None:
        """Return the only value that the selector allows for a field, or None."""
        return next((term.value for term in self.terms if term.field == field and term.wanted), None)
