"""What another campaign adds to a world: its own judge, other wishes for the shape, and more faults."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

J_co = TypeVar("J_co", covariant=True)
W = TypeVar("W")

SettleBy = Callable[[float], None]
"""Wait until all is well, at most until then."""


@dataclass(frozen=True, slots=True)
class Beside(Generic[J_co, W]):
    """By default nothing but the judge."""

    judge: J_co
    wishes: Mapping[str, Any] = field(default_factory=dict)
    """For the shape of the world, beside what the campaign itself wants."""
    join: Callable[[W], None] = lambda _world: None
    """Called when the world is made and nothing has gone wrong yet."""
    afterwards: Callable[[SettleBy], None] = lambda _settle: None
    """Called when all faults have ceased and all was well."""
