"""medik8s: the recorded writes of its NodeHealthCheck operator, with the shipped rights."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

from controlplane.api import Api, Object
from controlplane.node_objects import condition
from controlplane.run import ControlPlane
from controlplane.waiting import wait_until
from foreign_kinds.install import install as install_kinds
from installed.manifests import bind
from nodemend.api.well_known import SYSTEM_NAMESPACE
from tests.e2e.power.node_pair import Cell, groups_of
from tests.e2e.power.real_cluster import TEMPLATES, Stage, open_stage
from tests.e2e.power.round import Round

RECORDED: Final = yaml.safe_load((Path(__file__).parent / "recorded.yaml").read_text())
CELL: Final = "nhc"
CHECK: Final = "main"
SPACE: Final = "medik8s"
ACCOUNT: Final = "node-healthcheck-controller-manager"
AGGREGATE: Final = {"rbac.ext-remediation/aggregate-to-ext-remediation": "true"}
CHART: Final = ("powerCycle.askedBy.medik8s=true",)
ROLE: Final = "node-healthcheck-operator-aggregation"
_RBAC: Final = "rbac.authorization.k8s.io/v1"


class Operator:
    """The operator's writes for one failure of one node, step by step."""

    def __init__(self, stage: Stage, api: Api, round_: Round, check: str) -> None:
        self._api = api
        self._round = round_
        words = {"NODE": round_.node, "CHECK": CHECK, "TEMPLATE": "power-cycle", "UID": check}
        lease, made = (_filled(RECORDED[part], words) for part in ("lease", "object"))
        self._lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **lease}
        spec = stage.plane.api.get(
            f"/apis/{TEMPLATES}/namespaces/{SYSTEM_NAMESPACE}/metal3remediationtemplates/power-cycle"
        )["spec"]["template"]["spec"]
        self._object = {"apiVersion": TEMPLATES, "kind": "Metal3Remediation", "spec": spec, **made}
        self._object["metadata"]["namespace"] = SYSTEM_NAMESPACE

    def play(self, steps: list[str]) -> None:
        does: dict[str, Callable[[], Any]] = {
            "create lease": lambda: self._api.create(self._lease),
            "create object": lambda: self._api.create(self._object),
            "annotate object": self._time_out,
            "node ready": self._until_ready,
            "delete object": lambda: self._api.delete(self._path),
            "delete lease": self._end,
        }
        for step in steps:
            does[step]()

    @property
    def _path(self) -> str:
        return f"{self._round.cell.remediations}/{self._round.node}"

    def _time_out(self) -> None:
        """The check's timeout expires while the host does not power off: the remediation must stop."""
        self._round.until_held()
        reported = {RECORDED["timed_out"]: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        self._api.patch(self._path, {"metadata": {"annotations": reported}})
        self._round.until_phase("failed")
        self._round.cell.until("it lets go of the host", lambda: not self._round.cell.held(self._round.node))
        self._round.nothing_is_released()
        self._round.cell.mend_cable(self._round.node)

    def _until_ready(self) -> None:
        """Wait for a new boot if it was healed; the operator checks nothing else."""
        cell, node = self._round.cell, self._round.node

        def ready() -> bool:
            found = cell.node(node)
            return found is not None and condition(found, "Ready") == "True"

        cell.until("the node is not Ready", lambda: not ready())
        cell.until("the node is Ready", ready, 180.0)

    def _end(self) -> None:
        cell, node = self._round.cell, self._round.node
        cell.until("the object is gone", lambda: cell.remediation(node) is None)
        meta = self._lease["metadata"]
        self._api.delete(f"/apis/coordination.k8s.io/v1/namespaces/{meta['namespace']}/leases/{meta['name']}")


def play() -> str:
    with open_stage(groups_of(CELL), chart=CHART) as stage:
        stage.start_remediator()
        api = _settle(stage.plane)
        uid = stage.plane.api.create(_check())["metadata"]["uid"]
        cell = Cell(stage, CELL)
        cell.furnish_workload()
        for name, steps in RECORDED["scenarios"].items():
            round_ = Round.begin(cell)
            chassis = stage.room.computer(round_.node).chassis
            chassis.faults.off_ignored = "annotate object" in steps
            cell.cut(round_.node)
            cell.until("it is missed", lambda: not cell.is_whole())
            Operator(stage, api, round_, uid).play(steps)
            chassis.faults.off_ignored = False
            round_.until_over()
            round_.evaluate()
            print(
                f"{time.time() - round_.since:6.1f} s  medik8s, {name}: {len(round_.releases())} released",
                flush=True,
            )
    return f"medik8s: {len(RECORDED['scenarios'])} recorded flows"


def _settle(plane: ControlPlane) -> Api:
    """Create its kinds, its namespaces, its account, and the role that it creates at its start."""
    install_kinds(plane, "medik8s")
    for name in (SPACE, "medik8s-leases"):
        plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    account = {"name": ACCOUNT, "namespace": SPACE}
    plane.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    selectors = {"clusterRoleSelectors": [{"matchLabels": AGGREGATE}]}
    role = {"apiVersion": _RBAC, "kind": "ClusterRole", "rules": []}
    plane.api.create({**role, "metadata": {"name": ROLE}, "aggregationRule": selectors})
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "delete"]}
    plane.api.create({**role, "metadata": {"name": "nhc-leases"}, "rules": [leases]})
    for name in (ROLE, "nhc-leases"):
        bind(plane, name, SPACE, ACCOUNT)
    path = f"/apis/{_RBAC}/clusterroles/{ROLE}"
    wait_until("its rights are gathered", lambda: bool(plane.api.get(path).get("rules")), within=60)
    return plane.client_with(plane.service_account_token(SPACE, ACCOUNT))


def _check() -> Object:
    template = {"apiVersion": TEMPLATES, "kind": "Metal3RemediationTemplate", "name": "power-cycle"}
    return {
        "apiVersion": "remediation.medik8s.io/v1alpha1",
        "kind": "NodeHealthCheck",
        "metadata": {"name": CHECK},
        "spec": {
            "selector": {"matchLabels": {"cell": CELL}},
            "minHealthy": "51%",
            "remediationTemplate": {**template, "namespace": SYSTEM_NAMESPACE},
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "duration": "20s"}],
        },
    }


def _filled(part: Any, words: dict[str, str]) -> Any:
    text = json.dumps(part)
    for abbreviation, meant in words.items():
        text = text.replace(abbreviation, meant)
    return json.loads(text)
