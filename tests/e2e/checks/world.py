"""The environment of a story: nodes under checks, the running checker, and its requests."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, TypeVar

from controlplane.api import Api, Object
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.waiting import wait_until
from tests.integration.checker_setup import asked_for

T = TypeVar("T")
R = TypeVar("R")

HANDS: Final = 8
"""The number of concurrent requests that fake the nodes."""
PATIENCE: Final = 120.0
APART: Final = 4.0
"""Seconds. Nodes turn Unknown with a precision of about a second, and remediations start a second apart."""
POLICY: Final = "/apis/nodemend.io/v1alpha1/remediationpolicies/cluster"
PACE: Final = {"minInterval": "1s", "settleTime": "5s"}


class Population(Protocol):
    """The checked targets, and their check. `check` is the path of the check."""

    @property
    def name(self) -> str: ...

    @property
    def check(self) -> str: ...

    def request_for(self, node: str) -> str:
        """The name of a node's request."""
        ...

    def found(self, api: Api, plane: ControlPlane) -> None:
        """Create the shared objects once. `plane` has the nodes."""
        ...

    def settle(self, api: Api, nodes: Sequence[str]) -> None:
        """Create the objects between these nodes and their check."""
        ...

    def watch_over(self, api: Api, seconds: int, most: str) -> None:
        """Create the check: nodes Unknown for `seconds` are unhealthy, unless more than `most` are."""
        ...


@dataclass(frozen=True, slots=True)
class Site:
    """The nodes of one cluster, under one check."""

    plane: ControlPlane
    """The control plane with the Nodes."""
    who: Population

    def request_for(self, node: str) -> str:
        return self.who.request_for(node)


@dataclass(frozen=True, slots=True)
class World:
    management: ControlPlane
    checker: Process
    sites: Sequence[Site]
    """The clusters that work."""
    hang: Callable[[], None]
    """Hang a cluster, which must not affect the others: called before anything else happens."""
    crowd: Callable[[Sequence[str]], None]
    """Pretend that the hanging cluster has these nodes, too."""
    said_of_the_hung: Callable[[], str]
    """The report about the hanging cluster; empty until there is one."""

    def asked(self) -> set[str]:
        return set(asked_for(self.management))

    def watch_over(self, site: Site, nodes: Sequence[str], seconds: int, most: str) -> None:
        """Select these nodes too, by a new check."""
        api = self.management.api
        api.delete(site.who.check)
        site.who.settle(api, nodes)
        site.who.watch_over(api, seconds, most)

    def until(self, what: str, holds: Callable[[], bool], within: float = PATIENCE) -> float:
        """Wait, and return the time of the monotonic clock."""
        wait_until(what, holds, within=within, processes=[self.checker])
        return time.monotonic()

    def until_all_is_well(self, count: int) -> None:
        """Wait until this many nodes are counted as healthy in each cluster, and the checker may act."""
        for site in self.sites:
            what = f"{count} of {site.who.name} are seen, and may be helped"
            self.until(what, partial(self._is_well, site, count))

    def until_held(self, why: str) -> None:
        """Wait until every check reports that nothing may start, for this reason."""
        for site in self.sites:
            self.until(f"the guard of {site.who.name} says {why}", partial(self._is_held, site, why))

    def in_turn(self, do: Callable[["World", Site], float]) -> float:
        """Run it for each site and return the largest result; the start times are far enough apart for the
        start interval.
        """

        def do_later(numbered: tuple[int, Site]) -> float:
            number, site = numbered
            time.sleep(number * APART)
            return do(self, site)

        return max(for_each(enumerate(self.sites), do_later))

    def _status(self, site: Site) -> Object:
        found: Object = self.management.api.get(site.who.check).get("status", {})
        return found

    def _is_well(self, site: Site, count: int) -> bool:
        status = self._status(site)
        seen = count in (status.get("expectedMachines"), status.get("targets"))
        return seen and _allowed(status).get("status") == "True"

    def _is_held(self, site: Site, why: str) -> bool:
        said = _allowed(self._status(site))
        return (said.get("status"), said.get("reason")) == ("False", why)


class Story(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def clusters(self) -> int:
        """The number of clusters that share the nodes."""
        ...

    def world(self) -> AbstractContextManager[World]:
        """A world with a running checker, and without any live node."""
        ...


def _allowed(status: Object) -> Object:
    """The condition RemediationAllowed of a check; empty before it is written."""
    shown = {one["type"]: one for one in status.get("conditions", ())}
    found: Object = shown.get("RemediationAllowed", {})
    return found


def for_each(things: Iterable[T], do: Callable[[T], R]) -> list[R]:
    """Run for all, with bounded concurrency."""
    with ThreadPoolExecutor(HANDS) as hands:
        return list(hands.map(do, things))
