"""A node falls silent in every cluster: its request appears at its deadline, and ends when it is back."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from controlplane.api import Api
from tests.e2e.checks.world import POLICY, Site, World, for_each

SECONDS: Final = 5
SICK: Final = "a-0"
KUBELETS: Final = {"a": 1, "b": 3}
"""Nodes with kubelets, by groups that can fall silent separately."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Seconds, in the worst of the clusters: the delay of a request, and its lifetime after its reason."""

    late: float
    withdrawn: float
    withdrawn_while_paused: float
    others: frozenset[str]
    """Requests that should not exist."""


def fall_silent(world: World, begin: Callable[[], object]) -> Silence:
    """`begin` returns when the silence has to start."""
    for site in world.sites:
        nodes = [name for group in KUBELETS.items() for name in site.plane.nodes.add(*group, within=120)]
        world.watch_over(site, nodes, SECONDS, "60%")
    world.until_all_is_well(sum(KUBELETS.values()))
    begin()
    world.hang()
    late = world.in_turn(_ask)
    withdrawn = max(for_each(world.sites, partial(_withdraw, world)))
    late = max(late, world.in_turn(_ask))
    world.management.api.patch(POLICY, {"spec": {"pause": {"reason": "a test"}}})
    world.until_held("Paused")
    paused = max(for_each(world.sites, partial(_withdraw, world)))
    world.management.api.patch(POLICY, {"spec": {"pause": None}})
    return Silence(late, withdrawn, paused, frozenset(world.asked()))


def _ask(world: World, site: Site) -> float:
    site.plane.nodes.silence("a")
    known_at = 0.0
    """The last time when it was not Unknown: its deadline is based on this."""

    def is_unknown() -> bool:
        nonlocal known_at
        now = time.monotonic()
        if _ready(site.plane.api, SICK) == "Unknown":
            return True
        known_at = now
        return False

    world.until("the node is Unknown", is_unknown)
    asked_at = world.until("a request is there", lambda: site.request_for(SICK) in world.asked())
    return asked_at - known_at - SECONDS


def _withdraw(world: World, site: Site) -> float:
    site.plane.nodes.resume("a")
    back_at = world.until("the node is back", lambda: _ready(site.plane.api, SICK) == "True")
    gone_at = world.until("the request is gone", lambda: site.request_for(SICK) not in world.asked())
    return gone_at - back_at


def _ready(api: Api, node: str) -> str:
    conditions = api.get(f"/api/v1/nodes/{node}")["status"]["conditions"]
    return next(str(one["status"]) for one in conditions if one["type"] == "Ready")
