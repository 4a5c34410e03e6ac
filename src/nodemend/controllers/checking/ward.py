"""A target as the guard sees it, of whatever kind it is."""

from collections.abc import Mapping
from dataclasses import dataclass

from nodemend.decide.guard_facts import CheckFacts


@dataclass(frozen=True, slots=True)
class Busy:
    """Names of those for whom something goes on in a cluster."""

    names: frozenset[str] = frozenset()
    released: frozenset[str] = frozenset()
    """Of these, those whose workloads run elsewhere."""
    unserved: frozenset[str] = frozenset()
    """And those for whom nothing has begun, as nobody serves their remediation."""


@dataclass(frozen=True, slots=True)
class Ward:
    """`name` is its key in the standings; `labels` tell its failure domain."""

    name: str
    labels: Mapping[str, str]
    check: CheckFacts
    cluster: str = ""
    """The workload cluster it is in; empty for the one that we run in."""
    excluded_by: str = ""
    maintained_by: str = ""
    control_plane: bool = False
    """Where its kind knows; a node's name is looked up in the roll instead."""
