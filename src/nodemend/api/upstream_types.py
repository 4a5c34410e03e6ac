"""The parts of Pods and VolumeAttachments that tell what is still on a node.

The parts of metal3's BareMetalHost that a power cycle rests on.

Kubernetes' CertificateSigningRequest, as far as we read and write it.

Event of events.k8s.io, as we write it.

Lease of coordination.k8s.io, as far as we read it.

The parts of a Machine, of either project, by which its host is found and it is replaced.

The parts of a Node that decisions rest on, for reads that go to the API server itself.
"""

from enum import StrEnum
from typing import Any

import msgspec

from nodemend.api import well_known
from nodemend.api.meta import ConditionStatus, ObjectMeta, Wire


class Consumer(Wire):
    """Who uses the host."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class BareMetalHostSpec(Wire):
    online: bool = True
    disable_power_off: bool = False
    externally_provisioned: bool = False
    consumer_ref: Consumer | None = None


class Provisioning(Wire):
    state: str = ""


class HostCondition(Wire):
    type: str
    status: str
    reason: str = ""


class BareMetalHostStatus(Wire):
    # Absent is not off: an operator that has not looked yet has written nothing.
    powered_on: bool | None = None
    operational_status: str = ""
    error_type: str = ""
    error_message: str = ""
    last_updated: str = ""
    provisioning: Provisioning = Provisioning()
    conditions: tuple[HostCondition, ...] = ()


class BareMetalHost(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: BareMetalHostSpec = BareMetalHostSpec()
    status: BareMetalHostStatus = BareMetalHostStatus()

    @property
    def holds(self) -> tuple[str, ...]:
        """The keys of all holds on it, whoever's."""
        return tuple(key for key in self.metadata.annotations if key.startswith(well_known.HOLD_PREFIX))

    def condition(self, type_: str) -> HostCondition | None:
        return next((one for one in self.status.conditions if one.type == type_), None)


class CertificateSigningRequestSpec(Wire):
    """`username` and `extra` are the API server's own words about whoever made it."""

    request: str = ""
    """PKCS#10, as PEM in base64."""
    signer_name: str = ""
    expiration_seconds: int | None = None
    usages: tuple[str, ...] = ()
    username: str = ""
    extra: dict[str, tuple[str, ...]] = {}


class CertificateSigningRequestCondition(Wire):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_update_time: str | None = None
    last_transition_time: str | None = None


class CertificateSigningRequestStatus(Wire):
    conditions: tuple[CertificateSigningRequestCondition, ...] = ()
    certificate: str = ""
    """PEM in base64."""

    def says(self, type_: str) -> CertificateSigningRequestCondition | None:
        return next((one for one in self.conditions if one.type == type_), None)


class CertificateSigningRequest(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: CertificateSigningRequestSpec = CertificateSigningRequestSpec()
    status: CertificateSigningRequestStatus = CertificateSigningRequestStatus()


class EventType(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


class ObjectReference(Wire):
    """The very object that an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


class EventSeries(Wire):
    count: int
    last_observed_time: str


class Event(Wire):
    """Something that happened to an object, for people to read."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    event_time: str
    type: EventType
    reason: str
    action: str
    note: str
    regarding: ObjectReference
    reporting_controller: str
    reporting_instance: str
    related: ObjectReference | None = None
    series: EventSeries | None = None


class LeaseSpec(Wire):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Wire):
    """Who holds something, and when they last said so."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class InfrastructureReference(Wire):
    """By `api_version` in the older form, by `api_group` in the newer."""

    kind: str = ""
    name: str = ""
    api_version: str = ""
    api_group: str = ""


class NodeReference(Wire):
    name: str = ""


class MachineSpec(Wire):
    cluster_name: str = ""
    infrastructure_ref: InfrastructureReference | None = None
    provider_id: str = msgspec.field(name="providerID", default="")


class MachineNodeInfo(Wire):
    """What Cluster API copies from the Node that it found in the Machine's own cluster."""

    system_uuid: str = msgspec.field(name="systemUUID", default="")


class MachineStatus(Wire):
    node_ref: NodeReference | None = None
    node_info: MachineNodeInfo | None = None
    # As they are: they are written back whole, with those of others.
    conditions: tuple[dict[str, Any], ...] = ()


class Machine(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: MachineSpec = MachineSpec()
    status: MachineStatus = MachineStatus()

    @property
    def node(self) -> str:
        """The name of its node; empty while it has none."""
        return self.status.node_ref.name if self.status.node_ref else ""

    @property
    def system_uuid(self) -> str:
        """Of its node, where that is known."""
        return self.status.node_info.system_uuid if self.status.node_info else ""


class Metal3MachineSpec(Wire):
    provider_id: str = msgspec.field(name="providerID", default="")


class Metal3Machine(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: Metal3MachineSpec = Metal3MachineSpec()


class NodeTaint(Wire):
    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


class NodeSpec(Wire):
    taints: tuple[NodeTaint, ...] = ()
    unschedulable: bool = False
    provider_id: str = msgspec.field(name="providerID", default="")


class NodeCondition(Wire):
    type: str
    # Not an enum: a status that nobody has heard of must not make the Node unreadable.
    status: str
    reason: str = ""
    last_transition_time: str | None = None


class NodeInfo(Wire):
    boot_id: str = msgspec.field(name="bootID", default="")
    system_uuid: str = msgspec.field(name="systemUUID", default="")
    machine_id: str = msgspec.field(name="machineID", default="")


class NodeStatus(Wire):
    conditions: tuple[NodeCondition, ...] = ()
    node_info: NodeInfo = NodeInfo()


class Node(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> ConditionStatus:
        """Anything but a plain True or False is Unknown."""
        said = next((c.status for c in self.status.conditions if c.type == "Ready"), "")
        return ConditionStatus(said) if said in ("True", "False") else ConditionStatus.UNKNOWN


class PodToleration(Wire):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class ClaimSource(Wire):
    claim_name: str = ""


class EphemeralSource(Wire):
    """A claim is made for the pod, named after it and the volume."""


class PodVolume(Wire):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class PodSpec(Wire):
    node_name: str = ""
    tolerations: tuple[PodToleration, ...] = ()
    volumes: tuple[PodVolume, ...] = ()


class PodStatus(Wire):
    phase: str = ""


class Pod(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of its PersistentVolumeClaims, in its namespace."""
        return tuple(
            one.persistent_volume_claim.claim_name
            if one.persistent_volume_claim
            else f"{self.metadata.name}-{one.name}"
            for one in self.spec.volumes
            if one.persistent_volume_claim or one.ephemeral
        )


class ClaimSpec(Wire):
    volume_name: str = ""


class PersistentVolumeClaim(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: ClaimSpec = ClaimSpec()


class AttachedSource(Wire):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Wire):
    node_name: str = ""
    source: AttachedSource = AttachedSource()


class VolumeAttachment(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
