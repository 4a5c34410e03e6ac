"""Which kinds of hostile faults a seed has, and what it showed."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from nodemend.testing.request_log import RequestDigests
from tests.simulation.hostile.kinds import Kind
from tests.simulation.hostile.surroundings import Around

SHARE: Final = 0.35
"""Of the kinds of faults that a seed has."""
Only = Collection[Kind]
Plans = Mapping[Kind, Callable[[], None]]


@dataclass(frozen=True, slots=True)
class Run:
    """What a seed showed."""

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
    """In these seeds the server has our admission policies, and the programs prove them all the time.

    Where many requests are lost that takes long: with it in each seed, few would reach a release.
    """
    return Kind.POLICIES in only if only else Random(f"policies {seed}").random() < SHARE


def begin(around: Around, plans: Plans, only: Only) -> None:
    drawn = [kind for kind in plans if around.chance.random() < SHARE]
    drawn = drawn or [around.chance.choice(list(plans))]
    for kind in [kind for kind in plans if kind in only] if only else drawn:
        plans[kind]()
