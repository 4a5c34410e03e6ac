"""Cluster API's own manager, under its own account: its MachineHealthCheck creates remediations."""

import json
import time
from pathlib import Path
from typing import Any, Final

from cluster_api import fake_providers, manifests, own_account
from cluster_api.run import ClusterApi
from machine_room.hosts import NAMESPACE as HOSTS
from nodemend.api import well_known
from tests.e2e.power.node_pair import Cell, groups_of
from tests.e2e.power.real_cluster import TEMPLATES, Stage, open_stage
from tests.e2e.power.round import Round, WrongError

CELL: Final = "capi"
CHART: Final = ("powerCycle.askedBy.clusterApi=true",)
POOL: Final = {"pool": "capi"}
SPACE: Final = manifests.NAMESPACE
REMEDIATIONS: Final = f"/apis/{TEMPLATES}/namespaces/{SPACE}/metal3remediations"
USER: Final = f"system:serviceaccount:{own_account.NAMESPACE}:{own_account.ACCOUNT}"
UNHEALTHY_AFTER: Final = 5


def play(program: Path, rounds: int) -> str:
    """Raises the exception of a failed round. Returns the result as text."""
    with open_stage(groups_of(CELL), chart=CHART) as stage:
        manager = ClusterApi(stage.plane, program, kubeconfig=own_account.make(stage.plane))
        stage.start_remediator()
        cell = Cell(stage, CELL, remediations=REMEDIATIONS)
        cell.furnish_workload()
        for node in cell.nodes:
            _enrol(stage, manager, node)
        manager.wait_for_nodes(cell.nodes)
        stage.plane.api.create(_template())
        check = manifests.check("pool", POOL, timeout=UNHEALTHY_AFTER, most=2, template=TEMPLATES)
        stage.plane.api.create(check)
        manager.wait_healthy("pool", len(cell.nodes))
        took = [_play_round(cell) for _ in range(rounds)]
        _nothing_was_refused(stage.plane.directory / "audit.log")
        return f"Cluster API's manager: {rounds} healed, the last {took[-1]:.0f} s after its silence"


def _play_round(cell: Cell) -> float:
    round_ = Round.begin(cell)
    round_.fall_silent()
    asked = cell.remediation(round_.node) or {"metadata": {}}
    owner = asked["metadata"]["ownerReferences"][0]
    round_.expect("it is its Machine's", seen=(owner["kind"], owner["name"]) == ("Machine", round_.node))
    round_.until_healed()
    round_.evaluate()
    print(f"{time.time() - round_.since:6.1f} s  {round_.node} is healed", flush=True)
    return time.time() - round_.since


def _enrol(stage: Stage, manager: ClusterApi, node: str) -> None:
    """Create the objects as metal3's provider leaves them: a Metal3Machine and its host, which name one
    another.
    """
    provider_id = stage.plane.api.get(f"/api/v1/nodes/{node}")["spec"]["providerID"]
    machine = fake_providers.machine(node, SPACE, provider_id, "Metal3Machine")
    machine["metadata"]["annotations"] = {well_known.HOST_OF_MACHINE: f"{HOSTS}/{node}"}
    manager.add_machine(node, POOL, machine)
    consumer = {
        "apiVersion": machine["apiVersion"],
        "kind": "Metal3Machine",
        "name": node,
        "namespace": SPACE,
    }
    stage.room.change_host(node, {"spec": {"consumerRef": consumer}})


def _template() -> dict[str, Any]:
    spec = {"powerOffTimeoutSeconds": 60, "powerOnTimeoutSeconds": 120}
    return {
        "apiVersion": TEMPLATES,
        "kind": "Metal3RemediationTemplate",
        "metadata": {"name": manifests.TEMPLATE, "namespace": SPACE},
        "spec": {"template": {"spec": spec}},
    }


def _nothing_was_refused(audit: Path) -> None:
    """The shipped role is sufficient: no request for Nodemend's kinds was forbidden to the manager."""
    for line in audit.read_text().splitlines():
        entry = json.loads(line)
        about = entry.get("objectRef", {})
        if entry["user"].get("username") == USER and about.get("apiGroup", "") == "remediation.metal3.io":
            code = entry.get("responseStatus", {}).get("code", 0)
            if code == 403:
                raise WrongError(f"{entry['verb']} {about.get('resource')} was forbidden to {USER}")
