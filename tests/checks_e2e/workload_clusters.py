"""Three workload clusters with an API server each, one of which hangs. Their nodes are called alike."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from tests.checks_e2e.played_nodes import make
from tests.checks_e2e.world import Plan, Site, World, for_each
from tests.integration.furnished import CLUSTERS_ON, furnish, start_checker
from tests.integration.played_machines import provider_id, show
from tests.integration.played_workload_clusters import (
    add_check,
    add_cluster,
    add_machine,
    check_of,
    machine_of,
)

LIVING: Final = ("a", "c")
HUNG: Final = "b"
IN_THE_HUNG: Final = 4
WORDS: Final = "its API server does not answer"


@dataclass(frozen=True, slots=True)
class ThreeClusters:
    name: str = "3 workload clusters"

    @contextmanager
    def world(self, plan: Plan) -> Iterator[World]:
        with ExitStack() as planes:
            management = planes.enter_context(ControlPlane(API_SERVER_ALONE))
            furnish(management, "cluster-api", settings=CLUSTERS_ON, **plan.policy)
            checker = start_checker(management, workload_clusters=True)
            hung = planes.enter_context(ControlPlane(API_SERVER_ALONE))
            # A stopped process cannot be asked to end.
            planes.callback(hung.resume, "kube-apiserver")
            sick = make(hung.api, IN_THE_HUNG)
            dead = _site(management, HUNG, hung, sick, plan)
            living = [planes.enter_context(ControlPlane(plan.settings)) for _ in LIVING]
            sites = [
                _site(management, name, plane, plan.populate(plane, 3), plan)
                for name, plane in zip(LIVING, living, strict=True)
            ]
            yield World(
                management,
                checker,
                sites,
                hang=partial(_hang, hung, sick[0]),
                said_of_the_hung=partial(_said_of, management, dead),
            )


def _site(management: ControlPlane, name: str, plane: ControlPlane, nodes: Sequence[str], plan: Plan) -> Site:
    api = management.api
    add_cluster(api, name, plane)
    for_each(nodes, lambda node: add_machine(api, name, node, provider_id(node)))
    add_check(api, name, plan.seconds, plan.most)
    return Site(name, plane, nodes, check_of(name), machine_of(name, ""))


def _hang(plane: ControlPlane, node: str) -> None:
    """With a node that has just turned Unknown: nothing must come of it."""
    show(plane.api, node, "Unknown")
    plane.pause("kube-apiserver")


def _said_of(management: ControlPlane, site: Site) -> str:
    conditions = management.api.get(site.check).get("status", {}).get("conditions", ())
    shown = {one["type"]: one for one in conditions}.get("RemediationAllowed", {})
    message = str(shown.get("message", ""))
    return message if shown.get("status") == "False" and WORDS in message else ""
