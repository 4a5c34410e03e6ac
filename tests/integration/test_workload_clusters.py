"""Three real workload API servers behind Cluster API's Secrets, one of which hangs: the others are served.

The management cluster has Cluster API's own definitions, and the checker runs under its own account, with the
rights that the chart grants.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

import pytest

from controlplane.api import Object
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from tests.integration.checker_setup import CLUSTERS_ON, asked_for, furnish, start_checker
from tests.integration.machine_objects import add_node, provider_id, show
from tests.integration.workload_cluster_objects import AT, add_check, add_cluster, add_machine, check_of

pytestmark = pytest.mark.real

NAMES: Final = ("a", "b", "c")
NODES: Final = ("0", "1", "2")
"""The nodes of every cluster, with the same names."""
TIMEOUT: Final = 40


@dataclass(frozen=True, slots=True)
class ClusterStage:
    management: ControlPlane
    clusters: dict[str, ControlPlane]
    checker: Process

    def status(self, cluster: str) -> Object:
        found: Object = self.management.api.get(check_of(cluster)).get("status", {})
        return found

    def healthy(self, cluster: str) -> int | None:
        return self.status(cluster).get("currentHealthy")

    def allowed(self, cluster: str) -> tuple[str, str]:
        """The status and message of its RemediationAllowed condition."""
        shown = {one["type"]: one for one in self.status(cluster).get("conditions", ())}
        condition = shown.get("RemediationAllowed", {})
        return condition.get("status", ""), condition.get("message", "")

    def is_all_healthy(self, cluster: str) -> bool:
        return self.healthy(cluster) == len(NODES) and self.allowed(cluster)[0] == "True"

    def marks(self, machine: str) -> Object:
        shown = self.management.api.get(f"{AT}/machines/{machine}")["status"].get("conditions", ())
        return {one["type"]: one["status"] for one in shown}

    def until(self, what: str, holds: Callable[[], bool], within: float) -> None:
        wait_until(what, holds, within=within, processes=[self.checker])

    def until_asked_for(self, what: str, *machines: str, within: float) -> None:
        self.until(what, lambda: asked_for(self.management) == list(machines), within)


@pytest.fixture(scope="module")
def cluster_stage() -> Iterator[ClusterStage]:
    with ExitStack() as planes:
        management, *others = (planes.enter_context(ControlPlane(API_SERVER_ALONE)) for _ in range(4))
        clusters = dict(zip(NAMES, others, strict=True))
        policy = {"minInterval": "1s", "settleTime": "1s", "maxUnhealthy": "100%"}
        furnish(management, "cluster-api", settings=CLUSTERS_ON, **policy)
        for name, plane in clusters.items():
            add_cluster(management.api, name, plane)
            for node in NODES:
                add_node(plane.api, node)
                add_machine(management.api, name, node, provider_id(node))
            add_check(management.api, name, TIMEOUT)
        checker = start_checker(management, workload_clusters=True)
        # A stopped process cannot be terminated.
        planes.callback(clusters["b"].resume, "kube-apiserver")
        yield ClusterStage(management, clusters, checker)


def test_one_hanging_cluster_of_three_is_left_alone_and_the_others_are_served(
    cluster_stage: ClusterStage,
) -> None:
    for name in NAMES:
        cluster_stage.until(
            f"all of {name} is healthy", partial(cluster_stage.is_all_healthy, name), within=120.0
        )
    cluster_stage.until(
        "that is marked", lambda: "HealthCheckSucceeded" in cluster_stage.marks("b-1"), within=60.0
    )
    before = cluster_stage.marks("b-1")

    for name in NAMES:
        show(cluster_stage.clusters[name].api, "1", "Unknown")
    cluster_stage.until("it is seen in b", lambda: cluster_stage.healthy("b") == 2, within=TIMEOUT - 10)
    cluster_stage.clusters["b"].pause("kube-apiserver")
    cluster_stage.until_asked_for("the others have theirs", "a-1", "c-1", within=TIMEOUT + 60)

    def says_why() -> bool:
        allowed, message = cluster_stage.allowed("b")
        return allowed == "False" and "its API server does not answer" in message

    cluster_stage.until("the check of the one that hangs says why", says_why, within=180.0)
    cluster_stage.until(
        "what is counted", lambda: [cluster_stage.healthy(name) for name in NAMES] == [2, 0, 2], within=60.0
    )
    assert asked_for(cluster_stage.management) == ["a-1", "c-1"]
    assert cluster_stage.marks("b-1") == before

    cluster_stage.clusters["b"].resume("kube-apiserver")
    within = TIMEOUT + 180
    cluster_stage.until_asked_for("it is served when it is back", "a-1", "b-1", "c-1", within=within)
