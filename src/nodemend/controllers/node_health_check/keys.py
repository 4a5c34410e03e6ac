"""What the loop of node health checks is asked to look at."""

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


Key = TargetKey | CheckKey | PolicyKey | HeldKey
