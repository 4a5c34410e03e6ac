"""Selection of the hostile faults of a seed, and the result of a seed."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from simulation.request_log import RequestDigests
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Kind

SHARE: Final = 0.35
"""Probability of each kind of fault in a seed."""
Only = Collection[Kind]
Plans = Mapping[Kind, Callable[[], None]]


@dataclass(frozen=True, slots=True)
class Run:
    """Result of one seed."""

    seed: int
    world: str
    broken: str
    releases: int
    checked: Counter[str]
    made: Counter[str] = field(default_factory=Counter)
    effective: Counter[str] = field(default_factory=Counter)
    digest: str = ""
    requests: RequestDigests | None = None
    lines: tuple[str, ...] = ()


def has_policies(seed: int, only: Only) -> bool:
    """Return whether the server of this seed has the admission policies, so that the programs prove them.

    The proofs take long if many requests are lost: with them in every seed, few would reach a release.
    """
    return Kind.POLICIES in only if only else Random(f"policies {seed}").random() < SHARE


def begin(around: Around, plans: Plans, only: Only) -> None:
    drawn = [kind for kind in plans if around.chance.random() < SHARE]
    drawn = drawn or [around.chance.choice(list(plans))]
    for kind in [kind for kind in plans if kind in only] if only else drawn:
        plans[kind]()
