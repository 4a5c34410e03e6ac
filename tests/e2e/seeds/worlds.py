"""A real API server with Nodemend's MachineHealthCheck, the kinds that the designs print, and the checker."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from controlplane.api import Api, Object
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from foreign_kinds.install import install_definitions
from generate.outputs import FLAT
from installed.manifests import bind, install
from installed.programs import start
from nodemend.api.well_known import SYSTEM_NAMESPACE
from tests.integration.machine_objects import machine_definitions

METAL3: Final = "remediation.metal3.io"
REMEDIES: Final = "remedies.example.com"
SPACES: Final = ("machine-api", "metal", "node-remedy")
_KINDS: Final = {REMEDIES: ("v1", ("Repair", "Terminate", "StorageFence", "Recovery"))}
"""Beside Nodemend's, which the designs print too."""
# Fast, and leaving the guarding to the checks.
_POLICY: Final = {
    "mode": "Act",
    "minInterval": "1s",
    "settleTime": "1s",
    "maxUnhealthy": "90%",
    "maxConcurrentPercent": 100,
}


@dataclass
class Counts:
    """Statements of the designs: how many held, and which did not."""

    held: int = 0
    misses: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class World:
    plane: ControlPlane
    checker: Process
    counts: Counts

    @property
    def api(self) -> Api:
        return self.plane.api

    def apply(self, document: Object) -> None:
        """As a user does."""
        self.plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(document))

    @property
    def remediator(self) -> Api:
        """Its rights. The program itself is not there: its hands are played."""
        token = self.plane.service_account_token(SYSTEM_NAMESPACE, "nodemend-remediator")
        return self.plane.client_with(token)

    def holds(self, statement: str, is_so: Callable[[], bool], within: float = 60.0) -> None:
        """It is so soon. Raises TimeoutError."""
        try:
            wait_until(statement, is_so, within=within, processes=[self.checker])
        except TimeoutError:
            self.counts.misses.append(statement)
            raise
        self._held(statement)

    def stays(self, statement: str, is_so: Callable[[], bool], seconds: float) -> None:
        """It is so all the time. Raises TimeoutError when it is not."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not is_so():
                self.counts.misses.append(statement)
                raise TimeoutError(f"no more: {statement}")
            time.sleep(0.1)
        self._held(statement)

    def _held(self, statement: str) -> None:
        self.counts.held += 1
        print(f"  {statement}", flush=True)


@contextmanager
def a_world(machines_of: str, counts: Counts) -> Iterator[World]:
    """With the Machines of a project. Ready when the checker would act."""
    with ControlPlane(API_SERVER_ALONE) as plane:
        install(plane, "machineHealthChecks.enabled=true")
        plane.kubectl("apply", "--server-side", "-f", str(FLAT))
        install_definitions(plane, [*machine_definitions(machines_of), *_definitions()])
        for name in SPACES:
            plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        _give_rights(plane)
        header = {"apiVersion": "nodemend.io/v1alpha1", "kind": "RemediationPolicy"}
        plane.api.create({**header, "metadata": {"name": "cluster"}, "spec": _POLICY})
        checker = start(plane, "nodemend-checker", "--machine-health-checks=on")
        yield World(plane, checker, counts)


def _give_rights(plane: ControlPlane) -> None:
    use = ["get", "list", "watch", "create", "delete"]
    rules = [
        {
            "apiGroups": [group],
            "resources": [plural for kind in kinds for plural in _plurals(kind)],
            "verbs": use,
        }
        for group, (_, kinds) in _KINDS.items()
    ]
    header = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    plane.api.create({**header, "metadata": {"name": "may-remedy"}, "rules": rules})
    bind(plane, "may-remedy", SYSTEM_NAMESPACE, "nodemend-checker")


def _plurals(kind: str) -> tuple[str, str]:
    return f"{kind.lower()}s", f"{kind.lower()}templates"


def _definitions() -> Iterator[Object]:
    for group, (version, kinds) in _KINDS.items():
        for kind in kinds:
            yield _definition(group, version, kind, {"spec": _ANYTHING, "status": _ANYTHING})
            template = {"type": "object", "properties": {"spec": _ANYTHING}}
            spec = {"type": "object", "properties": {"template": template}}
            yield _definition(group, version, f"{kind}Template", {"spec": spec})


def _definition(group: str, version: str, kind: str, properties: dict[str, Any]) -> Object:
    plural = f"{kind.lower()}s"
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
    }


_ANYTHING: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
