"""Scenes that a user may meet on a real API server, made by the shipped checker and remediator.

Nodes are fake: only the scene writes their status, so each stays as it is while commands read it.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import yaml

from controlplane.api import Object
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from generate.outputs import render_chart
from installed.manifests import install
from installed.programs import PROGRAMS, mend, start
from nodemend.api.well_known import SYSTEM_NAMESPACE

OURS: Final = "nodemend.io/v1alpha1"
CHECKS: Final = f"/apis/{OURS}/nodehealthchecks"
POLICY: Final = f"/apis/{OURS}/remediationpolicies/cluster"
NODES: Final = "/api/v1/nodes"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LONG_AGO: Final = "2026-01-01T00:00:00Z"
BY_HAND: Final = (OURS, "ManualRemediationTemplate", "call")
BY_POWER: Final = ("remediation.metal3.io/v1alpha1", "Metal3RemediationTemplate", "reboot")
_INFO: Final = (
    "architecture",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
)
_EAGER: Final = {"mode": "Act", "maxUnhealthy": "100%", "minInterval": "1s", "settleTime": "1s"}


@dataclass(frozen=True, slots=True)
class Stage:
    """Three healthy nodes, and controllers that lead."""

    plane: ControlPlane
    programs: tuple[Process, ...]

    def wait(self, what: str, holds: Callable[[], bool], within: float = 60.0) -> None:
        wait_until(what, holds, within=within, processes=self.programs)

    def wait_until(self, holds: Callable[[], bool], within: float = 40.0) -> None:
        """Wait, but continue after the timeout: older versions never reported what newer ones show."""
        with suppress(TimeoutError):
            self.wait("what is told", holds, within)

    def make(self, kind: str, name: str, namespace: str = "", version: str = OURS, **content: Any) -> None:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        self.plane.api.create({"apiVersion": version, "kind": kind, "metadata": metadata, **content})

    def act(self, **limits: object) -> None:
        self.make("RemediationPolicy", "cluster", spec={**_EAGER, **limits})

    def template(self, of: tuple[str, str, str], **spec: object) -> None:
        version, kind, name = of
        self.make(kind, name, "default", version, spec={"template": {"spec": spec}})

    def check(self, name: str, of: tuple[str, str, str]) -> None:
        version, kind, template = of
        reference = {"apiVersion": version, "kind": kind, "name": template, "namespace": "default"}
        silent = {"type": "Ready", "status": "Unknown", "period": "1s", "acceptShortPeriod": True}
        spec = {"selector": {}, "thresholds": [silent], "remedies": [{"template": reference}]}
        limits = {"maxUnhealthy": "90%", "healthyDelay": "1s"}
        self.make("NodeHealthCheck", name, spec={**spec, **limits})
        self.wait(f"nhc/{name} is reported", lambda: bool(self.conditions(name)))

    def conditions(self, check: str) -> Mapping[str, Object]:
        reported = self.plane.api.get(f"{CHECKS}/{check}").get("status", {}).get("conditions", ())
        return {one["type"]: one for one in reported}

    def is_true(self, check: str, condition: str) -> bool:
        return self.conditions(check).get(condition, {}).get("status") == "True"

    def wait_for_count(self, unhealthy: int, targets: int = 3) -> None:
        """The policy's status is written after those of checks."""

        def counted() -> bool:
            status = self.plane.api.get(POLICY).get("status", {})
            return (status.get("unhealthy", 0), status.get("targets")) == (unhealthy, targets)

        self.wait("nodes are counted", counted)

    def report(self, check: str, node: str) -> Object:
        reports = self.plane.api.get(f"{CHECKS}/{check}").get("status", {}).get("reports", ())
        return next((row for row in reports if row["name"] == node), {})

    def events(self, node: str) -> set[str]:
        found = self.plane.api.list("/apis/events.k8s.io/v1/namespaces/default/events")
        return {one["reason"] for one in found if one["regarding"]["name"] == node}

    def add_node(self, name: str) -> None:
        self.make("Node", name, version="v1")
        self.show(name, "True")
        self.make("Lease", name, "kube-node-lease", "coordination.k8s.io/v1", spec={"holderIdentity": name})
        self.renew(name, LONG_AGO)

    def show(self, node: str, ready: str) -> None:
        reported = {"type": "Ready", "status": ready, "reason": "Played", "message": ""}
        condition = {**reported, "lastTransitionTime": _now()}
        info = {**dict.fromkeys(_INFO, ""), "bootID": f"{node}-boot-1"}
        status = {"conditions": [condition], "nodeInfo": info}
        self.plane.api.patch(f"{NODES}/{node}/status", {"status": status})

    def renew(self, node: str, at: str, lasts: int = 1) -> None:
        spec = {"renewTime": at.replace("Z", ".000000Z"), "leaseDurationSeconds": lasts}
        self.plane.api.patch(f"{LEASES}/{node}", {"spec": spec})

    def remediation(self, node: str) -> Object:
        path = f"/apis/{OURS}/namespaces/default/manualremediations/{node}"
        found = self.plane.api.find(path) or {}
        status: Object = found.get("status") or {}
        return status

    def wait_for_phase(self, node: str, *phases: str) -> None:
        self.wait(f"{node}: {phases}", lambda: self.remediation(node).get("phase") in phases)

    def fail_and_release(self, node: str) -> None:
        """The node falls silent, and an operator confirms that it is down."""
        self.renew(node, LONG_AGO)
        self.show(node, "Unknown")
        self.wait_for_phase(node, "WaitingForConfirmation")
        self.wait("its silence is seen", lambda: bool(self.remediation(node).get("lastRenewTime")))
        words = ("confirm", node, "--reason", "unplugged it", "--i-typed", node)
        said = mend(self.plane.kubeconfig, *words)
        if said.returncode:
            raise RuntimeError(said.stdout + said.stderr)
        self.wait_for_phase(node, "Recovering")


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@contextmanager
def open_stage() -> Iterator[Stage]:
    with ControlPlane(API_SERVER_ALONE) as plane:
        install(plane)
        stage = Stage(plane, tuple(start(plane, name) for name in PROGRAMS))
        for number in (1, 2, 3):
            stage.add_node(f"rack-{number}")
        stage.template(BY_HAND, instructions="Pull both plugs.")
        stage.wait("both lead", partial(_both_lead, plane))
        plane.mark()
        yield stage


def _both_lead(plane: ControlPlane) -> bool:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases"
    found = [plane.api.find(f"{leases}/{name}") for name in PROGRAMS]
    return all(lease and lease["spec"].get("holderIdentity") for lease in found)


def unserved(stage: Stage) -> None:
    """Power cycles are off, and a check uses one. After two minutes it is reported as unserved."""
    stage.act()
    stage.template(BY_POWER)
    stage.check("workers", BY_POWER)
    stage.show("rack-1", "Unknown")
    stage.wait_until(lambda: stage.is_true("workers", "Stalled"), within=140.0)


def contradicted(stage: Stage) -> None:
    """An operator confirms a node that is still running."""
    stage.act()
    stage.check("workers", BY_HAND)
    stage.fail_and_release("rack-1")
    stage.renew("rack-1", _now(), lasts=3600)
    stage.show("rack-1", "True")
    stage.wait(
        "that is told",
        lambda: "confirmed to be down, is alive" in stage.remediation("rack-1").get("message", ""),
    )
    written = {"OutOfServiceTaintRemoved", "NodeContradictedEvidence"}
    stage.wait_until(lambda: written <= stage.events("rack-1"))
    stage.wait_for_count(1)


def overlapping(stage: Stage) -> None:
    """One check for GPUs beside one for liveness."""
    stage.act()
    stage.check("gpus", BY_HAND)
    stage.check("liveness", BY_HAND)
    stage.wait_until(lambda: stage.is_true("liveness", "Overlapping"))
    stage.wait_for_count(0)


def crowded(stage: Stage) -> None:
    """One node is released and not back, one fails, and then one more. The limit is one remediation."""
    stage.act()
    for name in ("rack-4", "rack-5"):
        stage.add_node(name)
    stage.check("workers", BY_HAND)
    stage.fail_and_release("rack-1")
    stage.show("rack-2", "Unknown")
    stage.wait_until(lambda: stage.remediation("rack-2").get("phase") == "WaitingForConfirmation")
    stage.show("rack-3", "Unknown")
    stage.wait("rack-3 is held", lambda: stage.report("workers", "rack-3").get("verdict") == "Held")
    stage.wait_for_count(3, targets=5)


def dry_run(stage: Stage) -> None:
    stage.act(mode="DryRun")
    stage.check("workers", BY_HAND)
    stage.show("rack-1", "Unknown")
    stage.wait("rack-1 is held", lambda: stage.report("workers", "rack-1").get("verdict") == "Held")
    stage.wait_until(lambda: "rack-1" in stage.conditions("workers")["DryRun"].get("message", ""))
    stage.wait_for_count(1)


def without_template(stage: Stage) -> None:
    stage.act()
    stage.check("workers", (*BY_HAND[:2], "missing"))
    stage.wait_until(lambda: stage.is_true("workers", "Stalled"))
    stage.wait_for_count(0)


def rendered_again(stage: Stage) -> None:
    """The policy acts and is paused for the night; a GitOps tool applies the rendered chart."""
    stage.act(pause={"reason": "switch swap", "by": "admin"})
    policies = [
        one for one in yaml.safe_load_all(render_chart()) if one and one["kind"] == "RemediationPolicy"
    ]
    for policy in policies:
        stage.plane.api.delete(POLICY)  # By default a hook is deleted before it is made again.
        stage.plane.kubectl("apply", "-f", "-", stdin=yaml.dump(policy))


def just_recovered(stage: Stage) -> None:
    """The checker has updated the check, and not yet the policy."""
    stage.act()
    stage.check("workers", BY_HAND)
    stage.wait_for_count(0)
    stage.plane.pause("nodemend-checker-0")
    stage.plane.api.patch(f"{POLICY}/status", {"status": {"unhealthy": 1}})


SCENES: Final[Mapping[str, Callable[[Stage], None]]] = {
    "contradicted": contradicted,
    "overlapping": overlapping,
    "crowded": crowded,
    "dry run": dry_run,
    "without template": without_template,
    "rendered again": rendered_again,
    "unserved": unserved,
    "just recovered": just_recovered,
}
"""The last one stops the checker."""
