"""Finds the Machine and the host of a remediation, and builds the request that replaces the Machine.

Every answer is a live read. If power cycles did not heal a Machine, its owner replaces it, by the contract of
the Machine's project. metal3 emits a PowerOff event of a host when it has accepted a power-off.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from nodemend.api import well_known
from nodemend.api.meta import ConditionStatus, ObjectMeta
from nodemend.api.metal3_remediation import (
    Metal3Remediation,
    Metal3RemediationPhase,
    PowerOffEvent,
    TargetHost,
)
from nodemend.api.resources import BARE_METAL_HOST, EVENT, Resource
from nodemend.api.upstream_types import BareMetalHost, Machine, Metal3Machine, Node
from nodemend.kube.events import EventWire
from nodemend.kube.request import Request, Selection, delete_as_read, patch_as_read
from nodemend.records.live_reads import LiveReader, project, value_of
from nodemend.records.machine import CLUSTER_API, OPENSHIFT, OWNER, MachineApiFlavor, flavor_of, replaced
from nodemend.remediation.metal3.model import OwnerMachineFacts
from nodemend.remediation.node_state import NOT_ASKED, machine_identity_facts, machine_owner, machines
from nodemend.remediation.writes import FIELD_MANAGER
from nodemend.rules.machine import HealthCondition
from nodemend.safety.facts import Absent, PolicyFacts, Present, ReadResult, Unreadable
from nodemend.safety.host_power import HostFacts
from nodemend.safety.identity import (
    HostByName,
    HostByUid,
    HostIdentityFacts,
    MachineIdentityFacts,
    read_provider_id,
)

LONGEST_ERROR: Final = 500
LONGEST_TIME: Final = 64
"""Characters."""


def power_off_request(uid: str) -> str:
    """Return the annotation key of this remediation's power-off request."""
    return f"{well_known.POWER_OFF_REQUEST_PREFIX}{uid}"


def is_held(host: BareMetalHost | None, uid: str) -> bool:
    """Return whether the host exists and has the power-off request of the remediation with this UID."""
    return host is not None and power_off_request(uid) in host.metadata.annotations


def host_facts(host: BareMetalHost, remediation_uid: str) -> HostFacts:
    metadata, spec, status = host.metadata, host.spec, host.status
    ours, manageable = power_off_request(remediation_uid), host.condition("Manageable")
    return HostFacts(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        version=metadata.resource_version,
        powered_on=status.powered_on,
        held_by_us=ours in metadata.annotations,
        revoked_by_us=metadata.annotations.get(well_known.POWER_OFF_REVOKED) == remediation_uid,
        held_by_others=tuple(key for key in host.holds if key != ours),
        online=spec.online,
        paused=well_known.HOST_PAUSED in metadata.annotations,
        detached=well_known.HOST_DETACHED in metadata.annotations,
        deleting=metadata.deleting,
        power_off_disabled=spec.disable_power_off,
        operational_status=status.operational_status,
        error_type=status.error_type,
        error_message=status.error_message[:LONGEST_ERROR],
        manageable=manageable.reason if manageable and manageable.status == "False" else "",
        state=status.provisioning.state,
        # A timestamp too long for a status counts as missing: then nothing about the host is certain.
        last_updated=status.last_updated if len(status.last_updated) <= LONGEST_TIME else "",
        marked_unhealthy=any(key in metadata.annotations for key in well_known.HOST_UNHEALTHY),
    )


def host_identity_facts(host: BareMetalHost) -> HostIdentityFacts:
    consumer = host.spec.consumer_ref
    return HostIdentityFacts(
        name=f"{host.metadata.namespace}/{host.metadata.name}",
        uid=host.metadata.uid,
        consumer=f"{consumer.kind} {consumer.namespace}/{consumer.name}" if consumer else "",
        system_uuid=host.metadata.annotations.get(well_known.HOST_SYSTEM_UUID, ""),
    )


_INFRASTRUCTURE: Final = "infrastructure.cluster.x-k8s.io"
_VERSIONS: Final = ("v1beta2", "v1beta1")


@dataclass(frozen=True, slots=True)
class MachineRef:
    """A Machine, and its Metal3Machine if its project has those."""

    resource: Resource
    machine: Machine
    metal3: Metal3Machine | None = None

    @property
    def bearer(self) -> ObjectMeta:
        """Metadata of the object that names the host and is the host's consumer."""
        return self.metal3.metadata if self.metal3 else self.machine.metadata

    @property
    def consumer(self) -> str:
        kind = "Metal3Machine" if self.metal3 else self.resource.kind
        return f"{kind} {self.bearer.namespace}/{self.bearer.name}"

    @property
    def host(self) -> tuple[str, str] | None:
        """Namespace and name of the host. The annotation's namespace is ignored, as in newer metal3."""
        said = self.bearer.annotations.get(well_known.HOST_OF_MACHINE, "")
        name = said.rpartition("/")[2]
        return (self.bearer.namespace, name) if name else None

    @property
    def identity_facts(self) -> MachineIdentityFacts:
        found = machine_identity_facts(self.machine, self.resource.group)
        if self.metal3 is not None:
            owner = machine_owner(self.metal3.metadata)
            provider_ids = (*found.provider_ids, self.metal3.spec.provider_id)
            found = replace(found, owner_uid=owner.uid if owner else "", provider_ids=provider_ids)
        return replace(found, consumer=self.consumer, host="/".join(self.host or ()))


@dataclass(frozen=True, slots=True)
class NoMachine:
    """No host was found, with the reason."""

    why: str


class Locator:
    def __init__(self, reader: LiveReader) -> None:
        self._reader = reader

    async def behind_remediation(self, metadata: ObjectMeta) -> ReadResult[MachineRef]:
        """Return the Machine that owns the remediation; Absent if it has none or that Machine is gone."""
        owner = machine_owner(metadata)
        if owner is None:
            return Absent()
        found = await self._machine(machines(owner.api_version), owner.name, metadata.namespace)
        if isinstance(found, Present) and found.value.machine.metadata.uid != owner.uid:
            return Absent()
        return found

    async def behind_node(self, node: Node) -> ReadResult[MachineRef]:
        """Return the Machine that the Node's annotations name."""
        said = node.metadata.annotations
        if address := said.get(well_known.OPENSHIFT_MACHINE_OF_NODE):
            namespace, _, name = address.partition("/")
            return await self._machine(machines(f"{OPENSHIFT}/v1beta1"), name, namespace)
        name, namespace = (
            said.get(well_known.MACHINE_OF_NODE, ""),
            said.get(well_known.NAMESPACE_OF_CLUSTER, ""),
        )
        found: ReadResult[MachineRef] = Absent()
        for version in _VERSIONS if name and namespace else ():
            found = await self._machine(machines(f"{CLUSTER_API}/{version}"), name, namespace)
            if not isinstance(found, Absent):
                break
        return found

    async def _machine(self, resource: Resource, name: str, namespace: str) -> ReadResult[MachineRef]:
        found = await self._reader.read(resource, name, Machine, namespace)
        if not isinstance(found, Present):
            return found
        machine = found.value
        named = machine.spec.infrastructure_ref
        if named is None or named.kind != "Metal3Machine":
            return Present(MachineRef(resource, machine))
        metal3 = await self._metal3_machine(named.api_version, named.name, namespace)
        if isinstance(metal3, Unreadable):
            return metal3
        return Present(MachineRef(resource, machine, value_of(metal3)))

    async def _metal3_machine(self, api_version: str, name: str, namespace: str) -> ReadResult[Metal3Machine]:
        version = api_version.partition("/")[2]
        found: ReadResult[Metal3Machine] = Absent()
        for one in (version,) if version else _VERSIONS:
            resource = Resource(_INFRASTRUCTURE, one, "Metal3Machine", "metal3machines")
            found = await self._reader.read(resource, name, Metal3Machine, namespace)
            if not isinstance(found, Absent):
                break
        return found

    async def known_host(self, held: TargetHost) -> ReadResult[BareMetalHost]:
        """Return the host with the recorded UID; Absent also if another host has taken its name."""
        found = await self._reader.read(BARE_METAL_HOST, held.name, BareMetalHost, held.namespace)
        if isinstance(found, Present) and found.value.metadata.uid != held.uid:
            return Absent()
        return found

    async def host(
        self, behind: MachineRef | None, node: Node | None
    ) -> ReadResult[BareMetalHost] | NoMachine:
        """Return the host of the Machine if there is one, else the host in the node's provider ID."""
        if behind is not None:
            if behind.host is None:
                return NoMachine(f"{behind.consumer} names none")
            return await self._host_named(*behind.host)
        match read_provider_id(node.spec.provider_id) if node is not None else None:
            case HostByName(namespace, name):
                return await self._host_named(namespace, name)
            case HostByUid(uid):
                return await self._host_with(uid)
            case None:
                return NoMachine("it has no Machine, and the node's provider ID names no host")

    async def _host_named(self, namespace: str, name: str) -> ReadResult[BareMetalHost] | NoMachine:
        found = await self._reader.read(BARE_METAL_HOST, name, BareMetalHost, namespace)
        return (
            NoMachine(f"there is no BareMetalHost {namespace}/{name}") if isinstance(found, Absent) else found
        )

    async def _host_with(self, uid: str) -> ReadResult[BareMetalHost] | NoMachine:
        listed = await self._reader.list_all(BARE_METAL_HOST, BareMetalHost)
        if not isinstance(listed, Present):
            return listed
        host = next((one for one in listed.value if one.metadata.uid == uid), None)
        return Present(host) if host is not None else NoMachine(f"no BareMetalHost has the UID {uid}")


ASKED: Final = HealthCondition(
    ConditionStatus.FALSE,
    # Not the reason that health checks set: a check withdraws such a request while a remediation from its
    # template is active.
    "PowerCyclesFailed",
    "Power cycles did not heal it; its host is held off until it is replaced.",
)


def machine_facts(
    behind: MachineRef, host: BareMetalHost | None, policy: PolicyFacts | None, refused: str
) -> OwnerMachineFacts:
    """Return the Machine's facts.

    `refused` is the API server's message if it refused the request to the owner; else empty.
    """
    machine, flavor = behind.machine, flavor_of(behind.resource)
    asked = any(
        one.get("type") == OWNER and one.get("status") == "False" for one in machine.status.conditions
    )
    return OwnerMachineFacts(
        name=f"{behind.resource.kind} {machine.metadata.namespace}/{machine.metadata.name}",
        why_not=refused or _why_not(behind, flavor, host, policy),
        asked=asked and flavor.owners_read_conditions,
        deleting=machine.metadata.deleting,
    )


def _why_not(
    behind: MachineRef, flavor: MachineApiFlavor, host: BareMetalHost | None, policy: PolicyFacts | None
) -> str:
    metadata = behind.machine.metadata
    owner = next((one for one in metadata.owner_references if one.controller), None)
    if host is not None and host.spec.externally_provisioned:
        return "metal3 did not deploy its host, and would not do so again"
    if owner is None:
        return "no controller owns it"
    if flavor.owners_read_conditions:
        return ""
    if any(metadata.labels.get(key) == value for key, value in flavor.control_plane_labels):
        return "it is of the control plane, whose Machines are not replaced automatically"
    if policy is None or not policy.machines.delete:
        return (
            f"its {owner.kind} does not act on conditions, and the RemediationPolicy does not allow deletion"
        )
    return ""


def ask_owner(behind: MachineRef, now: str) -> Request:
    """Set a condition if the owners read it; else delete the Machine, and its owner creates another."""
    machine, flavor = behind.machine, flavor_of(behind.resource)
    if not flavor.owners_read_conditions:
        return delete_as_read(behind.resource, machine.metadata)
    conditions = replaced(machine.status.conditions, {OWNER: ASKED}, flavor, now)
    change = {"status": {"conditions": conditions}}
    return patch_as_read(behind.resource, machine.metadata, change, "status", manager=FIELD_MANAGER)


POWER_OFF: Final = "PowerOff"
"""The event reason that metal3 uses."""


async def read_power_offs(
    reader: LiveReader, host: BareMetalHost | None, remediation: Metal3Remediation
) -> ReadResult[tuple[PowerOffEvent, ...]]:
    """Return the PowerOff events of this host, ordered by UID. Read only if a decision needs them.

    No time in an event is used: it comes from another machine's wall clock.
    """
    if host is None or not _matters(host, remediation):
        return NOT_ASKED
    about = f"regarding.kind={BARE_METAL_HOST.kind},regarding.name={host.metadata.name}"
    found = await reader.list_all(EVENT, EventWire, Selection(host.metadata.namespace, fields=about))
    return project(found, lambda events: _power_offs(events, host.metadata.uid))


def _matters(host: BareMetalHost, remediation: Metal3Remediation) -> bool:
    """Return whether events matter: before the power-off request, and then until the host is observed off."""
    status = remediation.status
    if is_held(host, remediation.metadata.uid):
        awaited = status.power_off_events is not None and status.seen_off is None
        return awaited and not host.status.powered_on
    return status.phase in (Metal3RemediationPhase.PENDING, Metal3RemediationPhase.POWER_OFF)


def _power_offs(events: Iterable[EventWire], host_uid: str) -> tuple[PowerOffEvent, ...]:
    found = [one for one in events if one.reason == POWER_OFF and one.regarding.uid == host_uid]
    known = (PowerOffEvent(uid=one.metadata.uid, count=max(one.count, 0)) for one in found)
    return tuple(sorted(known, key=lambda one: one.uid))
