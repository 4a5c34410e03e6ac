"""Most nodes turn Unknown at once: nothing is asked for; afterwards only what is still sick is."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from controlplane.settings import API_SERVER_ALONE
from tests.checks_e2e.played_nodes import make, report
from tests.checks_e2e.world import Plan, Site, Story, World, for_each

SECONDS: Final = 15
LONGER: Final = 10.0
"""Seconds for which is watched what should not come."""


@dataclass(frozen=True, slots=True)
class Storm:
    """Of `total` nodes `failed` did; `asked` are the requests that came meanwhile, `stale` those after it."""

    total: int
    failed: int
    asked: frozenset[str]
    stale: frozenset[str]
    late: float
    """Seconds by which a single node was asked for after its deadline, before the storm, among all others."""
    withdrawn: float
    """Seconds until that was withdrawn when its node came back, in the storm."""
    closed_after: float
    """Seconds from the first failure until the check says that it holds."""
    said_of_the_hung: str


def rage(story: Story, total: int, begin: Callable[[], object]) -> Storm:
    """`begin` returns when it is time for it."""
    plan = Plan(API_SERVER_ALONE, SECONDS, "40%", "5s", lambda plane, of: make(plane.api, total // of))
    with story.world(plan) as world:
        world.until_all_is_well()
        begin()
        world.hang()
        late = world.in_turn(_fail_alone)
        began = time.monotonic()
        for_each(world.sites, lambda site: report(site.plane.api, failing(site), "Unknown"))
        world.until_held()
        closed_after = time.monotonic() - began
        ours = {site.request_for(alone(site)) for site in world.sites}
        asked = _seen_until(world, began + SECONDS + 1) - ours
        withdrawn = max(for_each(world.sites, partial(_recover, world)))
        asked |= _seen_until(world, time.monotonic() + LONGER)
        stale = _end(world)
        said = _hear_of_the_hung(world)
    count = sum(len(failing(site)) for site in world.sites)
    return Storm(
        sum(len(site.nodes) for site in world.sites),
        count,
        frozenset(asked),
        frozenset(stale),
        late,
        withdrawn,
        closed_after,
        said,
    )


def failing(site: Site) -> Sequence[str]:
    return site.nodes[: len(site.nodes) * 6 // 10]


def alone(site: Site) -> str:
    """One that has its trouble for itself."""
    return site.nodes[-1]


def _fail_alone(world: World, site: Site) -> float:
    began = time.monotonic()
    report(site.plane.api, [alone(site)], "Unknown")
    request = site.request_for(alone(site))
    return world.until("the one is asked for", lambda: request in world.asked()) - began - SECONDS


def _recover(world: World, site: Site) -> float:
    began = time.monotonic()
    report(site.plane.api, [alone(site)], "True")
    request = site.request_for(alone(site))
    return world.until("the one is withdrawn", lambda: request not in world.asked()) - began


def _seen_until(world: World, end: float) -> set[str]:
    """Whatever is asked for at any moment until then."""
    seen: set[str] = set()
    while time.monotonic() < end:
        seen |= world.asked()
        time.sleep(0.2)
    return seen


def _end(world: World) -> set[str]:
    """All but one recover, which then is asked for; and then it does. What is asked for besides."""
    for_each(world.sites, lambda site: report(site.plane.api, failing(site)[1:], "True"))
    left = {site.request_for(failing(site)[0]) for site in world.sites}
    seen: set[str] = set()

    def asked_for_those_left() -> bool:
        nonlocal seen
        now = world.asked()
        seen |= now
        return left <= now

    world.until("those that are left are asked for", asked_for_those_left)
    seen |= _seen_until(world, time.monotonic() + LONGER)
    for_each(world.sites, lambda site: report(site.plane.api, failing(site)[:1], "True"))
    world.until("the last are withdrawn", lambda: not world.asked() & left)
    return (seen - left) | world.asked()


def _hear_of_the_hung(world: World) -> str:
    world.until("something is said of the one that hangs", lambda: bool(world.said_of_the_hung()))
    return world.said_of_the_hung()
