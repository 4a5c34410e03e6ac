"""What the values of one field may be, and how several writers share them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any, Final


class Shape(IntEnum):
    """Numbers, since they are looked up by the million."""

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
    """How the parts of a map or list are owned."""

    GRANULAR = auto()  # each field or key by itself
    ATOMIC = auto()  # all or nothing
    SET = auto()  # each value by itself
    KEYED = auto()  # each item by the values of its keys


class Zero(IntEnum):
    """What becomes of a field's zero value when a built-in kind is written out."""

    KEPT = auto()  # as it came; absent stays absent
    DROPPED = auto()
    WRITTEN = auto()  # also when it was absent


@dataclass(slots=True, eq=False)
class Rules:
    """What a CRD's schema demands beyond the type."""

    required: tuple[str, ...] = ()
    enum: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    pattern: str = ""
    format: str = ""


NO_RULES: Final = Rules()
ABSENT: Final = object()
"""Stands for a default that is not there, since null can be one."""


@dataclass(slots=True, eq=False)
class Schema:
    """One type. Shared between all fields of that type, so never changed once it is complete."""

    shape: Shape
    fields: dict[str, "Schema"] = field(default_factory=dict)
    element: "Schema | None" = None
    keys: tuple[str, ...] = ()
    ties: Ties = Ties.GRANULAR
    zero: Zero = Zero.KEPT
    rules: Rules = NO_RULES
    default: Any = ABSENT
    nullable: bool = False
    keeps_unknown: bool = False
    # Fields to fill in when they are absent: those with defaults, or with zeros that are written.
    fills: tuple[str, ...] = ()
    # Whether fields, or items, are owned one by one.
    by_field: bool = field(init=False)
    by_item: bool = field(init=False)

    def __post_init__(self) -> None:
        atomic = self.ties is Ties.ATOMIC
        self.by_field = not atomic and self.shape in {Shape.STRUCT, Shape.MAP, Shape.ANY}
        self.by_item = not atomic and self.shape is Shape.LIST

    def below(self, name: str) -> "Schema | None":
        """The type of one field or key, None when there is no such field."""
        return self.fields.get(name) or self.element


ANYTHING: Final = Schema(Shape.ANY, keeps_unknown=True)


def fill_names(fields: Mapping[str, Schema]) -> tuple[str, ...]:
    return tuple(
        name for name, schema in fields.items() if schema.default is not ABSENT or schema.zero is Zero.WRITTEN
    )
