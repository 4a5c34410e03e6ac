"""Compares the conversion of MachineHealthChecks by Cluster API's manager with
`foreign_kinds.check_conversion`.

Tests rely on the latter. It also shows the result for checks of Nodemend's flat definition when Cluster API's
definition replaces it: docs/how-to/machine_health_checks.md documents that result.
"""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from cluster_api.run import PROGRAM, await_ready, flags
from controlplane.api import Object
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE, Settings
from controlplane.waiting import wait_until
from foreign_kinds.check_conversion import convert
from foreign_kinds.definitions import crds
from foreign_kinds.install import DEFINITIONS, install_definitions
from generate.outputs import FLAT

SETTINGS: Final[Settings] = API_SERVER_ALONE
NAME: Final = "machinehealthchecks.cluster.x-k8s.io"
# The manager's own. In a private network no other process uses it.
WEBHOOK_PORT: Final = 9443
OLD, NEW = "cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2"
_TEMPLATE: Final = {"apiVersion": "fix.example.com/v1", "kind": "FixTemplate", "name": "reboot"}
_READY: Final = {"type": "Ready", "status": "Unknown", "timeout": "5m"}
SPECS: Final[dict[str, dict[str, Any]]] = {
    "least": {},
    "limited": {"clusterName": "main", "maxUnhealthy": 2},
    "timed": {"clusterName": "main", "unhealthyConditions": [_READY], "nodeStartupTimeout": "0s"},
    "whole": {
        "clusterName": "main",
        "unhealthyConditions": [_READY, {**_READY, "status": "False", "timeout": "1h30m"}],
        "unhealthyMachineConditions": [{"type": "BootOK", "status": "False", "timeout": "90s"}],
        "maxUnhealthy": "40%",
        "unhealthyRange": "[1-3]",
        "nodeStartupTimeout": "20m",
        "remediationTemplate": _TEMPLATE,
    },
    "lost": {"clusterName": "main", "externalRemediationTemplate": _TEMPLATE},
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Converted checks, and those for which the two conversions differ."""

    compared: int
    differ: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.compared} checks converted, {len(self.differ)} otherwise than we play it"


def compare(program: Path) -> Outcome:
    """Create checks under Nodemend's definition, apply Cluster API's over it, and read them in its newer
    version.
    """
    with ControlPlane(SETTINGS) as plane:
        others = [one for one in crds("cluster-api-all") if one["metadata"]["name"] != NAME]
        install_definitions(plane, [*others, yaml.safe_load(FLAT.read_text())])
        for name, spec in SPECS.items():
            plane.api.create(_check(name, spec))
        before = {name: plane.api.get(_path(OLD, name)) for name in SPECS}
        _take_over(plane)
        await_ready(plane.run(PROGRAM, flags(plane, plane.kubeconfig), program=program))
        wait_until("checks are converted", lambda: plane.api.find(_path(NEW, "whole")) is not None, within=60)
        differ = tuple(name for name in SPECS if _parts(plane, name) != _played(before[name]))
        return Outcome(len(SPECS), differ)


def _take_over(plane: ControlPlane) -> None:
    (theirs,) = (one for one in crds("cluster-api-all") if one["metadata"]["name"] == NAME)
    path = f"{DEFINITIONS}/{NAME}"
    version = plane.api.get(path)["metadata"]["resourceVersion"]
    client = {
        "url": f"https://127.0.0.1:{WEBHOOK_PORT}/convert",
        "caBundle": base64.b64encode(plane.ca.read_bytes()).decode(),
    }
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    spec = {**theirs["spec"], "conversion": {"strategy": "Webhook", "webhook": webhook}}
    metadata = {**theirs["metadata"], "resourceVersion": version}
    plane.api.request("PUT", path, {**theirs, "metadata": metadata, "spec": spec})


def _check(name: str, spec: Object) -> Object:
    metadata = {"name": name, "namespace": "default"}
    selector = {"matchLabels": {"pool": "workers"}}
    return {
        "apiVersion": OLD,
        "kind": "MachineHealthCheck",
        "metadata": metadata,
        "spec": {"selector": selector, **spec},
    }


def _path(version: str, name: str) -> str:
    return f"/apis/{version}/namespaces/default/machinehealthchecks/{name}"


def _parts(plane: ControlPlane, name: str) -> Object:
    """The read results in both versions."""
    return {version: plane.api.get(_path(version, name))["spec"] for version in (NEW, OLD)}


def _played(before: Object) -> Object:
    # The check was not written since: the older version is unchanged, except unknown fields.
    known = {key: value for key, value in before["spec"].items() if key != "externalRemediationTemplate"}
    return {NEW: convert(before, NEW)["spec"], OLD: known}
