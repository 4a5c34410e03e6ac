"""Schemas: the allowed values of a field, and how field managers share its parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any, Final


class Shape(IntEnum):
    """Shape of a value. The members are integers because they are looked up very often."""

    STRUCT = auto()
    MAP = auto()
    LIST = auto()
    STRING = auto()
    INTEGER = auto()
    NUMBER = auto()
    BOOLEAN = auto()
    INT_OR_STRING = auto()
    QUANTITY = auto()
    TIME = auto()
    MICRO_TIME = auto()
    BYTES = auto()
    ANY = auto()


class Ties(IntEnum):
    """Ownership of the parts of a map or list."""

    GRANULAR = auto()  # each field or key separately
    ATOMIC = auto()  # the whole value
    SET = auto()  # each value separately
    KEYED = auto()  # each item separately, by the values of its keys


class Zero(IntEnum):
    """Serialization of a zero value in a field of a built-in kind."""

    KEPT = auto()  # unchanged; an absent field stays absent
    DROPPED = auto()
    WRITTEN = auto()  # also if the field was absent


ABSENT: Final = object()
"""Marks a missing default, because null can be a default."""


@dataclass(slots=True, eq=False)
class Schema:
    """One type. All fields of that type share it, so it must not change once it is complete."""

    shape: Shape
    fields: dict[str, "Schema"] = field(default_factory=dict)
    element: "Schema | None" = None
    keys: tuple[str, ...] = ()
    ties: Ties = Ties.GRANULAR
    zero: Zero = Zero.KEPT
    rules: Mapping[str, Any] = field(default_factory=dict)
    """Constraints of a CRD's schema beyond the type, under their names in the CRD."""
    default: Any = ABSENT
    nullable: bool = False
    keeps_unknown: bool = False
    # Fields to fill in if they are absent: fields with a default, or with a zero that is always written.
    fills: tuple[str, ...] = ()
    # True if each field, or each item, is owned separately.
    by_field: bool = field(init=False)
    by_item: bool = field(init=False)

    def __post_init__(self) -> None:
        atomic = self.ties is Ties.ATOMIC
        self.by_field = not atomic and self.shape in {Shape.STRUCT, Shape.MAP, Shape.ANY}
        self.by_item = not atomic and self.shape is Shape.LIST

    def below(self, name: str) -> "Schema | None":
        """Return the type of one field or key, or None if there is no such field."""
        return self.fields.get(name) or self.element


ANYTHING: Final = Schema(Shape.ANY, keeps_unknown=True)


def fill_names(fields: Mapping[str, Schema]) -> tuple[str, ...]:
    return tuple(
        name for name, schema in fields.items() if schema.default is not ABSENT or schema.zero is Zero.WRITTEN
    )
