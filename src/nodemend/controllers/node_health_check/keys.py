"""What the loops of node health checks are asked to look at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TargetKey:
    node: str


@dataclass(frozen=True, slots=True)
class CheckKey:
    check: str


@dataclass(frozen=True, slots=True)
class PolicyKey:
    """The whole cluster's report."""


@dataclass(frozen=True, slots=True)
class HeldKey:
    """Whoever is held."""


@dataclass(frozen=True, slots=True)
class EverybodyKey:
    """All targets: for a new leadership, or by new rules. Who is well costs no more than a count."""


@dataclass(frozen=True, slots=True)
class AheadKey:
    """A node whose deadline is near: whatever can be known before it shall be."""

    node: str


Deed = TargetKey | HeldKey | EverybodyKey
Beside = CheckKey | PolicyKey | AheadKey
"""What is worked off beside the deeds: no report and no look ahead may make one late."""
Key = Deed | Beside
