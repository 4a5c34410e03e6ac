"""Facts about edge-07 at noon of one day, for tests: objects as the API server would return them."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from nodemend.api import self_remediation, well_known
from nodemend.api.agent import AgentReport, CertificateReport, Marker, WatchdogReport
from nodemend.api.evidence import Evidence, HostOff
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationStatus
from nodemend.api.manual_remediation import ManualRemediationPhase as ManualPhase
from nodemend.api.meta import (
    Condition,
    ConditionStatus,
    LabelSelector,
    ObjectMeta,
    OwnerReference,
    print_micro_time,
    print_time,
)
from nodemend.api.metal3_remediation import (
    Metal3Remediation,
    Metal3RemediationPhase,
    Metal3RemediationStatus,
    OffSighting,
    TargetHost,
)
from nodemend.api.node_health_check import NodeHealthCheck, NodeHealthCheckStatus, TargetReport
from nodemend.api.resources import METAL3_REMEDIATION, Resource
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationStatus
from nodemend.api.upstream_types import (
    BareMetalHost,
    BareMetalHostSpec,
    BareMetalHostStatus,
    Lease,
    LeaseSpec,
    Machine,
    Metal3Machine,
    Node,
    NodeCondition,
    NodeInfo,
    NodeSpec,
    NodeStatus,
    NodeTaint,
    Pod,
    PodSpec,
    PodStatus,
    Provisioning,
    VolumeAttachment,
    VolumeAttachmentSpec,
)
from nodemend.cli.listing import Listing
from nodemend.cli.node_report import NodeCase
from nodemend.kube.events import EventWire, ReferenceSeen, SeriesSeen
from nodemend.remediation.metal3.host_lookup import MachineRef
from nodemend.safety.facts import Present
from tests.unit.cli.check.sound_facts import check

NODE: Final = "edge-07"
NOON: Final = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
HOST: Final = TargetHost(namespace="metal3", name="rack7-u12", uid="uid-host")
REMEDIATION_UID: Final = "uid-remediation"
CHECKER, REMEDIATOR = "nodemend.io/checker", "nodemend.io/remediator"


def at(seconds: float) -> datetime:
    """The time this many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


def written(seconds: float) -> str:
    return print_time(at(seconds))


def written_finely(seconds: float) -> str:
    return print_micro_time(at(seconds))


def a_node(ready: str = "Unknown", since: float = 50.0, *taints: NodeTaint) -> Node:
    condition = NodeCondition(
        type="Ready", status=ready, reason="NodeStatusUnknown", last_transition_time=written(since)
    )
    return Node(
        metadata=ObjectMeta(name=NODE, uid="uid-node", labels={"rack": "7"}),
        spec=NodeSpec(taints=taints, provider_id=f"metal3://{HOST}/edge-07"),
        status=NodeStatus(conditions=(condition,), node_info=NodeInfo(boot_id="boot-1")),
    )


OUR_TAINT: Final = NodeTaint(
    key=well_known.OUT_OF_SERVICE, effect=well_known.NO_EXECUTE, value=well_known.OUR_TAINT_VALUE
)


def a_lease(renewed: float) -> Lease:
    return Lease(spec=LeaseSpec(lease_duration_seconds=40, renew_time=written_finely(renewed)))


def a_lock(uid: str = REMEDIATION_UID) -> Lease:
    return Lease(
        metadata=ObjectMeta(annotations={well_known.HOLDER: "ManualRemediation default/edge-07"}),
        spec=LeaseSpec(holder_identity=uid),
    )


def a_check(*reports: TargetReport, **status: Any) -> NodeHealthCheck:
    selected = check()
    allowed = Condition(
        type="RemediationAllowed",
        status=ConditionStatus.TRUE,
        reason="Allowed",
        last_transition_time=written(0),
    )
    status = {"conditions": (allowed,), **status}
    return selected.but(
        spec=selected.spec.but(selector=LabelSelector(match_labels={"rack": "7"})),
        status=NodeHealthCheckStatus(reports=reports, **status),
    )


REMEDIATING: Final = TargetReport(name=NODE, verdict="Remediating", remedy=1)


def evidence(renewed: float, seen: float) -> Evidence:
    return Evidence(
        class_="E1",
        node_uid="uid-node",
        boot_id="boot-1",
        by=f"BareMetalHost {HOST}",
        reason="its power went off after Nodemend's power-off request",
        last_renew_time=written_finely(renewed),
        host=HostOff(namespace=HOST.namespace, name=HOST.name, uid=HOST.uid, last_updated=written(seen)),
    )


def condition(type_: str, status: str, since: float, reason: str = "InProgress") -> Condition:
    return Condition(
        type=type_, status=ConditionStatus(status), reason=reason, last_transition_time=written(since)
    )


def metadata(begun: float, **others: Any) -> ObjectMeta:
    return ObjectMeta(
        name=NODE,
        namespace="nodemend-system",
        uid=REMEDIATION_UID,
        creation_timestamp=written(begun),
        labels={well_known.CHECK: "workers"},
        **others,
    )


def a_power_cycle(phase: Metal3RemediationPhase, begun: float = 350.0, **status: Any) -> Metal3Remediation:
    return Metal3Remediation(
        metadata=metadata(begun),
        status=Metal3RemediationStatus(phase=phase, node_name=NODE, node_uid="uid-node", host=HOST, **status),
    )


def a_sighting(renewed: float, seen: float) -> OffSighting:
    return OffSighting(last_updated=written(seen), last_renew_time=written_finely(renewed))


def by_hand(phase: ManualPhase, begun: float = 350.0, **status: Any) -> ManualRemediation:
    return ManualRemediation(
        metadata=metadata(begun), status=ManualRemediationStatus(phase=phase, node_uid="uid-node", **status)
    )


A_REPORT: Final = AgentReport(
    node_uid="uid-node",
    boot_id="boot-1",
    sequence=900,
    acknowledged=899,
    steady_since=1,
    feed_lease=35.0,
    contact_age=15.0,
    watchdog=WatchdogReport(class_="hardware", driver="iTCO_wdt", written=5.0, effective=10.0),
    peers=(("edge-01", "edge-02", "edge-03", "edge-04"),),
    address="192.0.2.7:7443",
    boot_gate=True,
    version="0.4.0",
    certificate=CertificateReport(ends=written(72_100.0), life=86_400.0),
)
A_MARKER: Final = Marker(node_uid="uid-node", boot_id="boot-1", remediation_uid=REMEDIATION_UID)


def an_agent_lease(
    renewed: float, report: AgentReport | None = A_REPORT, marker: Marker | None = None, name: str = NODE
) -> Lease:
    said = {} if report is None else {well_known.AGENT_REPORT: msgspec.json.encode(report).decode()}
    marked = {} if marker is None else {well_known.MARKER: msgspec.json.encode(marker).decode()}
    return Lease(
        metadata=ObjectMeta(
            name=name,
            namespace=well_known.AGENT_NAMESPACE,
            uid=f"uid-lease-{name}",
            resource_version="71",
            annotations={**said, **marked},
        ),
        spec=LeaseSpec(holder_identity=name, renew_time=written_finely(renewed)),
    )


def by_itself(
    phase: self_remediation.SelfRemediationPhase, begun: float = 350.0, **status: Any
) -> SelfRemediation:
    known: dict[str, Any] = {"node_uid": "uid-node", "boot_id": "boot-1", **status}
    return SelfRemediation(metadata=metadata(begun), status=SelfRemediationStatus(phase=phase, **known))


def a_host(*, on: bool | None, wrote: float, held: bool = False, **others: Any) -> BareMetalHost:
    holds = {f"{well_known.POWER_OFF_REQUEST_PREFIX}{REMEDIATION_UID}": well_known.HARD_HOLD} if held else {}
    status = {"operational_status": "OK", **others}
    return BareMetalHost(
        metadata=ObjectMeta(name=HOST.name, namespace=HOST.namespace, uid=HOST.uid, annotations=holds),
        spec=BareMetalHostSpec(),
        status=BareMetalHostStatus(
            powered_on=on,
            last_updated=written(wrote),
            provisioning=Provisioning(state="provisioned"),
            **status,
        ),
    )


def a_machine() -> MachineRef:
    owner = OwnerReference(
        api_version="cluster.x-k8s.io/v1beta2",
        kind="MachineSet",
        name="workers",
        uid="uid-set",
        controller=True,
    )
    machine = Machine(
        metadata=ObjectMeta(
            name="workers-7xk2p", namespace="metal3", uid="uid-machine", owner_references=(owner,)
        )
    )
    infrastructure = Metal3Machine(metadata=ObjectMeta(name="workers-7xk2p-infra", namespace="metal3"))
    return MachineRef(Resource("cluster.x-k8s.io", "v1beta2", "Machine", "machines"), machine, infrastructure)


def a_pod(name: str, phase: str = "Running", *, ends: float | None = None) -> Pod:
    ending = None if ends is None else written(ends)
    return Pod(
        metadata=ObjectMeta(name=name, namespace="shop", deletion_timestamp=ending),
        spec=PodSpec(node_name=NODE),
        status=PodStatus(phase=phase),
    )


def a_volume(name: str, *, ends: float | None = None) -> VolumeAttachment:
    ending = None if ends is None else written(ends)
    return VolumeAttachment(
        metadata=ObjectMeta(name=name, deletion_timestamp=ending), spec=VolumeAttachmentSpec(node_name=NODE)
    )


def a_case(now: float, **known: Any) -> NodeCase:
    """The case this many seconds after noon, with the given facts; everything else is not installed."""
    found: dict[str, Any] = {name: Present(value) for name, value in known.items()}
    node = found.pop("node", Present(a_node()))
    remediations = {kind: found.pop(kind) for kind in ("manual", "power", "by_itself") if kind in found}
    return NodeCase(name=NODE, now=at(now), node=node, listed=Listing(**remediations), **found)


def event(seconds: float, reason: str, note: str, **others: Any) -> EventWire:
    """One of Nodemend's events about the node, unless `others` says otherwise."""
    said = {
        "regarding": ReferenceSeen(kind="Node", name=NODE),
        "related": ReferenceSeen(kind=METAL3_REMEDIATION.kind, name=NODE, namespace="nodemend-system"),
        "reporting_controller": REMEDIATOR,
        "type": "Normal",
        **others,
    }
    return EventWire(event_time=written_finely(seconds), reason=reason, note=note, **said)


def of_host(seconds: float, reason: str, note: str) -> EventWire:
    """An event as metal3's operator emits it: with the older Event API."""
    return EventWire(
        metadata=ObjectMeta(creation_timestamp=written(seconds)),
        deprecated_first_timestamp=written(seconds),
        deprecated_last_timestamp=written(seconds),
        reason=reason,
        note=note,
        type="Normal",
        regarding=ReferenceSeen(kind="BareMetalHost", name=HOST.name, namespace=HOST.namespace),
        reporting_controller="metal3-baremetal-controller",
    )


def often(count: int, last: float) -> SeriesSeen:
    return SeriesSeen(count=count, last_observed_time=written_finely(last))
