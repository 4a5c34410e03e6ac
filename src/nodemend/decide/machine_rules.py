"""What a MachineHealthCheck asks for, whichever of its shapes it was written in."""

from collections.abc import Mapping
from dataclasses import dataclass

from nodemend.api.conditions import ConditionStatus
from nodemend.api.label_selector import LabelSelector
from nodemend.decide.label_match import matches
from nodemend.decide.limits import Gate, Reading


@dataclass(frozen=True, slots=True)
class Watched:
    """A condition that makes a machine unhealthy when it has stood for so many seconds."""

    type: str
    status: ConditionStatus
    seconds: float


@dataclass(frozen=True, slots=True)
class TemplateNamed:
    """The template of the remediations that a check asks for, in the check's own namespace."""

    api_version: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class MachineRules:
    """`startup` is how long a machine may take to become a node; None when nobody asks."""

    cluster: str
    selector: LabelSelector
    of_node: tuple[Watched, ...]
    of_machine: tuple[Watched, ...]
    startup: float | None
    gate: Gate | None
    reading: Reading
    template: TemplateNamed | None
    unread: tuple[str, ...] = ()
    """What the check says that nobody can follow. While there is any, nothing is begun under it."""

    def selects(self, cluster: str, labels: Mapping[str, str], *, all_without_demand: bool) -> bool:
        """A Machine of that cluster. `all_without_demand`: whether an empty selector selects all, or none."""
        if self.cluster and self.cluster != cluster:
            return False
        if not all_without_demand and not (self.selector.match_labels or self.selector.match_expressions):
            return False
        return matches(self.selector, labels)
