"""What a story is told in: nodes under checks, the running checker, and what it has asked for."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from controlplane.api import Api, Object
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from tests.integration.furnished import asked_for

T = TypeVar("T")
R = TypeVar("R")

HANDS = 8
"""Requests at once, of whoever plays nodes."""
PATIENCE = 120.0
APART = 4.0
"""Seconds. A node turns Unknown to the second or so, and remediations begin a second apart."""


@dataclass(frozen=True, slots=True)
class Site:
    """The nodes of one cluster, under one check."""

    name: str
    plane: ControlPlane
    """Where the Nodes are."""
    nodes: Sequence[str]
    check: str
    """Its path in the management cluster."""
    prefix: str = ""
    """What is asked for a node is called so, and then like the node."""

    def request_for(self, node: str) -> str:
        return f"{self.prefix}{node}"


@dataclass(frozen=True, slots=True)
class World:
    management: ControlPlane
    checker: Process
    sites: Sequence[Site]
    """Those that live."""
    hang: Callable[[], None]
    """What must harm nobody: called before anything else happens."""
    said_of_the_hung: Callable[[], str]
    """Empty until something is said."""

    def asked(self) -> set[str]:
        return set(asked_for(self.management))

    def status(self, site: Site) -> Object:
        found: Object = self.management.api.get(site.check).get("status", {})
        return found

    def allows(self, site: Site) -> str:
        """What the check says of itself: True, False, or nothing yet."""
        shown = {one["type"]: one["status"] for one in self.status(site).get("conditions", ())}
        return str(shown.get("RemediationAllowed", ""))

    def until(self, what: str, holds: Callable[[], bool], within: float = PATIENCE) -> float:
        """Returns when it did, by the monotonic clock."""
        wait_until(what, holds, within=within, processes=[self.checker])
        return time.monotonic()

    def until_all_is_well(self) -> None:
        """Everybody is counted, and the checker trusts what it sees."""
        for site in self.sites:
            self.until(f"all of {site.name} are seen, and may be helped", partial(self._is_well, site))

    def in_turn(self, do: Callable[["World", Site], float]) -> float:
        """The most of what it gives for each site, begun so far apart that pacing holds none of them up."""

        def do_later(numbered: tuple[int, Site]) -> float:
            number, site = numbered
            time.sleep(number * APART)
            return do(self, site)

        return max(for_each(enumerate(self.sites), do_later))

    def until_held(self) -> None:
        """Every check says that nothing may begin."""
        for site in self.sites:
            self.until(f"the guard of {site.name} is closed", partial(self._is_held, site))

    def _is_held(self, site: Site) -> bool:
        return self.allows(site) == "False"

    def _is_well(self, site: Site) -> bool:
        status = self.status(site)
        seen = len(site.nodes) in (status.get("expectedMachines"), status.get("targets"))
        return seen and self.allows(site) == "True"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a world is to be made. `populate` makes the nodes of one of so many clusters, and names them."""

    settings: Settings
    """Of the control planes that have the nodes."""
    seconds: int
    """For which a node must be Unknown."""
    most: str
    """Above which nothing begins."""
    settle_time: str
    populate: Callable[[ControlPlane, int], Sequence[str]]

    @property
    def policy(self) -> dict[str, Any]:
        return {"minInterval": "1s", "settleTime": self.settle_time}


class Story(Protocol):
    @property
    def name(self) -> str: ...

    def world(self, plan: Plan) -> AbstractContextManager[World]: ...


def for_each(things: Iterable[T], do: Callable[[T], R]) -> list[R]:
    """At once, as far as there are hands."""
    with ThreadPoolExecutor(HANDS) as hands:
        return list(hands.map(do, things))


def ready(api: Api, node: str) -> str:
    conditions = api.get(f"/api/v1/nodes/{node}")["status"]["conditions"]
    return next(str(one["status"]) for one in conditions if one["type"] == "Ready")
