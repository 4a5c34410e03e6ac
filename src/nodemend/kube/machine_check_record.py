"""What we keep of a MachineHealthCheck, in the flat shape of 2020 and in the grouped one of v1beta2."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from nodemend.api.group_versions import Resource
from nodemend.decide.machine_rules import MachineRules
from nodemend.kube.machine_record import PAUSED
from nodemend.kube.machine_rules_reading import MachineCheckSpec, read_rules
from nodemend.kube.projection import Projection

CLAIM: Final = ("cluster.x-k8s.io/watch-filter", "nodemend")
"""The label by which an admin gives us a check that Cluster API or OpenShift would else serve."""


class MachineCheckRecord(msgspec.Struct, frozen=True, gc=False):
    resource: Resource
    namespace: str
    name: str
    uid: str
    version: str
    generation: int
    rules: MachineRules
    claimed: bool
    paused: bool
    status: dict[str, Any]
    """As it is written, to compare it with what should be."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def condition(self, type_: str) -> Mapping[str, Any] | None:
        """As it is written in the status; None when there is none."""
        return next((one for one in self.status.get("conditions") or () if one.get("type") == type_), None)


class _Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class MachineCheckWire(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata
    spec: MachineCheckSpec = MachineCheckSpec()
    status: dict[str, Any] = {}


def machine_check_records(resource: Resource) -> Projection[MachineCheckWire, MachineCheckRecord]:
    def project(wire: MachineCheckWire, _old: MachineCheckRecord | None) -> MachineCheckRecord:
        return as_machine_check(resource, wire)

    return Projection(resource, MachineCheckWire, project, lambda record: record.uid)


def as_machine_check(resource: Resource, wire: MachineCheckWire) -> MachineCheckRecord:
    metadata = wire.metadata
    return MachineCheckRecord(
        resource=resource,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        version=metadata.resource_version,
        generation=metadata.generation,
        rules=read_rules(wire.spec, metadata.namespace, metadata.annotations),
        claimed=metadata.labels.get(CLAIM[0]) == CLAIM[1],
        paused=PAUSED in metadata.annotations,
        status=wire.status,
    )
