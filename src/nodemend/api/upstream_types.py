"""Types of other projects, with only the fields that Nodemend reads or writes.

- Pods and VolumeAttachments, for what is still on a node
- BareMetalHosts of metal3, for power cycles
- CertificateSigningRequests, Events (events.k8s.io) and Leases (coordination.k8s.io)
- Machines of Cluster API and OpenShift, for the host of a Machine and for its replacement
- Nodes, for decisions on live reads from the API server
"""

from enum import StrEnum
from typing import Any

from nodemend.api import well_known
from nodemend.api.meta import ConditionStatus, KubernetesObject, ObjectMeta, Wire
from nodemend.api.resources import Resource


class Consumer(Wire):
    """The object that uses the host."""

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
    # Absent is not off: its operator has not yet written a power state.
    powered_on: bool | None = None
    operational_status: str = ""
    error_type: str = ""
    error_message: str = ""
    last_updated: str = ""
    provisioning: Provisioning = Provisioning()
    conditions: tuple[HostCondition, ...] = ()


class BareMetalHost(KubernetesObject):
    spec: BareMetalHostSpec = BareMetalHostSpec()
    status: BareMetalHostStatus = BareMetalHostStatus()

    @property
    def holds(self) -> tuple[str, ...]:
        """The annotation keys of all power-off requests on the host, of all clients."""
        return tuple(key for key in self.metadata.annotations if key.startswith(well_known.HOLD_PREFIX))

    def condition(self, type_: str) -> HostCondition | None:
        return next((one for one in self.status.conditions if one.type == type_), None)


class CertificateSigningRequestSpec(Wire):
    """The API server itself writes `username` and `extra`, which identify the requester."""

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


class CertificateSigningRequest(KubernetesObject):
    spec: CertificateSigningRequestSpec = CertificateSigningRequestSpec()
    status: CertificateSigningRequestStatus = CertificateSigningRequestStatus()


class EventType(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


class ObjectReference(Wire):
    """The object that an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


def reference_to(resource: Resource, name: str, namespace: str = "", uid: str = "") -> ObjectReference:
    return ObjectReference(
        api_version=resource.api_version, kind=resource.kind, name=name, namespace=namespace, uid=uid
    )


class EventSeries(Wire):
    count: int
    last_observed_time: str


class Event(Wire):
    """An event about an object, for users."""

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
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(KubernetesObject):
    """A lock with its holder and the time of the last renewal."""

    spec: LeaseSpec = LeaseSpec()


class InfrastructureReference(Wire):
    kind: str = ""
    name: str = ""
    api_version: str = ""
    """Empty in the newer form, which has only the group."""


class NodeReference(Wire):
    name: str = ""


class MachineSpec(Wire):
    cluster_name: str = ""
    infrastructure_ref: InfrastructureReference | None = None
    provider_id: str = ""


class MachineNodeInfo(Wire):
    """Fields that Cluster API copies from the Machine's Node in its workload cluster."""

    system_uuid: str = ""


class MachineStatus(Wire):
    node_ref: NodeReference | None = None
    node_info: MachineNodeInfo | None = None
    # Undecoded: Nodemend writes the list back as a whole, with the conditions of other writers.
    conditions: tuple[dict[str, Any], ...] = ()


class Machine(KubernetesObject):
    spec: MachineSpec = MachineSpec()
    status: MachineStatus = MachineStatus()

    @property
    def node(self) -> str:
        """The name of its Node; empty if it has no Node."""
        return self.status.node_ref.name if self.status.node_ref else ""

    @property
    def system_uuid(self) -> str:
        """The system UUID of its Node; empty if unknown."""
        return self.status.node_info.system_uuid if self.status.node_info else ""


class Metal3MachineSpec(Wire):
    provider_id: str = ""


class Metal3Machine(KubernetesObject):
    spec: Metal3MachineSpec = Metal3MachineSpec()


class NodeTaint(Wire):
    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


class NodeSpec(Wire):
    taints: tuple[NodeTaint, ...] = ()
    unschedulable: bool = False
    provider_id: str = ""


class NodeCondition(Wire):
    type: str
    # Not an enum: an unknown status must not make the whole Node invalid.
    status: str
    reason: str = ""
    last_transition_time: str | None = None


class NodeInfo(Wire):
    boot_id: str = ""
    system_uuid: str = ""
    machine_id: str = ""


class NodeStatus(Wire):
    conditions: tuple[NodeCondition, ...] = ()
    node_info: NodeInfo = NodeInfo()


class Node(KubernetesObject):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> ConditionStatus:
        """The status of Ready. Any value except True and False is Unknown."""
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
    """An ephemeral volume. Its claim is named after the pod and the volume."""


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


class Pod(KubernetesObject):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of the pod's PersistentVolumeClaims, in its namespace."""
        return tuple(
            one.persistent_volume_claim.claim_name
            if one.persistent_volume_claim
            else f"{self.metadata.name}-{one.name}"
            for one in self.spec.volumes
            if one.persistent_volume_claim or one.ephemeral
        )


class ClaimSpec(Wire):
    volume_name: str = ""


class PersistentVolumeClaim(KubernetesObject):
    spec: ClaimSpec = ClaimSpec()


class AttachedSource(Wire):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Wire):
    node_name: str = ""
    source: AttachedSource = AttachedSource()


class VolumeAttachment(KubernetesObject):
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
