"""Most nodes turn Unknown at once: nothing is asked for; afterwards only what is still sick is."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Final

from tests.checks_e2e.played_nodes import make, report
from tests.checks_e2e.silence import KUBELETS
from tests.checks_e2e.world import Site, World, for_each

LONGER: Final = 6.0
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


def rage(world: World, total: int, undisturbed: Callable[[], AbstractContextManager[None]]) -> Storm:
    """With so many nodes in each cluster; within `undisturbed` nobody else keeps the machine busy."""
    nodes, seconds = _populate(world, total)
    failing, alone = nodes[: total * 6 // 10], nodes[-1]
    with undisturbed():
        late = world.in_turn(partial(_fail_alone, alone, seconds))
    began = time.monotonic()
    for_each(world.sites, lambda site: report(site.plane.api, failing, "Unknown"))
    world.until_held("TooManyUnhealthy")
    closed_after = time.monotonic() - began
    asked = _seen_until(world, began + seconds + 1)
    withdrawn = max(for_each(world.sites, partial(_recover, world, alone)))
    asked |= _seen_until(world, time.monotonic() + LONGER)
    asked -= {site.request_for(alone) for site in world.sites}
    stale = _end(world, failing)
    return Storm(
        total * len(world.sites),
        len(failing) * len(world.sites),
        frozenset(asked),
        frozenset(stale),
        late,
        withdrawn,
        closed_after,
        _hear_of_the_hung(world),
    )


def _populate(world: World, total: int) -> tuple[Sequence[str], int]:
    """Nodes without kubelets beside the few that have one, in every cluster alike; how long they may fail.

    That is long enough for us to let them all fail.
    """
    seconds = 5 + total // 50
    nodes: Sequence[str] = ()
    for site in world.sites:
        # It would find them silent by itself.
        site.plane.pause("kube-controller-manager")
        nodes = make(site.plane.api, total - sum(KUBELETS.values()))
        world.watch_over(site, nodes, seconds, "40%")
    world.crowd(nodes)
    world.until_all_is_well(total)
    return nodes, seconds


def _fail_alone(node: str, seconds: int, world: World, site: Site) -> float:
    began = time.monotonic()
    report(site.plane.api, [node], "Unknown")
    request = site.request_for(node)
    return world.until("the one is asked for", lambda: request in world.asked()) - began - seconds


def _recover(world: World, node: str, site: Site) -> float:
    began = time.monotonic()
    report(site.plane.api, [node], "True")
    request = site.request_for(node)
    return world.until("the one is withdrawn", lambda: request not in world.asked()) - began


def _seen_until(world: World, end: float) -> set[str]:
    """Whatever is asked for at any moment until then."""
    seen: set[str] = set()
    while time.monotonic() < end:
        seen |= world.asked()
        time.sleep(0.2)
    return seen


def _end(world: World, failing: Sequence[str]) -> set[str]:
    """All but one recover, which then is asked for; and then it does. What is asked for besides."""
    last, *others = failing
    for_each(world.sites, lambda site: report(site.plane.api, others, "True"))
    left = {site.request_for(last) for site in world.sites}
    seen: set[str] = set()

    def asked_for_those_left() -> bool:
        nonlocal seen
        now = world.asked()
        seen |= now
        return left <= now

    world.until("those that are left are asked for", asked_for_those_left)
    seen |= _seen_until(world, time.monotonic() + LONGER)
    for_each(world.sites, lambda site: report(site.plane.api, [last], "True"))
    world.until("the last are withdrawn", lambda: not world.asked() & left)
    return (seen - left) | world.asked()


def _hear_of_the_hung(world: World) -> str:
    world.until("something is said of the one that hangs", lambda: bool(world.said_of_the_hung()))
    return world.said_of_the_hung()
