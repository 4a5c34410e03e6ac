"""Who is checked: nodes behind Machines of one project or another, or nodes alone. Requests look the same."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from controlplane.api import Api
from controlplane.run import ControlPlane
from tests.checks_e2e.world import Plan, Site, World, for_each
from tests.integration.furnished import CLAIM, MACHINES_ON, SPACE, TEMPLATE, furnish, start_checker
from tests.integration.played_machines import (
    CLUSTER,
    CLUSTER_API,
    OPENSHIFT,
    a_thing,
    add_cluster,
    add_cluster_api_machine,
    add_openshift_machine,
)

WORKERS: Final = {"pool": "workers"}


class Population(Protocol):
    """`check` is the path of its check."""

    @property
    def name(self) -> str: ...

    @property
    def check(self) -> str: ...

    def settle(self, api: Api, nodes: Sequence[str]) -> None:
        """Make what stands between these nodes and their check."""
        ...

    def watch_over(self, api: Api, seconds: int, most: str) -> None:
        """Make the check: a node is unhealthy when Unknown for so long, unless more than `most` are."""
        ...


@dataclass(frozen=True, slots=True)
class OneCluster:
    """A story of one cluster, which has everything."""

    population: Population

    @property
    def name(self) -> str:
        return self.population.name

    @contextmanager
    def world(self, plan: Plan) -> Iterator[World]:
        with ControlPlane(plan.settings) as plane:
            furnish(plane, "cluster-api", "openshift", settings=MACHINES_ON, **plan.policy)
            checker = start_checker(plane)
            nodes = plan.populate(plane, 1)
            self.population.settle(plane.api, nodes)
            self.population.watch_over(plane.api, plan.seconds, plan.most)
            site = Site(self.name, plane, nodes, self.population.check)
            yield World(plane, checker, [site], hang=lambda: None, said_of_the_hung=lambda: "nobody hangs")


@dataclass(frozen=True, slots=True)
class ClusterApiMachines:
    name: str = "Cluster API"
    check: str = f"/apis/{CLUSTER_API}/namespaces/{SPACE}/machinehealthchecks/workers"

    def settle(self, api: Api, nodes: Sequence[str]) -> None:
        owner = add_cluster(api, SPACE)
        for_each(nodes, lambda node: add_cluster_api_machine(api, SPACE, node, WORKERS, owner))

    def watch_over(self, api: Api, seconds: int, most: str) -> None:
        condition = {"type": "Ready", "status": "Unknown", "timeoutSeconds": seconds}
        spec = {
            "clusterName": CLUSTER,
            "selector": {"matchLabels": WORKERS},
            "checks": {"unhealthyNodeConditions": [condition]},
            "remediation": {"templateRef": TEMPLATE, "triggerIf": {"unhealthyLessThanOrEqualTo": most}},
        }
        api.create(a_thing(CLUSTER_API, "MachineHealthCheck", "workers", spec, SPACE, CLAIM))


@dataclass(frozen=True, slots=True)
class OpenShiftMachines:
    name: str = "OpenShift"
    check: str = f"/apis/{OPENSHIFT}/namespaces/{SPACE}/machinehealthchecks/workers"

    def settle(self, api: Api, nodes: Sequence[str]) -> None:
        for_each(nodes, partial(add_openshift_machine, api, SPACE, labels=WORKERS))

    def watch_over(self, api: Api, seconds: int, most: str) -> None:
        spec = {
            "selector": {"matchLabels": WORKERS},
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": f"{seconds}s"}],
            "maxUnhealthy": most,
            "remediationTemplate": {**TEMPLATE, "namespace": SPACE},
        }
        api.create(a_thing(OPENSHIFT, "MachineHealthCheck", "workers", spec, SPACE, CLAIM))


@dataclass(frozen=True, slots=True)
class NodesAlone:
    name: str = "no Machines"
    check: str = "/apis/nodemend.io/v1alpha1/nodehealthchecks/workers"

    def settle(self, api: Api, nodes: Sequence[str]) -> None:
        """There is nothing between a node and its check."""

    def watch_over(self, api: Api, seconds: int, most: str) -> None:
        spec = {
            "selector": {},
            "thresholds": [
                {"type": "Ready", "status": "Unknown", "period": f"{seconds}s", "acceptShortPeriod": True}
            ],
            "maxUnhealthy": most,
            "healthyDelay": "1s",
            "remedies": [{"template": {**TEMPLATE, "namespace": SPACE}}],
        }
        named = {"apiVersion": "nodemend.io/v1alpha1", "kind": "NodeHealthCheck"}
        api.create({**named, "metadata": {"name": "workers"}, "spec": spec})


POPULATIONS: Final[tuple[Population, ...]] = (ClusterApiMachines(), OpenShiftMachines(), NodesAlone())
