"""Extension of a campaign's world by another campaign: its invariants, shape options and further faults."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

J_co = TypeVar("J_co", covariant=True)
W = TypeVar("W")

SettleBy = Callable[[float], None]
"""Wait until the invariants hold, at most until this simulated time."""


@dataclass(frozen=True, slots=True)
class Beside(Generic[J_co, W]):
    """An extension. By default it adds only its invariants."""

    evaluate: J_co
    options: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the world's shape, in addition to those of the campaign."""
    join: Callable[[W], None] = lambda _world: None
    """Called when the world exists, before the first fault."""
    afterwards: Callable[[SettleBy], None] = lambda _settle: None
    """Called when all faults have ended and the invariants hold."""
