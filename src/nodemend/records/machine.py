"""Cached records of Machines, MachineHealthChecks (Cluster API, OpenShift) and Clusters (Cluster API).

The Machines of both projects have the same structure, but differ in naming and in the form of conditions. A
MachineHealthCheck has the flat shape of 2020 or the grouped one of v1beta2; both are read as the same rules.
Durations have the form of Go: "10m0s", "1.5h", "300ms". The record of a Cluster shows if its Machines can be
judged yet.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

import msgspec

from nodemend.api import condition_reasons, condition_types, well_known
from nodemend.api.meta import ConditionStatus, LabelSelector
from nodemend.api.resources import Resource
from nodemend.kube.store import Projection, SharedValues, WireMetadata
from nodemend.rules.machine import (
    HealthCondition,
    HealthConditions,
    MachineRules,
    TemplateNamed,
    WatchedCondition,
)
from nodemend.safety.limits import LimitComparison, LimitSemantics, parse_comparison

_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(ns|us|µs|μs|ms|s|m|h)")


def parse_go_duration(text: str) -> float:
    """Seconds. Raises ValueError for an invalid or negative duration."""
    if text == "0":
        return 0.0
    parts = list(_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        raise ValueError(f"{text!r} is no duration; write it like 10m0s")
    return sum(float(part[1]) * _SECONDS[part[2]] for part in parts)


CLUSTER_API: Final = "cluster.x-k8s.io"
OPENSHIFT: Final = "machine.openshift.io"


class ConditionForm(StrEnum):
    STANDARD = "standard"
    """Today's form of Kubernetes: with a generation, and always with a reason."""
    OLD = "old"
    """The first form of Cluster API: a severity if False, and a reason only then."""


@dataclass(frozen=True, slots=True)
class MachineApiFlavor:
    """One project's API in one version. `reasons` maps Nodemend's reasons to different names."""

    group: str
    version: str
    form: ConditionForm
    control_plane_labels: tuple[tuple[str, str | None], ...]
    """Labels of a control-plane Machine, each with its value; None accepts any value."""
    owners_read_conditions: bool
    """True if the owners of its Machines replace a Machine when Nodemend's conditions request it."""
    has_clusters: bool
    """True if its Machines belong to Cluster objects."""
    reasons: Mapping[str, str]
    failed_is_unhealthy: bool = False


_OUR_REASONS: Final[Mapping[str, str]] = MappingProxyType({})
_OLD_REASONS: Final = MappingProxyType(
    {
        condition_reasons.UNHEALTHY_NODE: "UnhealthyNodeCondition",
        condition_reasons.UNHEALTHY_MACHINE: "UnhealthyMachineCondition",
        condition_reasons.NODE_DELETED: "NodeNotFound",
        condition_reasons.HAS_REMEDIATE_ANNOTATION: "HasRemediateMachineAnnotation",
        # An old condition that is True has no reason.
        condition_reasons.HEALTH_CHECK_SUCCEEDED: "",
    }
)

CLUSTER_API_V1BETA2: Final = MachineApiFlavor(
    CLUSTER_API,
    "v1beta2",
    ConditionForm.STANDARD,
    (("cluster.x-k8s.io/control-plane", None),),
    owners_read_conditions=True,
    has_clusters=True,
    reasons=_OUR_REASONS,
)
CLUSTER_API_V1BETA1: Final = replace(
    CLUSTER_API_V1BETA2, version="v1beta1", form=ConditionForm.OLD, reasons=_OLD_REASONS
)
OPENSHIFT_V1BETA1: Final = MachineApiFlavor(
    OPENSHIFT,
    "v1beta1",
    ConditionForm.OLD,
    (
        ("machine.openshift.io/cluster-api-machine-role", "master"),
        ("machine.openshift.io/cluster-api-machine-type", "master"),
    ),
    owners_read_conditions=False,
    has_clusters=False,
    failed_is_unhealthy=True,
    reasons=_OLD_REASONS,
)

MACHINE_API_FLAVORS: Final = (CLUSTER_API_V1BETA2, CLUSTER_API_V1BETA1, OPENSHIFT_V1BETA1)
"""Within one group, the first version that the API server serves is used."""


def flavor_of(resource: Resource) -> MachineApiFlavor:
    """The flavor of objects of this kind. A version that is older than all uses the oldest."""
    spoken = [flavor for flavor in MACHINE_API_FLAVORS if flavor.group == resource.group]
    return next((flavor for flavor in spoken if flavor.version == resource.version), spoken[-1])


CHECKED: Final = condition_types.HEALTH_CHECK_SUCCEEDED
OWNER: Final = condition_types.OWNER_REMEDIATED
EXTERNAL: Final = condition_types.EXTERNALLY_REMEDIATED
OUR_MARKS: Final = (CHECKED, OWNER, EXTERNAL)

PAUSED: Final = "cluster.x-k8s.io/paused"
SKIP: Final = "cluster.x-k8s.io/skip-remediation"
REMEDIATE: Final = "cluster.x-k8s.io/remediate-machine"


class MachineCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str
    status: str = "Unknown"
    reason: str = ""
    last_transition_time: str | None = None
    """As written in the object."""


class MachineOwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


class MachineRecord(msgspec.Struct, frozen=True, gc=False):
    """The cached fields of a Machine. It has no resourceVersion: a write takes that from a live read."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    cluster: str
    control_plane: bool
    node: str
    """Name of its Node; empty before it has one."""
    provider_id: str
    failure_domain: str
    owner: MachineOwnerReference | None
    """Its controlling owner."""
    conditions: tuple[MachineCondition, ...]
    """All conditions except Nodemend's own (`marks`)."""
    marks: HealthConditions
    infrastructure_ready: bool
    failed: str | None
    """The error of the phase Failed, if that phase counts as unhealthy in this API; None otherwise."""
    left_alone_by: str
    """The annotation that excludes it from every check; empty if it has no such annotation."""
    asked_by: str
    """The annotation that requests its remediation; empty if it has no such annotation."""
    deleting: bool
    asked_externally: str | None = None
    """Value of the annotation that requests its remediation from outside; None if it is not set."""
    marked_by_other: str = ""
    """The annotation by which another controller shows that it acts on that request; empty if not set."""
    hosted: bool = False
    """True if its host is a metal3 host, which can be powered off and on."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def __str__(self) -> str:
        return f"Machine {self.key}"


class _Metadata(WireMetadata, frozen=True, gc=False, rename="camel"):
    creation_timestamp: datetime | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[MachineOwnerReference, ...] = ()


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


def machine_records(resource: Resource, flavor: MachineApiFlavor) -> Projection[MachineWire, MachineRecord]:
    shared = SharedValues()
    return Projection(
        resource,
        MachineWire,
        lambda wire, _: as_machine(resource, flavor, wire, shared),
        lambda record: record.uid,
    )


def as_machine(
    resource: Resource, flavor: MachineApiFlavor, wire: MachineWire, shared: SharedValues | None = None
) -> MachineRecord:
    """The record. `shared` shares values between records: Machines of one set are nearly equal."""
    metadata, spec, status = wire.metadata, wire.spec, wire.status
    shared = shared or SharedValues()
    one = shared.one
    annotations = metadata.annotations
    failed = status.phase == "Failed" and flavor.failed_is_unhealthy
    return MachineRecord(
        resource=resource,
        namespace=one(metadata.namespace),
        name=metadata.name,
        uid=metadata.uid,
        labels=shared.mapping(metadata.labels),
        cluster=one(spec.cluster_name),
        control_plane=_has_any(metadata.labels, flavor.control_plane_labels),
        node=status.node_ref.name if status.node_ref is not None else "",
        provider_id=spec.provider_id or "",
        failure_domain=one(spec.failure_domain or ""),
        owner=one(next((owner for owner in metadata.owner_references if owner.controller), None)),
        conditions=tuple(
            [
                MachineCondition(
                    one(reported.type),
                    one(reported.status),
                    one(reported.reason),
                    reported.last_transition_time,
                )
                for reported in status.conditions
                if reported.type not in OUR_MARKS
            ]
        ),
        marks=one(read_marks(status.conditions, flavor)),
        infrastructure_ready=status.infrastructure_ready or status.initialization.infrastructure_provisioned,
        failed=(status.error_message or status.error_reason) if failed else None,
        left_alone_by=next((key for key in (PAUSED, SKIP) if key in annotations), ""),
        asked_by=REMEDIATE if REMEDIATE in annotations else "",
        deleting=metadata.deletion_timestamp is not None,
        asked_externally=annotations.get(well_known.EXTERNAL_REMEDIATION),
        marked_by_other=next((key for key in well_known.MARKS_OF_THE_ACTUATOR if key in annotations), ""),
        hosted=_is_hosted(wire),
    )


def _is_hosted(wire: MachineWire) -> bool:
    """An OpenShift Machine names its metal3 host; a Cluster API one refers to a Metal3Machine."""
    named = wire.spec.infrastructure
    return well_known.HOST_OF_MACHINE in wire.metadata.annotations or (
        named is not None and named.kind == "Metal3Machine"
    )


def read_marks(conditions: Iterable[_ShownCondition], flavor: MachineApiFlavor) -> HealthConditions:
    """Nodemend's own conditions, with their reasons translated to the names that decisions use."""
    reported = {token: ours for ours, token in flavor.reasons.items()}
    shown = {one.type: one for one in conditions}
    return HealthConditions(*(_mark(shown.get(type_), reported) for type_ in OUR_MARKS))


def _mark(shown: _ShownCondition | None, reported: Mapping[str, str]) -> HealthCondition | None:
    if shown is None:
        return None
    status = ConditionStatus(shown.status) if shown.status in ("True", "False") else ConditionStatus.UNKNOWN
    return HealthCondition(status, reported.get(shown.reason, shown.reason), shown.message)


def _has_any(labels: Mapping[str, str], wanted: Iterable[tuple[str, str | None]]) -> bool:
    return any(key in labels and value in (None, labels[key]) for key, value in wanted)


Shown = Mapping[str, Any]


def spell(
    mark: HealthCondition, type_: str, flavor: MachineApiFlavor, shown: Shown | None, now: str
) -> dict[str, Any]:
    """One condition. It keeps the transition time of the existing one while the status is the same."""
    same = shown is not None and shown.get("status") == mark.status
    since = shown["lastTransitionTime"] if same and shown is not None else now
    reason = flavor.reasons.get(mark.reason, mark.reason)
    condition = {"type": type_, "status": str(mark.status), "lastTransitionTime": since}
    match flavor.form:
        case ConditionForm.STANDARD:
            return condition | {"reason": reason, "message": mark.message}
        case ConditionForm.OLD:
            severity = {"severity": "Warning"} if mark.status is ConditionStatus.FALSE else {}
            reported = {"reason": reason, "message": mark.message}
            return condition | severity | {key: value for key, value in reported.items() if value}


def with_marks(
    conditions: Sequence[Shown], marks: HealthConditions, flavor: MachineApiFlavor, now: str
) -> list[dict[str, Any]]:
    """The conditions of other controllers unchanged, and Nodemend's own as they should be."""
    wanted = dict(zip(OUR_MARKS, (marks.checked, marks.owner, marks.external), strict=True))
    return replaced(conditions, wanted, flavor, now)


def replaced(
    conditions: Iterable[Shown],
    wanted: Mapping[str, HealthCondition | None],
    flavor: MachineApiFlavor,
    now: str,
) -> list[dict[str, Any]]:
    """The same list, with each condition in `wanted` set, or removed if its value is None."""
    before = {one["type"]: one for one in conditions}
    kept = [dict(one) for type_, one in before.items() if type_ not in wanted]
    ours = [
        spell(mark, type_, flavor, before.get(type_), now)
        for type_, mark in wanted.items()
        if mark is not None
    ]
    return kept + ours


USUAL_STARTUP: Final = 600.0
"""Seconds within which a Machine must become a Node, if its check does not say."""


class _RuleCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str = ""
    status: str = ""
    timeout: str | None = None
    timeout_seconds: int | None = None


class _Reference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""


class _Checks(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    node_startup_timeout_seconds: int | None = None
    unhealthy_node_conditions: tuple[_RuleCondition, ...] = ()
    unhealthy_machine_conditions: tuple[_RuleCondition, ...] = ()


class _TriggerIf(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    unhealthy_less_than_or_equal_to: int | str | None = None
    unhealthy_in_range: str = ""


class _Remediation(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    trigger_if: _TriggerIf = _TriggerIf()
    template_ref: _Reference | None = None


class MachineCheckSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    cluster_name: str = ""
    selector: LabelSelector = LabelSelector()
    # Grouped, since v1beta2.
    checks: _Checks = _Checks()
    remediation: _Remediation = _Remediation()
    # Flat.
    unhealthy_conditions: tuple[_RuleCondition, ...] = ()
    unhealthy_machine_conditions: tuple[_RuleCondition, ...] = ()
    max_unhealthy: int | str | None = None
    unhealthy_range: str = ""
    node_startup_timeout: str | None = None
    remediation_template: _Reference | None = None
    external_remediation_template: _Reference | None = None


def read_rules(spec: MachineCheckSpec, namespace: str, annotations: Mapping[str, str]) -> MachineRules:
    """Never fails: parts that cannot be applied are recorded, and stop the check from acting."""
    reader = _RulesReader(spec)
    gate, reading = reader.gate()
    return MachineRules(
        cluster=spec.cluster_name,
        selector=spec.selector,
        of_node=reader.watched((*spec.checks.unhealthy_node_conditions, *spec.unhealthy_conditions)),
        of_machine=reader.watched(
            (*spec.checks.unhealthy_machine_conditions, *spec.unhealthy_machine_conditions)
        ),
        startup=reader.startup(),
        gate=gate,
        reading=reading,
        template=reader.template(namespace, annotations.get(well_known.REMEDIATION_STRATEGY)),
        unread=tuple(reader.unread),
    )


class _RulesReader:
    """Reads one spec, and records the parts that cannot be applied."""

    def __init__(self, spec: MachineCheckSpec) -> None:
        self._spec = spec
        self.unread: list[str] = []

    def watched(self, conditions: Iterable[_RuleCondition]) -> tuple[WatchedCondition, ...]:
        found = []
        for one in conditions:
            seconds = self._seconds(one.timeout, one.timeout_seconds)
            if one.status not in ("True", "False", "Unknown"):
                self.unread.append(f"a condition {one.type} has no status {one.status!r}")
            elif seconds is not None:
                found.append(WatchedCondition(one.type, ConditionStatus(one.status), seconds))
        return tuple(found)

    def startup(self) -> float | None:
        """Seconds, or None if the check requests no limit."""
        written, grouped = self._spec.node_startup_timeout, self._spec.checks.node_startup_timeout_seconds
        if written is None and grouped is None:
            return USUAL_STARTUP
        return self._seconds(written, grouped) or None

    def gate(self) -> tuple[LimitComparison | None, LimitSemantics]:
        """A range wins over a limit. A limit whose field name says "or equal" includes its value."""
        trigger = self._spec.remediation.trigger_if
        spanned = trigger.unhealthy_in_range or self._spec.unhealthy_range
        if spanned:
            return self._parse_gate(spanned), LimitSemantics.AT_LIMIT
        if trigger.unhealthy_less_than_or_equal_to is not None:
            return self._parse_gate(trigger.unhealthy_less_than_or_equal_to), LimitSemantics.ABOVE_LIMIT
        if self._spec.max_unhealthy is not None:
            return self._parse_gate(self._spec.max_unhealthy), LimitSemantics.AT_LIMIT
        return None, LimitSemantics.AT_LIMIT

    def template(self, namespace: str, strategy: str | None) -> TemplateNamed | None:
        """`strategy` is OpenShift's annotation by which a check requests another remedy than deletion."""
        spec = self._spec
        found = (
            spec.remediation.template_ref or spec.remediation_template or spec.external_remediation_template
        )
        if found is None and strategy is not None:
            known = strategy == well_known.EXTERNAL_STRATEGY
            named = strategy if known else "one that Nodemend does not know"
            said = f"its annotation {well_known.REMEDIATION_STRATEGY} ({named}) needs a remediation template"
            self.unread.append(said)
        if found is None:
            return None
        if found.namespace not in ("", namespace):
            self.unread.append(f"its template is in {found.namespace}, not in its own namespace")
        if not found.kind.endswith("Template") or not found.name:
            self.unread.append(f"its template is {found.kind!r} {found.name!r}")
        return TemplateNamed(found.api_version, found.kind, found.name)

    def _parse_gate(self, written: int | str) -> LimitComparison | None:
        try:
            return parse_comparison(written)
        except ValueError as error:
            self.unread.append(str(error))
            return None

    def _seconds(self, written: str | None, seconds: int | None) -> float | None:
        if seconds is not None:
            return float(seconds)
        try:
            return parse_go_duration(written or "")
        except ValueError as error:
            self.unread.append(str(error))
            return None


CLAIM: Final = ("cluster.x-k8s.io/watch-filter", "nodemend")
"""Label by which an administrator gives Nodemend a check that another project would serve."""


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
    """As written, for comparison with the required status."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def condition(self, type_: str) -> Mapping[str, Any] | None:
        """The condition as written in the status; None if it is absent."""
        return next((one for one in self.status.get("conditions") or () if one.get("type") == type_), None)


class _CheckMetadata(WireMetadata, frozen=True, gc=False, rename="camel"):
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class MachineCheckWire(msgspec.Struct, frozen=True, gc=False):
    metadata: _CheckMetadata
    spec: MachineCheckSpec = MachineCheckSpec()
    status: dict[str, Any] = {}


def machine_check_records(resource: Resource) -> Projection[MachineCheckWire, MachineCheckRecord]:
    return Projection(
        resource,
        MachineCheckWire,
        lambda wire, _: as_machine_check(resource, wire),
        lambda record: record.uid,
    )


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


class WorkloadClusterRecord(msgspec.Struct, frozen=True, gc=False):
    namespace: str
    name: str
    uid: str
    paused: bool
    infrastructure_ready: bool
    control_plane_initialized: bool


class _ClusterSpec(msgspec.Struct, frozen=True, gc=False):
    paused: bool | None = None


class _ClusterCondition(msgspec.Struct, frozen=True, gc=False):
    type: str
    status: str = "Unknown"


class _ClusterInitialization(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    infrastructure_provisioned: bool = False
    control_plane_initialized: bool = False


class _ClusterStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    infrastructure_ready: bool = False
    conditions: tuple[_ClusterCondition, ...] = ()
    initialization: _ClusterInitialization = _ClusterInitialization()


class WorkloadClusterWire(msgspec.Struct, frozen=True, gc=False):
    metadata: WireMetadata
    spec: _ClusterSpec = _ClusterSpec()
    status: _ClusterStatus = _ClusterStatus()


def workload_cluster_records(resource: Resource) -> Projection[WorkloadClusterWire, WorkloadClusterRecord]:
    return Projection(resource, WorkloadClusterWire, _project, lambda record: record.uid)


def _project(wire: WorkloadClusterWire, _old: WorkloadClusterRecord | None) -> WorkloadClusterRecord:
    status = wire.status
    true = {one.type for one in status.conditions if one.status == "True"}
    return WorkloadClusterRecord(
        namespace=wire.metadata.namespace,
        name=wire.metadata.name,
        uid=wire.metadata.uid,
        paused=bool(wire.spec.paused),
        infrastructure_ready=status.infrastructure_ready or status.initialization.infrastructure_provisioned,
        control_plane_initialized=status.initialization.control_plane_initialized
        or "ControlPlaneInitialized" in true,
    )
