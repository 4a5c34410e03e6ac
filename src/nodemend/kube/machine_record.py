"""What we keep of a Machine, of Cluster API's or of OpenShift's: both have the same bones."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.api.group_versions import Resource
from nodemend.decide.machine_marks import Mark, Marks
from nodemend.kube.machine_dialect import Dialect
from nodemend.kube.projection import Projection
from nodemend.kube.shared_values import SharedValues

CHECKED: Final = "HealthCheckSucceeded"
OWNER: Final = "OwnerRemediated"
EXTERNAL: Final = "ExternallyRemediated"
OUR_MARKS: Final = (CHECKED, OWNER, EXTERNAL)

PAUSED: Final = "cluster.x-k8s.io/paused"
SKIP: Final = "cluster.x-k8s.io/skip-remediation"
REMEDIATE: Final = "cluster.x-k8s.io/remediate-machine"


class MachineCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str
    status: str = "Unknown"
    reason: str = ""
    last_transition_time: str | None = None
    """As it is written."""


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


class MachineRecord(msgspec.Struct, frozen=True, gc=False):
    """`version` is that of the object when the record was made: a write that rests on it names it."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    cluster: str
    control_plane: bool
    node: str
    """The name of its Node; empty before it has one."""
    provider_id: str
    failure_domain: str
    owner: OwnerReference | None
    """The controller that has it."""
    conditions: tuple[MachineCondition, ...]
    """But for our own marks."""
    marks: Marks
    infrastructure_ready: bool
    failed: str | None
    """What its phase Failed says, where that means something; None in any other phase."""
    left_alone_by: str
    """The annotation that takes it out of every check; empty for none."""
    asked_by: str
    """The annotation that asks for its remediation; empty for none."""
    deleting: bool
    asked_externally: str | None = None
    """The value of the annotation that asks for its remediation from outside; None where there is none."""
    marked_by_other: str = ""
    """The annotation by which another controller says that it is at work on that; empty for none."""
    hosted: bool = False
    """Whether it is a host of metal3: that can be switched off and on."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def __str__(self) -> str:
        return f"Machine {self.key}"


class _Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()


class _Kind(msgspec.Struct, frozen=True, gc=False):
    kind: str = ""


class _Spec(msgspec.Struct, frozen=True, gc=False):
    cluster_name: str = msgspec.field(name="clusterName", default="")
    provider_id: str | None = msgspec.field(name="providerID", default=None)
    failure_domain: str | None = msgspec.field(name="failureDomain", default=None)
    infrastructure: _Kind | None = msgspec.field(name="infrastructureRef", default=None)


class _Named(msgspec.Struct, frozen=True, gc=False):
    name: str = ""


class _ShownCondition(MachineCondition, frozen=True, gc=False, rename="camel"):
    message: str = ""


class _Initialization(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    infrastructure_provisioned: bool = False


class _Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    node_ref: _Named | None = None
    conditions: tuple[_ShownCondition, ...] = ()
    phase: str = ""
    error_reason: str = ""
    error_message: str = ""
    infrastructure_ready: bool = False
    initialization: _Initialization = _Initialization()


class MachineWire(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


def machine_records(resource: Resource, dialect: Dialect) -> Projection[MachineWire, MachineRecord]:
    shared = SharedValues()

    def project(wire: MachineWire, _old: MachineRecord | None) -> MachineRecord:
        return as_machine(resource, dialect, wire, shared)

    return Projection(resource, MachineWire, project, lambda record: record.uid)


def as_machine(
    resource: Resource, dialect: Dialect, wire: MachineWire, shared: SharedValues | None = None
) -> MachineRecord:
    """With `shared`, for many: machines of one set say nearly the same."""
    metadata, spec, status = wire.metadata, wire.spec, wire.status
    shared = shared or SharedValues()
    one = shared.one
    annotations = metadata.annotations
    failed = status.phase == "Failed" and dialect.failed_is_unhealthy
    return MachineRecord(
        resource=resource,
        namespace=one(metadata.namespace),
        name=metadata.name,
        uid=metadata.uid,
        labels=shared.mapping(metadata.labels),
        cluster=one(spec.cluster_name),
        control_plane=_has_any(metadata.labels, dialect.control_plane_labels),
        node=status.node_ref.name if status.node_ref is not None else "",
        provider_id=spec.provider_id or "",
        failure_domain=one(spec.failure_domain or ""),
        owner=one(next((owner for owner in metadata.owner_references if owner.controller), None)),
        conditions=tuple(
            [
                MachineCondition(
                    one(told.type), one(told.status), one(told.reason), told.last_transition_time
                )
                for told in status.conditions
                if told.type not in OUR_MARKS
            ]
        ),
        marks=one(read_marks(status.conditions, dialect)),
        infrastructure_ready=status.infrastructure_ready or status.initialization.infrastructure_provisioned,
        failed=(status.error_message or status.error_reason) if failed else None,
        left_alone_by=next((key for key in (PAUSED, SKIP) if key in annotations), ""),
        asked_by=REMEDIATE if REMEDIATE in annotations else "",
        deleting=metadata.deletion_timestamp is not None,
        asked_externally=annotations.get(keys.EXTERNAL_REMEDIATION),
        marked_by_other=next((key for key in keys.MARKS_OF_THE_ACTUATOR if key in annotations), ""),
        hosted=_is_hosted(wire),
    )


def _is_hosted(wire: MachineWire) -> bool:
    """OpenShift's Machines name their host themselves; behind Cluster API's stands a Metal3Machine."""
    named = wire.spec.infrastructure
    return keys.HOST_OF_MACHINE in wire.metadata.annotations or (
        named is not None and named.kind == "Metal3Machine"
    )


def read_marks(conditions: Iterable[_ShownCondition], dialect: Dialect) -> Marks:
    """Our marks, with their reasons in the words that decisions use."""
    told = {word: ours for ours, word in dialect.reasons.items()}
    shown = {one.type: one for one in conditions}
    return Marks(*(_mark(shown.get(type_), told) for type_ in OUR_MARKS))


def _mark(shown: _ShownCondition | None, told: Mapping[str, str]) -> Mark | None:
    if shown is None:
        return None
    status = ConditionStatus(shown.status) if shown.status in ("True", "False") else ConditionStatus.UNKNOWN
    return Mark(status, told.get(shown.reason, shown.reason), shown.message)


def _has_any(labels: Mapping[str, str], wanted: Iterable[tuple[str, str | None]]) -> bool:
    return any(key in labels and value in (None, labels[key]) for key, value in wanted)
