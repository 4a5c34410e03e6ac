"""Three workload clusters with an API server each, one of which hangs. Their nodes are called alike."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE, Settings
from tests.e2e.checks.populations import ClusterApiMachines
from tests.e2e.checks.world import PACE, Site, World, for_each
from tests.integration.checker_setup import CLUSTERS_ON, furnish, start_checker
from tests.integration.machine_objects import add_node, show

LIVING: Final = ("a", "c")
HUNG: Final = "b"
SICK: Final = "sick"
"""A node of the one that hangs."""
WORDS: Final = "its API server does not answer"


@dataclass(frozen=True, slots=True)
class ThreeClusters:
    name: str = "3 workload clusters"
    clusters: int = 3

    @contextmanager
    def world(self) -> Iterator[World]:
        with ExitStack() as planes:
            settings = (API_SERVER_ALONE, API_SERVER_ALONE, *(Settings(scheduler=False) for _ in LIVING))
            management, hung, *living = for_each(
                settings, lambda one: planes.enter_context(ControlPlane(one))
            )
            furnish(management, "cluster-api", settings=CLUSTERS_ON, **PACE)
            checker = start_checker(management, workload_clusters=True)
            sites = [_site(management, *named) for named in zip(LIVING, living, strict=True)]
            dead = _site(management, HUNG, hung)
            add_node(hung.api, SICK)
            dead.who.settle(management.api, [SICK])
            dead.who.watch_over(management.api, 5, "100%")
            yield World(
                management,
                checker,
                sites,
                hang=partial(_hang, hung),
                crowd=partial(dead.who.settle, management.api),
                said_of_the_hung=partial(_said_of, management, dead),
            )


def _site(management: ControlPlane, name: str, plane: ControlPlane) -> Site:
    who = ClusterApiMachines(f"cluster {name}", name)
    who.found(management.api, plane)
    return Site(plane, who)


def _hang(plane: ControlPlane) -> None:
    """With a node that has just turned Unknown: nothing must come of it."""
    show(plane.api, SICK, "Unknown")
    plane.pause("kube-apiserver")


def _said_of(management: ControlPlane, site: Site) -> str:
    conditions = management.api.get(site.who.check).get("status", {}).get("conditions", ())
    shown = {one["type"]: one for one in conditions}.get("RemediationAllowed", {})
    message = str(shown.get("message", ""))
    return message if shown.get("status") == "False" and WORDS in message else ""
