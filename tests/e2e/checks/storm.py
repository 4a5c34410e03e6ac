"""Most nodes turn Unknown at once: no request is created; afterwards only for still unhealthy nodes."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Final

from tests.e2e.checks.node_objects import make, report
from tests.e2e.checks.silence import KUBELETS
from tests.e2e.checks.world import Site, World, for_each

LONGER: Final = 6.0
"""Seconds to watch for requests that must not appear."""


@dataclass(frozen=True, slots=True)
class Storm:
    """Of `total` nodes `failed` did; `asked` are the requests that came meanwhile, `stale` those after it."""

    total: int
    failed: int
    asked: frozenset[str]
    stale: frozenset[str]
    late: float
    """Delay of a single node's request after its deadline, before the storm, with all other nodes present."""
    withdrawn: float
    """Seconds until that request was deleted after its node came back, in the storm."""
    closed_after: float
    """Seconds from the first failure until the check reports that it holds."""
    said_of_the_hung: str


def rage(world: World, total: int, undisturbed: Callable[[], AbstractContextManager[None]]) -> Storm:
    """With this many nodes in each cluster; within `undisturbed` no other story keeps the machine busy."""
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
    """Create nodes without kubelets in every cluster alike; return their names and the check's period.

    The period is long enough to let all of them fail.
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
    """All requests that exist at any time until then."""
    seen: set[str] = set()
    while time.monotonic() < end:
        seen |= world.asked()
        time.sleep(0.2)
    return seen


def _end(world: World, failing: Sequence[str]) -> set[str]:
    """All but one recover; that one gets a request, and then recovers. Returns any other requests."""
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
