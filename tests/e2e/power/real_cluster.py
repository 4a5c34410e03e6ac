"""A real cluster whose nodes are real processes behind BMCs, with Nodemend in it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.volumes import storage
from controlplane.waiting import wait_until
from installed.eager_policy import eager_policy
from installed.manifests import install
from installed.programs import start
from machine_room.room import MachineRoom
from nodemend.api.well_known import SYSTEM_NAMESPACE
from tests.e2e.power.audit import Audit

CHECKER: Final = "nodemend-checker"
REMEDIATOR: Final = "nodemend-remediator"
TEMPLATES: Final = "remediation.metal3.io/v1alpha1"
POWER_CYCLES: Final = ("powerCycle.enabled=true",)
"""The chart's settings."""
PACE: Final = 0.1
SETTINGS: Final = Settings(attacher=True, audit=True)
LEASES: Final = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases"
POWER_CYCLE: Final = {"deleteAfterRetries": 1, "powerOffTimeoutSeconds": 30, "powerOnTimeoutSeconds": 60}


@dataclass(slots=True)
class Stage:
    plane: ControlPlane
    room: MachineRoom
    audit: Audit
    checker: Process
    remediators: list[Process] = field(default_factory=list)

    def start_remediator(self, *flags: str, replica: int = 0) -> Process:
        process = start(self.plane, REMEDIATOR, "--power-cycle=on", *flags, replica=replica)
        self.remediators.append(process)
        return process


@contextmanager
def open_stage(groups: dict[str, dict[str, str]], *, chart: Sequence[str] = ()) -> Iterator[Stage]:
    """Without a remediator yet. `groups` are the nodes, one each, with their labels."""
    with ControlPlane(SETTINGS) as plane, MachineRoom(plane, pace=PACE) as room:
        install(plane, *POWER_CYCLES, *chart)
        for document in (*storage(), eager_policy(), template("power-cycle", POWER_CYCLE)):
            plane.api.create(document)
        checker = start(plane, CHECKER)
        stage = Stage(plane, room, Audit(plane.directory / "audit.log"), checker)
        room.furnish(groups)
        wait_until("the checker leads", lambda: _leads(plane, CHECKER), within=60.0, processes=[checker])
        yield stage


def template(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": TEMPLATES,
        "kind": "Metal3RemediationTemplate",
        "metadata": {"name": name, "namespace": SYSTEM_NAMESPACE},
        "spec": {"template": {"spec": spec}},
    }


def _leads(plane: ControlPlane, program: str) -> bool:
    lease = plane.api.find(f"{LEASES}/{program}")
    return bool(lease and lease["spec"].get("holderIdentity"))
