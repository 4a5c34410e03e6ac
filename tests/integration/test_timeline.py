"""One power cycle from silence to health on a real API server, and the output of `tree` and `timeline` about
it.

Nodemend's programs run under their own accounts, and the user has the role of a viewer. The test plays the
kubelet, metal3's operator, and the controller manager's handling of an out-of-service node.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest

from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from foreign_kinds.install import install_definitions
from installed.manifests import bind, install
from installed.programs import mend, start
from nodemend.api import well_known
from nodemend.api.meta import print_micro_time, print_time
from nodemend.api.resources import BARE_METAL_HOST
from simulation.cluster.foreign_kinds import a_definition
from tests.integration.machine_objects import a_thing, add_node, show

pytestmark = pytest.mark.real

Object = dict[str, Any]

SICK: Final = "edge-0"
SPACE: Final = "default"
SYSTEM_UUID: Final = "7c0e5bd2-9a7e-4f0c-8d57-0c1f7a1b2c3d"
HOST: Final = f"/apis/metal3.io/v1alpha1/namespaces/{SPACE}/baremetalhosts/rack7-u12"
CYCLES: Final = (
    f"/apis/remediation.metal3.io/v1alpha1/namespaces/{well_known.SYSTEM_NAMESPACE}/metal3remediations"
)
NODE: Final = f"/api/v1/nodes/{SICK}"
LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{SICK}"
POD: Final = f"/api/v1/namespaces/{SPACE}/pods/db-0"
ATTACHMENT: Final = "/apis/storage.k8s.io/v1/volumeattachments/csi-9f3b"
TEMPLATE: Final = {"apiVersion": "remediation.metal3.io/v1alpha1", "kind": "Metal3RemediationTemplate"}


@dataclass(frozen=True, slots=True)
class Stage:
    plane: ControlPlane
    programs: tuple[Process, ...]
    viewer: Path
    admin: Path

    def until(self, what: str, holds: Any) -> None:
        wait_until(what, holds, within=120.0, processes=list(self.programs))

    def ask(self, *arguments: str, who: Path | None = None) -> Object:
        shown = mend(who or self.viewer, *arguments, "-o", "json")
        assert shown.returncode == 0, shown.stderr
        view: Object = json.loads(shown.stdout)
        return view

    def report(self, ready: str, boot: str) -> None:
        """Write the condition as the kubelet does, or the node lifecycle controller in its place."""
        condition = {
            "type": "Ready",
            "status": ready,
            "reason": "Played",
            "message": "",
            "lastTransitionTime": print_time(datetime.now(UTC)),
        }
        info = {**self.plane.api.get(NODE)["status"]["nodeInfo"], "bootID": boot}
        status = {"conditions": [condition], "nodeInfo": info}
        self.plane.api.patch(f"{NODE}/status", {"status": status})

    def switch(self, *, on: bool) -> None:
        """Switch as metal3's operator does, which reports it with the older Event API."""
        now = datetime.now(UTC)
        status = {"poweredOn": on, "lastUpdated": print_time(now)}
        host = self.plane.api.patch(f"{HOST}/status", {"status": status})
        event, said = ("PowerOn", "Host powered on") if on else ("PowerOff", "Host powered off")
        self.plane.api.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"rack7-u12.{event.lower()}", "namespace": SPACE},
                "involvedObject": {
                    "kind": "BareMetalHost",
                    "name": "rack7-u12",
                    "namespace": SPACE,
                    "uid": host["metadata"]["uid"],
                },
                "reason": event,
                "message": said,
                "type": "Normal",
                "source": {"component": "metal3-baremetal-controller"},
                "firstTimestamp": print_time(now),
                "lastTimestamp": print_time(now),
                "count": 1,
            }
        )

    def held_off(self) -> bool:
        return any(
            key.startswith(well_known.POWER_OFF_REQUEST_PREFIX)
            for key in _annotations(self.plane.api.get(HOST))
        )

    def tainted(self) -> bool:
        taints = self.plane.api.get(NODE)["spec"].get("taints", ())
        return any(taint["key"] == well_known.OUT_OF_SERVICE for taint in taints)

    def phases(self) -> list[str]:
        return [one.get("status", {}).get("phase", "") for one in self.plane.api.list(CYCLES)]


def _annotations(thing: Object) -> dict[str, str]:
    found: dict[str, str] = thing["metadata"].get("annotations", {})
    return found


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with ControlPlane(API_SERVER_ALONE) as plane:
        install(plane, "powerCycle.enabled=true")
        definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        install_definitions(plane, [{**definition, **a_definition(BARE_METAL_HOST)}])
        _furnish(plane)
        programs = (start(plane, "nodemend-checker"), start(plane, "nodemend-remediator", "--power-cycle=on"))
        viewer = plane.service_account_kubeconfig(SPACE, "anna")
        yield Stage(plane, programs, viewer, plane.kubeconfig)


def _furnish(plane: ControlPlane) -> None:
    api = plane.api
    spec = {"mode": "Act", "minInterval": "1s", "settleTime": "1s", "maxUnhealthy": "100%"}
    api.create(
        {
            "apiVersion": "nodemend.io/v1alpha1",
            "kind": "RemediationPolicy",
            "metadata": {"name": "cluster"},
            "spec": spec,
        }
    )
    template = {"template": {"spec": {"powerOffTimeoutSeconds": 120}}}
    api.create(
        a_thing(TEMPLATE["apiVersion"], TEMPLATE["kind"], "cycle", template, well_known.SYSTEM_NAMESPACE)
    )
    reference = {**TEMPLATE, "name": "cycle", "namespace": well_known.SYSTEM_NAMESPACE}
    check = {
        "selector": {},
        "thresholds": [{"type": "Ready", "status": "Unknown", "period": "2s", "acceptShortPeriod": True}],
        "remedies": [{"template": reference}],
        # Long enough for the remediator to close the remediation before the check deletes it.
        "healthyDelay": "15s",
        "maxUnhealthy": "100%",
    }
    api.create(
        {
            "apiVersion": "nodemend.io/v1alpha1",
            "kind": "NodeHealthCheck",
            "metadata": {"name": "all"},
            "spec": check,
        }
    )
    for name in ("edge-1", "edge-2"):
        add_node(api, name)
    _enrol(plane)
    _occupy(plane)
    api.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "anna", "namespace": SPACE}}
    )
    bind(plane, "nodemend-viewer", SPACE, "anna")


def _enrol(plane: ControlPlane) -> None:
    """Create a node, its kubelet's Lease, and its host."""
    named = {"providerID": f"metal3://{SPACE}/rack7-u12/{SICK}"}
    plane.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": SICK}, "spec": named})
    plane.api.patch(f"/api/v1/nodes/{SICK}/status", {"status": {"nodeInfo": {"systemUUID": SYSTEM_UUID}}})
    show(plane.api, SICK, "True")
    lease = {
        "holderIdentity": SICK,
        "leaseDurationSeconds": 4,
        "renewTime": print_micro_time(datetime.now(UTC)),
    }
    plane.api.create(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": SICK, "namespace": well_known.KUBELET_LEASE_NAMESPACE},
            "spec": lease,
        }
    )
    host = a_thing("metal3.io/v1alpha1", "BareMetalHost", "rack7-u12", {"online": True}, SPACE)
    host["metadata"]["annotations"] = {well_known.HOST_SYSTEM_UUID: SYSTEM_UUID}
    plane.api.create(host)
    status = {
        "poweredOn": True,
        "operationalStatus": "OK",
        "provisioning": {"state": "provisioned"},
        "lastUpdated": print_time(datetime.now(UTC)),
    }
    plane.api.patch(f"{HOST}/status", {"status": status})


def _occupy(plane: ControlPlane) -> None:
    """A pod and a volume on the node."""
    api = plane.api
    if api.find(f"/api/v1/namespaces/{SPACE}/serviceaccounts/default") is None:
        account = {"apiVersion": "v1", "kind": "ServiceAccount"}
        api.create({**account, "metadata": {"name": "default", "namespace": SPACE}})
    api.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "db-0", "namespace": SPACE},
            "spec": {
                "nodeName": SICK,
                "containers": [{"name": "db", "image": "db"}],
                "automountServiceAccountToken": False,
            },
        }
    )
    api.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": "csi-9f3b"},
            "spec": {
                "attacher": "csi.example.com",
                "nodeName": SICK,
                "source": {"persistentVolumeName": "pv-db-0"},
            },
        }
    )


def states(view: Object) -> dict[str, str]:
    """The last state of each kind in a tree."""
    found = {view["root"]["kind"]: view["root"]["state"]}
    for child in view["root"]["children"]:
        found |= states({"root": child})
    return found


def test_a_power_cycle_is_shown_in_progress_and_after_its_end(stage: Stage, tmp_path: Path) -> None:
    api = stage.plane.api
    stage.report("Unknown", "boot-1")
    stage.until("its host is held off", stage.held_off)
    held = states(stage.ask("tree", SICK))
    rows = stage.ask("status")["nodes"]
    stage.switch(on=False)
    stage.until("it is out of service", stage.tainted)
    leaving, named = states(stage.ask("tree", SICK)), states(stage.ask("tree", SICK, who=stage.admin))
    half = stage.ask("timeline", SICK)

    assert (held["BareMetalHost"], held["Metal3Remediation"], held["Evidence"]) == ("on", "power-off", "none")
    [row] = [row for row in rows if row["node"] == SICK]
    assert (row["state"], row["host"], row["check"]) == ("power-off", f"{SPACE}/rack7-u12", "all")
    assert (leaving["BareMetalHost"], leaving["Evidence"], leaving["Taint"]) == (
        "off",
        "E1",
        "set by Nodemend",
    )
    # A viewer may not read pods, and sees only their number; an admin sees their names.
    assert (leaving["Workloads"], "Pod" in leaving, named["Pod"]) == ("leaving", False, "Pending")
    assert half["releases"][0]["evidence"] == "E1"
    seen = [key for key in keys_of(half) if key in ("held-off", "off", "evidence", "release")]
    assert seen == ["held-off", "off", "evidence", "release"]

    api.request("DELETE", POD, {"gracePeriodSeconds": 0})
    api.delete(ATTACHMENT)
    stage.until("its host is let on", lambda: not stage.held_off())
    stage.switch(on=True)
    stage.report("True", "boot-2")
    renewed = {"spec": {"renewTime": print_micro_time(datetime.now(UTC))}}
    api.patch(LEASE, renewed)
    stage.until("the remediation is over", lambda: stage.phases() == [])
    # Events are written asynchronously, and may come after the remediation is gone.
    ends = {"healthy", "succeeded"}
    stage.until("that is told", lambda: ends <= set(keys_of(stage.ask("timeline", SICK))))
    reported = stage.ask("timeline", SICK)
    drawing = tmp_path / "edge-0.svg"
    shown = mend(stage.viewer, "timeline", SICK, "--utc", "--svg", str(drawing))

    order = ["started", "held-off", "evidence", "release", "gone", "let-on", "succeeded"]
    assert [key for key in keys_of(reported) if key in order] == order
    assert {"ready", "withdrawn"} <= set(keys_of(reported))
    how = (
        "its power went off after Nodemend's power-off request, and it is the node's machine by provider ID,"
        " system UUID"
    )
    assert [(one["evidence"], one["because"]) for one in reported["releases"]] == [
        ("E1", f"BareMetalHost {SPACE}/rack7-u12 is off: {how}.")
    ]
    assert [one["name"] for one in reported["measures"] if not one["lasts"]] == [
        "to fence",
        "to release",
        "to recover",
    ]
    assert (shown.returncode, shown.stderr) == (0, f"drawn: {drawing}\n")
    assert "EVIDENCE E1: BareMetalHost default/rack7-u12 is off" in shown.stdout
    assert "event PowerOff by metal3-baremetal-controller" in " ".join(shown.stdout.split())
    assert ET.parse(drawing).getroot().tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - we drew it
    assert (reported["unread"], stage.ask("tree", SICK)["unread"]) == ([], [])


def keys_of(view: Object) -> list[str]:
    return [moment["key"] for moment in view["moments"]]


def test_a_drawing_on_standard_output_is_nothing_but_a_drawing(stage: Stage) -> None:
    shown = mend(stage.viewer, "timeline", "edge-1", "--svg", "-")

    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("<svg ")
    assert shown.stdout.endswith("</svg>\n")


def test_an_unknown_node(stage: Stage) -> None:
    for command in ("tree", "timeline"):
        shown = mend(stage.viewer, command, "edge-77")
        assert (shown.returncode, shown.stdout) == (1, "")
        assert shown.stderr.startswith("kubectl mend: there is no node edge-77.")
