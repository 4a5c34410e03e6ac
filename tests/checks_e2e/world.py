"""What a story is told in: nodes under checks, the running checker, and what it has asked for."""

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
from tests.integration.furnished import asked_for

T = TypeVar("T")
R = TypeVar("R")

HANDS: Final = 8
"""Requests at once, of whoever plays nodes."""
PATIENCE: Final = 120.0
APART: Final = 4.0
"""Seconds. A node turns Unknown to the second or so, and remediations begin a second apart."""
POLICY: Final = "/apis/nodemend.io/v1alpha1/remediationpolicies/cluster"
PACE: Final = {"minInterval": "1s", "settleTime": "5s"}


class Population(Protocol):
    """Who is checked, and how. `check` is the path of the check."""

    @property
    def name(self) -> str: ...

    @property
    def check(self) -> str: ...

    def request_for(self, node: str) -> str:
        """The name of what is asked for a node."""
        ...

    def found(self, api: Api, plane: ControlPlane) -> None:
        """Make what is needed once. `plane` has the nodes."""
        ...

    def settle(self, api: Api, nodes: Sequence[str]) -> None:
        """Make what stands between these nodes and their check."""
        ...

    def watch_over(self, api: Api, seconds: int, most: str) -> None:
        """Make the check: a node is unhealthy when Unknown for so long, unless more than `most` are."""
        ...


@dataclass(frozen=True, slots=True)
class Site:
    """The nodes of one cluster, under one check."""

    plane: ControlPlane
    """Where the Nodes are."""
    who: Population

    def request_for(self, node: str) -> str:
        return self.who.request_for(node)


@dataclass(frozen=True, slots=True)
class World:
    management: ControlPlane
    checker: Process
    sites: Sequence[Site]
    """Those that live."""
    hang: Callable[[], None]
    """What must harm nobody: called before anything else happens."""
    crowd: Callable[[Sequence[str]], None]
    """The one that hangs is said to have these nodes too."""
    said_of_the_hung: Callable[[], str]
    """Empty until something is said."""

    def asked(self) -> set[str]:
        return set(asked_for(self.management))

    def watch_over(self, site: Site, nodes: Sequence[str], seconds: int, most: str) -> None:
        """These nodes too, by a new check."""
        api = self.management.api
        api.delete(site.who.check)
        site.who.settle(api, nodes)
        site.who.watch_over(api, seconds, most)

    def until(self, what: str, holds: Callable[[], bool], within: float = PATIENCE) -> float:
        """Returns when it did, by the monotonic clock."""
        wait_until(what, holds, within=within, processes=[self.checker])
        return time.monotonic()

    def until_all_is_well(self, count: int) -> None:
        """So many are counted in each cluster, and the checker trusts what it sees."""
        for site in self.sites:
            what = f"{count} of {site.who.name} are seen, and may be helped"
            self.until(what, partial(self._is_well, site, count))

    def until_held(self, why: str) -> None:
        """Every check says that nothing may begin, for this reason."""
        for site in self.sites:
            self.until(f"the guard of {site.who.name} says {why}", partial(self._is_held, site, why))

    def in_turn(self, do: Callable[["World", Site], float]) -> float:
        """The most of what it gives for each site, begun so far apart that pacing holds none of them up."""

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
        """Among which the nodes are divided."""
        ...

    def world(self) -> AbstractContextManager[World]:
        """With a running checker, and without any node that lives."""
        ...


def _allowed(status: Object) -> Object:
    """What a check says of itself; empty while it says nothing."""
    shown = {one["type"]: one for one in status.get("conditions", ())}
    found: Object = shown.get("RemediationAllowed", {})
    return found


def for_each(things: Iterable[T], do: Callable[[T], R]) -> list[R]:
    """At once, as far as there are hands."""
    with ThreadPoolExecutor(HANDS) as hands:
        return list(hands.map(do, things))
