"""Two nodes with one workload between them, under their own check: the place where a round runs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from controlplane.api import Object
from controlplane.node_objects import condition
from controlplane.volumes import stateful_set
from machine_room.hosts import HOSTS
from machine_room.register import Register
from nodemend.api import well_known
from nodemend.api.well_known import SYSTEM_NAMESPACE
from tests.e2e.power.real_cluster import LEASES, TEMPLATES, Stage

LABEL: Final = "cell"
REMEDIATIONS: Final = f"/apis/{TEMPLATES}/namespaces/{SYSTEM_NAMESPACE}/metal3remediations"
CHECKS: Final = "/apis/nodemend.io/v1alpha1/nodehealthchecks"
PATIENCE: Final = 120.0
POLL_INTERVAL: Final = 0.2


def groups_of(cell: str) -> dict[str, dict[str, str]]:
    return {f"{cell}-{side}": {LABEL: cell} for side in "ab"}


@dataclass(slots=True)
class Cell:
    """`workload` is a StatefulSet with one pod, its disk and its register."""

    stage: Stage
    name: str
    template: str = "power-cycle"
    broken: bool = False
    """True after a failed round."""
    remediations: str = REMEDIATIONS
    """The API path of its remediations."""

    @property
    def workload(self) -> str:
        return f"db-{self.name}"

    @property
    def nodes(self) -> list[str]:
        return [f"{group}-0" for group in groups_of(self.name)]

    @property
    def register(self) -> Register:
        return self.stage.room.kubelets.register(f"{self.workload}-0")

    def furnish(self) -> None:
        self.furnish_workload()
        self.watch()

    def furnish_workload(self) -> None:
        for document in stateful_set(self.workload):
            if document["kind"] == "StatefulSet":
                document["spec"]["template"]["spec"]["nodeSelector"] = {LABEL: self.name}
            self.stage.plane.api.create(document)
        self.until("the workload runs", lambda: bool(self.where()))

    def watch(self) -> None:
        self.stage.plane.api.create(self._check())

    def unwatch(self) -> None:
        """Delete the check. Existing remediations continue."""
        self.stage.plane.api.delete(f"{CHECKS}/{self.name}")

    # Observations.

    def where(self) -> str:
        """The node where the pod runs and writes; empty if it does not."""
        pod = self.stage.plane.api.find(f"/api/v1/namespaces/default/pods/{self.workload}-0")
        if pod is None or pod["status"].get("phase") != "Running" or "deletionTimestamp" in pod["metadata"]:
            return ""
        last = self.register.last()
        return str(pod["spec"]["nodeName"]) if last and last.pod == pod["metadata"]["uid"] else ""

    def remediation(self, node: str) -> Object | None:
        return self.stage.plane.api.find(f"{self.remediations}/{node}")

    def status(self, node: str) -> Object:
        return (self.remediation(node) or {}).get("status") or {}

    def phase(self, node: str) -> str:
        return str(self.status(node).get("phase", ""))

    def condition(self, node: str, kind: str) -> Object:
        found = [one for one in self.status(node).get("conditions", ()) if one["type"] == kind]
        return found[0] if found else {}

    def node(self, name: str) -> Object | None:
        return self.stage.plane.api.find(f"/api/v1/nodes/{name}")

    def held(self, node: str) -> bool:
        host = self.stage.plane.api.find(f"{HOSTS}/{node}") or {"metadata": {}}
        annotations = host["metadata"].get("annotations", {})
        return any(key.startswith(well_known.POWER_OFF_REQUEST_PREFIX) for key in annotations)

    def tainted(self, node: str) -> bool:
        found = self.node(node) or {"spec": {}}
        return any(taint["key"] == well_known.OUT_OF_SERVICE for taint in found["spec"].get("taints", ()))

    def until(self, what: str, holds: Callable[[], bool], within: float = PATIENCE) -> None:
        """Wait, with rare polls because many rounds run at once."""
        deadline = time.monotonic() + within
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name}: not within {within:g} s: {what}\n{self.reported()}")
            time.sleep(POLL_INTERVAL)

    def reported(self) -> str:
        """The state of the cell, for error messages."""
        lines = []
        for node in self.nodes:
            status = self.status(node)
            host = (self.stage.plane.api.find(f"{HOSTS}/{node}") or {}).get("status", {})
            shown = {
                key: host.get(key) for key in ("poweredOn", "operationalStatus", "errorType", "errorMessage")
            }
            lines.append(f"{node}: {status.get('phase')} {status.get('message')} | {shown}")
        return "\n".join(lines)

    # Actions.

    def cut(self, node: str) -> None:
        """Its kubelet falls silent until the next boot; its workloads continue."""
        computer = self.stage.room.computer(node)
        computer.cut_in = computer.chassis.boot

    def mend_cable(self, node: str) -> None:
        self.stage.room.computer(node).cut_in = ""

    def is_whole(self) -> bool:
        """True if both nodes are Ready, both machines are on, and the workload runs."""
        nodes = [self.node(name) for name in self.nodes]
        powered = all(self.stage.room.computer(name).chassis.powered for name in self.nodes)
        return powered and all(n and condition(n, "Ready") == "True" for n in nodes) and bool(self.where())

    def until_quiet(self, seconds: float = 2.0) -> None:
        """Wait until it has been whole for a while: a BMC executes an accepted command even after it became
        obsolete.
        """
        since = time.monotonic()

        def quiet() -> bool:
            nonlocal since
            settled = all(self.stage.room.computer(name).chassis.settled for name in self.nodes)
            if not (settled and self.is_whole()):
                since = time.monotonic()
            return time.monotonic() - since > seconds

        self.until("all is quiet", quiet)

    def leftovers(self) -> list[str]:
        """Nodemend's leftovers on these nodes and their hosts."""
        api, found = self.stage.plane.api, list[str]()
        for node in self.nodes:
            here = self.node(node)
            if here is not None:
                found += [
                    f"{node}: taint {one['key']}" for one in here["spec"].get("taints", ()) if _ours(one)
                ]
                if api.find(f"{LEASES}/node-{here['metadata']['uid']}") is not None:
                    found.append(f"{node}: lock")
            if self.held(node):
                found.append(f"{node}: hold")
            if self.remediation(node) is not None:
                found.append(f"{node}: remediation")
        return found

    def _check(self) -> dict[str, Any]:
        named = {"apiVersion": TEMPLATES, "kind": "Metal3RemediationTemplate", "name": self.template}
        return {
            "apiVersion": "nodemend.io/v1alpha1",
            "kind": "NodeHealthCheck",
            "metadata": {"name": self.name},
            "spec": {
                "selector": {"matchLabels": {LABEL: self.name}},
                "thresholds": [
                    {"type": "Ready", "status": "Unknown", "period": "2s", "acceptShortPeriod": True}
                ],
                "remedies": [{"template": {**named, "namespace": SYSTEM_NAMESPACE}}],
                "maxUnhealthy": "100%",
                "healthyDelay": "1s",
            },
        }


def _ours(taint: Object) -> bool:
    return (taint["key"], taint.get("value")) == (well_known.OUT_OF_SERVICE, well_known.OUR_TAINT_VALUE)
