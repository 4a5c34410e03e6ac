"""`kubectl mend explain` and `status` about Machines of Cluster API agree with the status that the checker
wrote.

The checker and the user each have only the rights that the chart grants.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from foreign_kinds.install import install as install_kinds
from installed.manifests import bind, install
from installed.programs import mend, start
from nodemend.api.meta import print_time
from tests.integration import machine_objects as played

pytestmark = pytest.mark.real

SPACE: Final = "default"
AT: Final = f"/apis/{played.CLUSTER_API}/namespaces/{SPACE}"
POOL: Final = {"pool": "workers"}
NAMES: Final = tuple(f"edge-{number}" for number in range(6))
TIMEOUT: Final = 5

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stage:
    plane: ControlPlane
    checker: Process
    viewer: Path

    def explain(self, *arguments: str) -> Object:
        shown = mend(self.viewer, "explain", *arguments, "-o", "json")
        assert shown.returncode == 0, shown.stderr
        view: Object = json.loads(shown.stdout)
        return view

    def status(self) -> Object:
        found: Object = self.plane.api.get(f"{AT}/machinehealthchecks/workers").get("status", {})
        return found

    def allowed(self) -> Object:
        """The condition that the checker wrote about the guard."""
        conditions = self.status().get("conditions", ())
        return next((one for one in conditions if one["type"] == "RemediationAllowed"), {})

    def marks(self, machine: str) -> Object:
        shown = self.plane.api.get(f"{AT}/machines/{machine}")["status"].get("conditions", ())
        return {one["type"]: one for one in shown}

    def fall_silent(self, node: str) -> None:
        """Write the condition as the node lifecycle controller would."""
        now = print_time(datetime.now(UTC))
        silent = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": ""}
        change = {"status": {"conditions": [{**silent, "lastTransitionTime": now}]}}
        self.plane.api.patch(f"/api/v1/nodes/{node}/status", change)

    def until(self, what: str, holds: Any) -> None:
        wait_until(what, holds, within=90.0, processes=[self.checker])


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with ControlPlane(API_SERVER_ALONE) as plane:
        install(plane, "machineHealthChecks.enabled=true")
        install_kinds(plane, "cluster-api")
        api = plane.api
        spec = {"mode": "Act", "minInterval": "1s", "settleTime": "1s", "maxUnhealthy": "100%"}
        policy = {"apiVersion": "nodemend.io/v1alpha1", "kind": "RemediationPolicy", "spec": spec}
        api.create({**policy, "metadata": {"name": "cluster"}})
        owner = played.add_cluster(api, SPACE)
        for name in NAMES:
            played.add_node(api, name)
            played.add_cluster_api_machine(api, SPACE, name, POOL, owner)
        conditions = [{"type": "Ready", "status": "Unknown", "timeoutSeconds": TIMEOUT}]
        check = {
            "clusterName": played.CLUSTER,
            "selector": {"matchLabels": POOL},
            "checks": {"unhealthyNodeConditions": conditions},
            "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": 2}},
        }
        claim = {"cluster.x-k8s.io/watch-filter": "nodemend"}
        api.create(played.a_thing(played.CLUSTER_API, "MachineHealthCheck", "workers", check, SPACE, claim))
        api.create(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "anna", "namespace": SPACE}}
        )
        bind(plane, "nodemend-viewer", SPACE, "anna")
        checker = start(plane, "nodemend-checker", "--machine-health-checks=on")
        yield Stage(plane, checker, plane.service_account_kubeconfig(SPACE, "anna"))


def answers(view: Object) -> dict[str, str]:
    return {question["key"]: question["answer"] for question in view["questions"]}


def test_the_answer_agrees_with_what_the_checker_wrote(stage: Stage) -> None:
    stage.until("all are healthy", lambda: stage.status().get("currentHealthy") == len(NAMES))
    healthy = stage.explain("machine/edge-0")
    assert (healthy["machine"], healthy["health"], healthy["held"]) == (f"{SPACE}/edge-0", "Healthy", None)

    stage.fall_silent("edge-0")
    stage.until("its owner is asked", lambda: "OwnerRemediated" in stage.marks("edge-0"))
    asked = stage.explain("machine/edge-0", "-n", SPACE)
    reported = {question["key"]: question["because"] for question in asked["questions"]}
    assert asked["headline"] == f"Machine {SPACE}/edge-0 is unhealthy. It is under remediation."
    assert f"({stage.marks('edge-0')['HealthCheckSucceeded']['reason']})" in reported["told"]
    assert f"({stage.marks('edge-0')['OwnerRemediated']['reason']})" in reported["remediating"]

    for name in ("edge-1", "edge-2", "edge-3"):
        stage.fall_silent(name)
    stage.until("the guard is closed", lambda: stage.allowed().get("reason") == "TooManyUnhealthy")
    stage.until(
        "all of them are told",
        lambda: stage.marks("edge-3").get("HealthCheckSucceeded", {}).get("status") == "False",
    )
    stage.until("all are counted", lambda: stage.status().get("currentHealthy") == len(NAMES) - 4)
    held = stage.explain("machine/edge-3")
    assert held["health"] == "Unhealthy"
    assert held["held"]["reason"] == stage.allowed()["reason"]
    assert f"{held['held']['sentence']} {held['held']['nextStep']}" == stage.allowed()["message"]
    assert answers(held)["allowed"] == "HOLD"
    assert "OwnerRemediated" not in stage.marks("edge-3")

    status = json.loads(mend(stage.viewer, "status", "-o", "json").stdout)
    (row,) = status["machineChecks"]
    assert (row["name"], row["targets"], row["healthy"]) == (f"{SPACE}/workers", len(NAMES), len(NAMES) - 4)
    assert row["allowed"] is False
    assert f"{SPACE}/edge-3" in [machine["machine"] for machine in status["machines"]]

    kept = stage.plane.api.get("/apis/nodemend.io/v1alpha1/remediationpolicies/cluster")["status"]
    assert [(one["machine"], one["kind"]) for one in kept["machineHistory"]] == [
        (f"{SPACE}/edge-0", "OwnerRemediation")
    ]
    assert {one["type"] for one in kept["conditions"]} == {"DryRun", "Paused", "Storm"}

    by_node = stage.explain("edge-3")
    assert (by_node["machine"], by_node["held"]) == (f"{SPACE}/edge-3", held["held"])


def test_a_check_of_another_project_is_distinguished(stage: Stage) -> None:
    path = f"{AT}/machinehealthchecks/workers"
    label = {"metadata": {"labels": {"cluster.x-k8s.io/watch-filter": None}}}
    stage.plane.api.patch(path, label)
    view = stage.explain("machine/edge-5")

    assert view["health"] == "Unwatched"
    assert (
        view["questions"][0]["because"] == "mhc/workers selects it, and another controller serves that check"
    )
    assert mend(stage.viewer, "explain", "machine/none").returncode == 1
