"""The cached record of a remediation of any kind, with the fields that a health check needs."""

from typing import Final

import msgspec

from nodemend.api import condition_types, well_known
from nodemend.api.resources import MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION, Resource
from nodemend.kube.store import Projection, WireMetadata

_FENCING: Final = (MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION)


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str
    status: str = "Unknown"


class _Owner(msgspec.Struct, frozen=True, gc=False):
    uid: str = ""


class _Metadata(WireMetadata, frozen=True, gc=False, rename="camel"):
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
    """`version` is the resourceVersion at which it was read: a delete that is based on it names it."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    version: str
    created: str
    """Creation time as the API server wrote it, for people."""
    deleting: bool
    labels: dict[str, str]
    annotations: dict[str, str]
    owners: tuple[str, ...]
    """The UIDs of its owners."""
    conditions: tuple[_Condition, ...]
    taken_up: bool = True
    """True if its controller has written to it. Nodemend's remediator does so before anything else."""

    def says(self, type_: str) -> str:
        """The status of a condition; empty if it is absent."""
        return next((one.status for one in self.conditions if one.type == type_), "")

    @property
    def recovers(self) -> bool:
        """True if it was created to recover a node and remediates nothing. Kinds that fence never recover."""
        return well_known.RECOVERY in self.annotations and not self.fences

    @property
    def fences(self) -> bool:
        """True for kinds that Nodemend's remediator serves: they succeed only when the node is back."""
        return self.resource in _FENCING

    @property
    def untouched(self) -> bool:
        """True for a kind that Nodemend's remediator serves, but has not started: nothing has begun."""
        return self.fences and not self.taken_up and not self.deleting

    @property
    def released(self) -> bool:
        """True if the workloads of its node run elsewhere; False if they may run twice."""
        return (
            self.fences and self.says(condition_types.WORKLOAD_RELEASED) == "True" and not self.contradicted
        )

    @property
    def contradicted(self) -> bool:
        """True if the boot whose workloads it released was observed running after that."""
        return self.fences and self.says(condition_types.EVIDENCE_CONTRADICTED) == "True"

    @property
    def goes_on(self) -> bool:
        """True until it has succeeded: then it blocks nothing. A recovery never does."""
        return not self.recovers and self.says(condition_types.SUCCEEDED) != "True"

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.namespace}/{self.name}"


def remediation_records(resource: Resource) -> Projection[RemediationWire, RemediationRecord]:
    return Projection(
        resource, RemediationWire, lambda wire, _: as_record(resource, wire), lambda record: record.uid
    )


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
        taken_up=well_known.SAFE_END in metadata.finalizers or bool(wire.status.conditions),
    )
