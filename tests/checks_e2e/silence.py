"""A node falls silent in every cluster: its request appears at its deadline, and goes when it is back."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from controlplane.run import ControlPlane
from controlplane.settings import Settings
from tests.checks_e2e.world import Plan, Site, Story, World, for_each, ready

SECONDS: Final = 5
SICK: Final = "a-0"
POLICY: Final = "/apis/nodemend.io/v1alpha1/remediationpolicies/cluster"


@dataclass(frozen=True, slots=True)
class Silence:
    """Seconds, in the worst of the clusters: how late a request came, and how long it outlived its reason."""

    late: float
    withdrawn: float
    withdrawn_while_paused: float
    others: frozenset[str]
    """What was asked for and should not have been."""


def fall_silent(story: Story, begin: Callable[[], object]) -> Silence:
    """`begin` returns when it is time for it."""
    plan = Plan(Settings(scheduler=False), SECONDS, "60%", "1s", _populate)
    with story.world(plan) as world:
        world.until_all_is_well()
        begin()
        world.hang()
        late = world.in_turn(_ask)
        withdrawn = max(for_each(world.sites, partial(_withdraw, world)))
        late = max(late, world.in_turn(_ask))
        world.management.api.patch(POLICY, {"spec": {"pause": {"reason": "a test"}}})
        world.until_held()
        paused = max(for_each(world.sites, partial(_withdraw, world)))
        return Silence(late, withdrawn, paused, frozenset(world.asked()))


def _populate(plane: ControlPlane, _of: int) -> Sequence[str]:
    """With kubelets, which one of them can lose."""
    return [*plane.nodes.add("a", 1, within=60), *plane.nodes.add("b", 3, within=60)]


def _ask(world: World, site: Site) -> float:
    site.plane.nodes.silence("a")
    known_at = 0.0
    """When it was last not Unknown: its deadline is no earlier than that tells."""

    def is_unknown() -> bool:
        nonlocal known_at
        now = time.monotonic()
        if ready(site.plane.api, SICK) == "Unknown":
            return True
        known_at = now
        return False

    world.until("the node is Unknown", is_unknown)
    asked_at = world.until("a request is there", lambda: site.request_for(SICK) in world.asked())
    return asked_at - known_at - SECONDS


def _withdraw(world: World, site: Site) -> float:
    site.plane.nodes.resume("a")
    back_at = world.until("the node is back", lambda: ready(site.plane.api, SICK) == "True")
    gone_at = world.until("the request is gone", lambda: site.request_for(SICK) not in world.asked())
    return gone_at - back_at
