"""Conditions as Kubernetes tools expect them on a status."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

from nodemend.api import name_formats
from nodemend.api.wire import Wire, about


class ConditionStatus(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Wire):
    """One fact about an object, with its reason."""

    type: Annotated[
        str,
        about("Which fact.", min_length=1, max_length=316, rules=(name_formats.CONDITION_TYPE,)),
    ]
    status: Annotated[ConditionStatus, about("Whether it holds.")]
    reason: Annotated[str, about("Why, in one CamelCase word.", min_length=1, max_length=1024)]
    last_transition_time: Annotated[
        str,
        about(
            "When the status last changed.",
            extra_json_schema={"format": "date-time"},
            example="2026-01-31T12:00:00Z",
        ),
    ]
    message: Annotated[str, about("Why, for a person.", max_length=32768)] = ""
    observed_generation: Annotated[int, about("The generation of the spec this speaks of.", ge=0)] = 0


def find(conditions: Iterable[Condition], type_: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == type_), None)


def find_true(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """None also where it is there and says anything else."""
    found = find(conditions, type_)
    return found if found is not None and found.status is ConditionStatus.TRUE else None


def merged(old: Iterable[Condition], new: Iterable[Condition]) -> tuple[Condition, ...]:
    """The new conditions, each keeping the transition time of an old one with the same status.

    Conditions of types that `new` does not name stay as they were.
    """
    before = {condition.type: condition for condition in old}
    for condition in new:
        known = before.get(condition.type)
        kept = known.last_transition_time if known and known.status == condition.status else None
        before[condition.type] = condition.but(last_transition_time=kept) if kept else condition
    return tuple(before[type_] for type_ in sorted(before))
