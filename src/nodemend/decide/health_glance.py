"""Whether a node is well, at a glance: for whoever has to look at all of them at once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from nodemend.api.conditions import ConditionStatus
from nodemend.api.node_health_check import Threshold
from nodemend.decide.node_health import types_that_matter


class Shown(Protocol):
    """A condition as a node shows it."""

    @property
    def type(self) -> str: ...

    @property
    def status(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Glance:
    """What thresholds look at, worked out once."""

    types: frozenset[str]
    fine: frozenset[tuple[str, str]]
    """The type and status of every condition that meets none of them."""

    def finds_well(self, shown: Collection[Shown]) -> bool:
        """If so, `judge` finds it Healthy, however long anything has stood. If not, `judge` must be asked."""
        types, fine = self.types, self.fine
        return bool(shown) and not [
            one for one in shown if one.type in types and (one.type, one.status) not in fine
        ]


def glance_at(thresholds: Sequence[Threshold]) -> Glance:
    types = types_that_matter(thresholds)
    met = {(threshold.type, str(threshold.status)) for threshold in thresholds}
    # A status that nobody has heard of is not fine: what it means is for `judge` to say.
    fine = {(type_, str(status)) for type_ in types for status in ConditionStatus} - met
    return Glance(types, frozenset(fine))
