"""`helm uninstall` on a real API server, with the real remediator, the real command, and Helm itself.

Only the pod of the hook's Job, which needs a kubelet, is fake. The program runs as a process instead, with
the Job's own arguments, under the Job's own account.
"""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from foreign_kinds.install import install_definitions
from installed.programs import mend, program, start
from nodemend.api import well_known
from nodemend.api.meta import print_time
from nodemend.api.resources import BARE_METAL_HOST
from nodemend.api.well_known import SYSTEM_NAMESPACE
from simulation.cluster.foreign_kinds import a_definition
from tests.integration.helm_release import helm, make_release

pytestmark = pytest.mark.real

POLICY = "/apis/nodemend.io/v1alpha1/remediationpolicies/cluster"
REMEDIATIONS = "/apis/nodemend.io/v1alpha1/namespaces/default/manualremediations"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{SYSTEM_NAMESPACE}/deployments"
JOB = f"/apis/batch/v1/namespaces/{SYSTEM_NAMESPACE}/jobs/nodemend-wind-down"
ACCOUNT = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/serviceaccounts/nodemend-wind-down"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/nodemend-wind-down"
DEFINITION = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
NODE_INFO = (
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
HOLD = f"{well_known.POWER_OFF_REQUEST_PREFIX}0d1f7c52-gone"
WITHIN = ("--set", "uninstall.within=1m")


@dataclass
class Release:
    """Nodemend as installed by Helm, with a running remediator."""

    plane: ControlPlane
    remediator: Process

    def helm(self, *arguments: str) -> str:
        return helm(self.plane, *arguments)

    def uninstall(self) -> tuple[str, subprocess.CompletedProcess[str]]:
        """The reason why Helm stopped, or an empty string; and the result of the hook's program."""
        refused: list[str] = []

        def work() -> None:
            try:
                self.helm("uninstall", "nodemend", "--timeout", "100s")
            except subprocess.CalledProcessError as error:
                refused.append(error.stderr)

        helm = threading.Thread(target=work)
        old = self._uid(self.plane.api.find(JOB))
        helm.start()
        wait_until("the hook's Job is made", lambda: self._uid(self.plane.api.find(JOB)) not in ("", old))
        said = self._play_job()
        helm.join(timeout=120.0)
        assert not helm.is_alive()
        return "".join(refused), said

    def _uid(self, found: dict[str, Any] | None) -> str:
        return str(found["metadata"]["uid"]) if found else ""

    def _play_job(self) -> subprocess.CompletedProcess[str]:
        pod = self.plane.api.get(JOB)["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["command"] == ["kubectl-mend"]
        said = mend(self.kubeconfig(pod["serviceAccountName"]), *container["args"], within=90.0)
        self.plane.api.patch(f"{JOB}/status", {"status": ended_job(well=said.returncode == 0)})
        return said

    def kubeconfig(self, account: str) -> Path:
        return self.plane.service_account_kubeconfig(SYSTEM_NAMESPACE, account)

    def begin_remediation(self, name: str) -> None:
        """Create a remediation, and wait until the remediator has added its finalizer and taken the lock."""
        api = self.plane.api
        api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        info = dict.fromkeys(NODE_INFO, "x") | {"bootID": f"{name}-boot-1"}
        api.patch(f"/api/v1/nodes/{name}/status", {"status": {"nodeInfo": info}})
        header = {"apiVersion": "nodemend.io/v1alpha1", "kind": "ManualRemediation"}
        api.create({**header, "metadata": {"name": name, "namespace": "default"}, "spec": {}})

        def is_under_way() -> bool:
            found = api.get(f"{REMEDIATIONS}/{name}")
            return well_known.SAFE_END in found["metadata"].get("finalizers", ()) and self.locks() != []

        wait_until(f"{name} is under way", is_under_way, within=60.0, processes=[self.remediator])

    def locks(self) -> list[str]:
        leases = self.plane.api.list(f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases")
        return [one["metadata"]["name"] for one in leases if one["metadata"]["name"].startswith("node-")]

    def hold_host(self) -> None:
        header = {"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost"}
        held = {"name": "rack-7", "namespace": "metal3", "annotations": {HOLD: well_known.HARD_HOLD}}
        self.plane.api.create({**header, "metadata": held, "spec": {}})


def ended_job(*, well: bool) -> dict[str, Any]:
    """The Job's status as the Job controller writes it."""
    now = print_time(datetime.now(UTC))
    types = ("SuccessCriteriaMet", "Complete") if well else ("FailureTarget", "Failed")
    conditions = [
        {
            "type": type_,
            "status": "True",
            "reason": "CompletionsReached" if well else "BackoffLimitExceeded",
            "message": "",
            "lastTransitionTime": now,
            "lastProbeTime": now,
        }
        for type_ in types
    ]
    counted = {"succeeded": 1, "completionTime": now} if well else {"failed": 1}
    return {"startTime": now, "conditions": conditions, **counted}


@pytest.fixture
def release() -> Iterator[Release]:
    with ControlPlane(API_SERVER_ALONE) as plane:
        install_definitions(plane, [DEFINITION | a_definition(BARE_METAL_HOST)])
        plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "metal3"}})
        make_release(plane, *WITHIN)
        kind = {"apiVersion": "nodemend.io/v1alpha1", "kind": "RemediationPolicy"}
        plane.api.create({**kind, "metadata": {"name": "cluster"}, "spec": {"mode": "Act"}})
        yield Release(plane, start(plane, "nodemend-remediator"))


def gone(release: Release, *paths: str) -> list[str]:
    return [path for path in paths if release.plane.api.find(path) is None]


def test_an_unreleased_hold_stops_the_uninstall_and_is_named(release: Release) -> None:
    release.begin_remediation("edge-1")
    release.hold_host()
    refused, said = release.uninstall()

    assert "job nodemend-wind-down failed" in refused or "pre-delete hooks failed" in refused
    assert said.returncode == 1
    assert "host metal3/rack-7 (power unknown) is still held off by a remediation that is gone" in said.stdout
    assert f"kubectl annotate baremetalhost rack-7 -n metal3 {HOLD}-" in said.stdout
    # Nodemend is still installed, and nothing new starts; the remediation in progress has ended.
    assert gone(release, f"{DEPLOYMENTS}/nodemend-remediator", JOB, POLICY) == []
    assert gone(release, f"{REMEDIATIONS}/edge-1") == [f"{REMEDIATIONS}/edge-1"]
    assert release.locks() == []
    by = f"system:serviceaccount:{SYSTEM_NAMESPACE}:nodemend-wind-down"
    assert release.plane.api.get(POLICY)["spec"]["pause"] == {"reason": "winding down", "by": by}
    again = mend(release.plane.kubeconfig, "wind-down", "--yes", "--wait=2s", "-o", "json")
    assert again.returncode == 1
    (left,) = json.loads(again.stdout)["left"]
    assert left["kind"] == "PowerOffRequestOnHost"


def test_without_leftovers_the_uninstall_continues_and_removes_its_hook(release: Release) -> None:
    release.begin_remediation("edge-2")
    refused, said = release.uninstall()

    assert refused == ""
    assert said.returncode == 0, said.stdout + said.stderr
    assert "edge-2: ended" in said.stderr
    assert "Nothing of Nodemend is left on any node or host." in said.stdout
    everything = [f"{REMEDIATIONS}/edge-2", f"{DEPLOYMENTS}/nodemend-remediator", JOB, ACCOUNT, ROLE]
    assert gone(release, *everything) == everything
    release.remediator.kill()
    # The kinds and the policy stay, as always; so does the pause, and an install reports it.
    notes = make_release(release.plane, *WITHIN)
    assert "It is PAUSED (winding down)" in notes


@pytest.mark.nightly
def test_a_missing_remediator_is_reported_at_once_and_the_uninstall_stops(release: Release) -> None:
    release.begin_remediation("edge-3")
    release.remediator.kill()
    refused, said = release.uninstall()

    assert "failed" in refused
    assert said.returncode == 1
    assert "app.kubernetes.io/component=remediator" in said.stderr
    assert "ManualRemediation default/edge-3 (node edge-3) has not ended" in said.stdout
    # A forced uninstall succeeds, with the leftovers that its documentation names.
    release.helm("uninstall", "nodemend", "--no-hooks")
    assert gone(release, f"{DEPLOYMENTS}/nodemend-remediator") != []
    assert release.plane.api.get(f"{REMEDIATIONS}/edge-3")["metadata"]["finalizers"] == [well_known.SAFE_END]


def test_an_interrupted_wind_down_warns_that_the_cluster_stays_paused(release: Release) -> None:
    release.begin_remediation("edge-4")
    release.remediator.kill()
    command = [
        str(program("kubectl-mend")),
        "wind-down",
        "--yes",
        "--kubeconfig",
        str(release.plane.kubeconfig),
    ]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    first = running.stderr.readline()
    running.send_signal(signal.SIGINT)
    rest = running.communicate(timeout=30.0)[1]

    assert "nobody leads" in first or "has not renewed its Lease" in first or "edge-4" in first
    assert running.returncode == 1
    assert "The cluster stays paused (winding down; undo: kubectl mend resume)" in rest
    assert "1 remediation goes on ending" in rest
