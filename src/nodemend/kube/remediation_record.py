"""What a health check needs of a remediation, whoever's kind it is: its name and its conditions."""

from typing import Final

import msgspec

from nodemend.api import keys
from nodemend.api.group_versions import MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION, Resource
from nodemend.kube.projection import Projection

_FENCING: Final = (MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION)


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str
    status: str = "Unknown"


class _Owner(msgspec.Struct, frozen=True, gc=False):
    uid: str = ""


class _Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[_Owner, ...] = ()
    finalizers: tuple[str, ...] = ()


class _Status(msgspec.Struct, frozen=True, gc=False):
    conditions: tuple[_Condition, ...] = ()


class RemediationWire(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata
    status: _Status = _Status()


class RemediationRecord(msgspec.Struct, frozen=True, gc=False):
    """`version` is that of the object when the record was made: a delete that rests on it names it."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    version: str
    created: str
    """As the API server wrote it, for people."""
    deleting: bool
    labels: dict[str, str]
    annotations: dict[str, str]
    owners: tuple[str, ...]
    """The UIDs of what it belongs to."""
    conditions: tuple[_Condition, ...]
    taken_up: bool = True
    """Whoever serves it has written to it. Our remediator does so before anything else."""

    def says(self, type_: str) -> str:
        """The status of a condition; empty when there is none."""
        return next((one.status for one in self.conditions if one.type == type_), "")

    @property
    def recovers(self) -> bool:
        """It was made to recover a node, and remediates nothing. What fences never does, whatever it says."""
        return keys.RECOVERY in self.annotations and not self.fences

    @property
    def fences(self) -> bool:
        """Of a kind that our remediator serves: it has succeeded when the node is back, and not before."""
        return self.resource in _FENCING

    @property
    def untouched(self) -> bool:
        """Of a kind of ours, and our remediator has not taken it up: nothing has begun."""
        return self.fences and not self.taken_up and not self.deleting

    @property
    def released(self) -> bool:
        """The workloads of its node run elsewhere; not where they may run twice."""
        return self.fences and self.says("WorkloadReleased") == "True" and not self.contradicted

    @property
    def contradicted(self) -> bool:
        """The boot that it released the workloads of was seen alive after that."""
        return self.fences and self.says("EvidenceContradicted") == "True"

    @property
    def goes_on(self) -> bool:
        """One that has succeeded holds nobody up, and neither does a recovery."""
        return not self.recovers and self.says("Succeeded") != "True"

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.namespace}/{self.name}"


def remediation_records(resource: Resource) -> Projection[RemediationWire, RemediationRecord]:
    def project(wire: RemediationWire, _old: RemediationRecord | None) -> RemediationRecord:
        return as_record(resource, wire)

    return Projection(resource, RemediationWire, project, lambda record: record.uid)


def as_record(resource: Resource, wire: RemediationWire) -> RemediationRecord:
    metadata = wire.metadata
    return RemediationRecord(
        resource=resource,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        version=metadata.resource_version,
        created=metadata.creation_timestamp,
        deleting=metadata.deletion_timestamp is not None,
        labels=metadata.labels,
        annotations=metadata.annotations,
        owners=tuple(owner.uid for owner in metadata.owner_references),
        conditions=wire.status.conditions,
        taken_up=keys.SAFE_END in metadata.finalizers or bool(wire.status.conditions),
    )
