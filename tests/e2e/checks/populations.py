"""Checked targets: nodes behind Machines of one project or another, or nodes alone. Requests are the same."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from controlplane.api import Api
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from tests.e2e.checks.world import PACE, Population, Site, World, for_each
from tests.integration.checker_setup import CLAIM, MACHINES_ON, SPACE, TEMPLATE, furnish, start_checker
from tests.integration.machine_objects import OPENSHIFT, a_thing, add_openshift_machine, provider_id
from tests.integration.workload_cluster_objects import (
    add_check,
    add_cluster,
    add_machine,
    check_of,
    machine_of,
)

WORKERS: Final = {"pool": "workers"}


@dataclass(frozen=True, slots=True)
class OneCluster:
    """A story with a single cluster for all objects."""

    population: Population
    clusters: int = 1

    @property
    def name(self) -> str:
        return self.population.name

    @contextmanager
    def world(self) -> Iterator[World]:
        with ControlPlane(Settings(scheduler=False)) as plane:
            furnish(plane, "cluster-api", "openshift", settings=MACHINES_ON, **PACE)
            checker = start_checker(plane)
            self.population.found(plane.api, plane)
            sites = [Site(plane, self.population)]
            yield World(plane, checker, sites, lambda: None, lambda _nodes: None, lambda: "nobody hangs")


@dataclass(frozen=True, slots=True)
class ClusterApiMachines:
    name: str = "Cluster API"
    cluster: str = "main"

    @property
    def check(self) -> str:
        return check_of(self.cluster)

    def request_for(self, node: str) -> str:
        return machine_of(self.cluster, node)

    def found(self, api: Api, plane: ControlPlane) -> None:
        add_cluster(api, self.cluster, plane)

    def settle(self, api: Api, nodes: Sequence[str]) -> None:
        for_each(nodes, lambda node: add_machine(api, self.cluster, node, provider_id(node)))

    def watch_over(self, api: Api, seconds: int, most: str) -> None:
        add_check(api, self.cluster, seconds, most)


@dataclass(frozen=True, slots=True)
class OpenShiftMachines:
    name: str = "OpenShift"
    check: str = f"/apis/{OPENSHIFT}/namespaces/{SPACE}/machinehealthchecks/workers"

    def request_for(self, node: str) -> str:
        return node

    def found(self, api: Api, plane: ControlPlane) -> None:
        """Machines are in their own cluster."""

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

    def request_for(self, node: str) -> str:
        return node

    def found(self, api: Api, plane: ControlPlane) -> None:
        """There are only nodes."""

    def settle(self, api: Api, nodes: Sequence[str]) -> None:
        """There are no objects between a node and its check."""

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
