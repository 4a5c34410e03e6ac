"""Reads the state around a node under remediation: its kubelet's Lease, control plane, remaining workloads.

A remediation is named like its Node, or owned by the Node's Machine. Its reason is in its annotations, and
the check that it names is read live. The concurrency limit and the quorum check count the other remediations
that hold nodes, also while several reconciles run concurrently.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Final, NamedTuple, TypeVar

from nodemend.api import manual_remediation, metal3_remediation, self_remediation, well_known
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.meta import ConditionStatus, ObjectMeta, OwnerReference
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.resources import (
    LEASE,
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SELF_REMEDIATION,
    VOLUME_ATTACHMENT,
    Resource,
)
from nodemend.api.self_remediation import SelfRemediation
from nodemend.api.upstream_types import Lease, Machine, Node, PersistentVolumeClaim, Pod, VolumeAttachment
from nodemend.guard.state import meets_threshold
from nodemend.kube.client import list_all
from nodemend.kube.outcome import Ok, Reason, Refused
from nodemend.kube.request import Selection
from nodemend.records.live_reads import LiveReader, UnchangedTimer, node_facts, project
from nodemend.records.machine import CLUSTER_API, OPENSHIFT, MachineCheckWire, read_rules
from nodemend.remediation.status import says_contradicted
from nodemend.rules.request import matches
from nodemend.safety.facts import (
    Absent,
    LeaseFacts,
    Present,
    ReadResult,
    Taint,
    Toleration,
    Unreadable,
    tolerates,
)
from nodemend.safety.guard import ControlPlane
from nodemend.safety.identity import (
    MachineIdentityFacts,
    Matched,
    Mismatch,
    NodeIdentityFacts,
    Unproven,
    identify_node,
)
from nodemend.safety.lifecycle import OUR_TAINT, RemainingWorkloads, taint_of_another
from nodemend.safety.switch_guard import RemediationGrounds

K = TypeVar("K", ManualRemediation, Metal3Remediation, SelfRemediation)


@dataclass(frozen=True, slots=True)
class OtherRemediations:
    """The other remediations, as a remediation that may start must count them."""

    in_progress: int = 0
    """Number of active remediations: between fencing and release."""
    nodes: frozenset[str] = frozenset()
    """Names of the nodes of active remediations."""
    away: frozenset[str] = frozenset()
    """Names of nodes about to be fenced, fenced, or not back yet, regardless of their conditions."""
    released: frozenset[str] = frozenset()
    """Names of nodes without an active remediation whose workloads are released and that are not back yet."""


class _Stage(Enum):
    ACTIVE = auto()
    COMING_BACK = auto()
    IDLE = auto()
    """Not started, or finished."""


_STAGES: Final[dict[StrEnum, _Stage]] = {
    metal3_remediation.Metal3RemediationPhase.POWER_OFF: _Stage.ACTIVE,
    metal3_remediation.Metal3RemediationPhase.RELEASE: _Stage.ACTIVE,
    metal3_remediation.Metal3RemediationPhase.POWER_ON: _Stage.COMING_BACK,
    self_remediation.SelfRemediationPhase.FENCING: _Stage.ACTIVE,
    self_remediation.SelfRemediationPhase.RELEASING: _Stage.ACTIVE,
    self_remediation.SelfRemediationPhase.RECOVERING: _Stage.COMING_BACK,
}


SUCCEEDED: Final = (
    manual_remediation.ManualRemediationPhase.SUCCEEDED,
    metal3_remediation.Metal3RemediationPhase.SUCCEEDED,
    self_remediation.SelfRemediationPhase.SUCCEEDED,
)
"""The phase of each kind after success."""
_SERVER_MAY_TAKE: Final = 60.0
"""Seconds. An API server with default settings gives up on a request after this time."""


class _Active(NamedTuple):
    uid: str
    node: str
    stage: _Stage
    released: bool = False


class _Kept(NamedTuple):
    node: str
    until: float


class ConcurrencyTracker:
    """Counts other remediations and reserves slots for those about to start.

    Two reconciles could both see one free slot. A reconcile that may start reserves a slot until its pass
    ends: by then its start is written, or it did not start. If its write got no response, it keeps the slot
    until the API server can no longer apply that write.

    SelfRemediations are listed only if self-fencing is enabled: otherwise no controller serves them.
    """

    def __init__(self, reader: LiveReader, *, self_fencing: bool = True) -> None:
        self._reader = reader
        self._self_fencing = self_fencing
        self._about_to_begin: dict[str, str] = {}
        self._unanswered: dict[str, _Kept] = {}

    @contextmanager
    def reservation(self, uid: str) -> Iterator[None]:
        """Hold the reservation of `uid` from the first read until the response to the write."""
        try:
            yield
        finally:
            self._about_to_begin.pop(uid, None)

    def unanswered(self, uid: str) -> None:
        """Keep the slot of the current pass: its write got no response and may still be applied."""
        node = self._about_to_begin.get(uid)
        if node is not None:
            self._unanswered[uid] = _Kept(node, self._now() + _SERVER_MAY_TAKE)

    async def others(self, uid: str, node: str, *, may_begin: bool = True) -> ReadResult[OtherRemediations]:
        """Return all other remediations, seen from `uid` on `node`, and reserve a slot if `may_begin`.

        A remediation that cannot start in this pass reserves none.
        """
        hands = self._places()
        if may_begin:
            self._about_to_begin[uid] = node
        listed = [
            await self._hands(MANUAL_REMEDIATION, ManualRemediation, _by_hand),
            await self._hands(METAL3_REMEDIATION, Metal3Remediation, _by_phase),
        ]
        if self._self_fencing:
            listed.append(await self._hands(SELF_REMEDIATION, SelfRemediation, _by_phase))
        for found in listed:
            if not isinstance(found, Present):
                return found
            hands += found.value
        others = [one for one in hands if one.uid != uid and one.stage is not _Stage.IDLE]
        in_progress = {one.uid: one.node for one in others if one.stage is _Stage.ACTIVE}
        busy = frozenset(in_progress.values())
        released = frozenset(one.node for one in hands if one.uid != uid and one.released)
        return Present(
            OtherRemediations(len(in_progress), busy, frozenset(one.node for one in others), released - busy)
        )

    def _places(self) -> list[_Active]:
        now = self._now()
        self._unanswered = {uid: kept for uid, kept in self._unanswered.items() if now < kept.until}
        nodes = self._about_to_begin | {uid: kept.node for uid, kept in self._unanswered.items()}
        return [_Active(uid, node, _Stage.ACTIVE) for uid, node in nodes.items()]

    def _now(self) -> float:
        return self._reader.runtime.monotonic()

    async def _hands(
        self, resource: Resource, kind: type[K], hand: Callable[[K], _Active]
    ) -> ReadResult[list[_Active]]:
        outcome = await list_all(self._reader.client, resource, kind, deadline=self._reader.deadline)
        match outcome:
            case Ok(found):
                return Present([hand(one) for one in found])
            case Refused(reason=Reason.NOT_FOUND):
                # The kind is not installed, so it has no objects.
                return Present([])
            case failure:
                return Unreadable(str(failure))


def _by_hand(remediation: ManualRemediation) -> _Active:
    """Active from evidence until release. The node is off then, and an operator powers it on again."""
    status = remediation.status
    releasing = status.evidence is not None and not status.released
    return _hand(remediation, remediation.metadata.name, _Stage.ACTIVE if releasing else _Stage.IDLE)


def _by_phase(remediation: Metal3Remediation | SelfRemediation) -> _Active:
    status = remediation.status
    return _hand(remediation, status.node_name, _STAGES.get(status.phase, _Stage.IDLE))


def _hand(
    remediation: ManualRemediation | Metal3Remediation | SelfRemediation, node: str, stage: _Stage
) -> _Active:
    """A contradicted remediation stays active until it is over: its workloads may run twice."""
    status = remediation.status
    over = status.phase in SUCCEEDED
    contradicted = says_contradicted(status.conditions)
    stage = _Stage.ACTIVE if contradicted and not over else stage
    return _Active(remediation.metadata.uid, node, stage, status.released and not over)


_PROJECTS: Final = (CLUSTER_API, OPENSHIFT)


async def named_node(reader: LiveReader, remediation: ObjectMeta, known: str) -> ReadResult[Node]:
    """Read the Node of a remediation live. `known` is the name in its status, once that is settled.

    A Machine's Node must match the Machine's identity facts: a Machine of a workload cluster may have a Node
    with the name of a local one.
    """
    owner = machine_owner(remediation)
    if known or owner is None:
        name = known or remediation.annotations.get(well_known.NODE_OF_REMEDIATION, remediation.name)
        return await reader.node(name)
    machine = await _read_owner(reader, owner, remediation.namespace)
    if not isinstance(machine, Present):
        return machine
    if not machine.value.node:
        return Absent()
    node = await reader.node(machine.value.node)
    if not isinstance(node, Present):
        return node
    group = owner.api_version.partition("/")[0]
    match identify_node(node_identity_facts(node.value, group), machine_identity_facts(machine.value, group)):
        case Matched():
            return node
        case Unproven(missing):
            return Unreadable(missing)
        case Mismatch(what, said, actual):
            return Unreadable(f"two sources disagree on {what}: {said} and {actual}")


def machine_owner(metadata: ObjectMeta) -> OwnerReference | None:
    return next((one for one in metadata.owner_references if _is_machine(one)), None)


def _is_machine(owner: OwnerReference) -> bool:
    return owner.kind == "Machine" and owner.api_version.partition("/")[0] in _PROJECTS


def machines(api_version: str) -> Resource:
    group, _, version = api_version.partition("/")
    return Resource(group, version, "Machine", "machines")


async def _read_owner(reader: LiveReader, owner: OwnerReference, namespace: str) -> ReadResult[Machine]:
    """Read the Machine; Absent also if another one has taken its name."""
    found = await reader.read(machines(owner.api_version), owner.name, Machine, namespace)
    if isinstance(found, Present) and found.value.metadata.uid != owner.uid:
        return Absent()
    return found


def node_identity_facts(node: Node, group: str = CLUSTER_API) -> NodeIdentityFacts:
    """Return the identity facts of a Node. `group` is the API group of the Machine to compare with."""
    said = node.metadata.annotations
    namespace, name = said.get(well_known.NAMESPACE_OF_CLUSTER, ""), said.get(well_known.MACHINE_OF_NODE, "")
    of_cluster_api = f"{namespace}/{name}" if namespace and name else ""
    of_openshift = said.get(well_known.OPENSHIFT_MACHINE_OF_NODE, "")
    return NodeIdentityFacts(
        name=node.metadata.name,
        provider_id=node.spec.provider_id,
        system_uuid=node.status.node_info.system_uuid,
        machine=of_openshift if group == OPENSHIFT else of_cluster_api,
    )


def machine_identity_facts(machine: Machine, group: str) -> MachineIdentityFacts:
    """Return the identity facts of a Machine, without those of its Metal3Machine."""
    metadata = machine.metadata
    return MachineIdentityFacts(
        name=f"{metadata.namespace}/{metadata.name}",
        uid=metadata.uid,
        node=machine.node,
        provider_ids=(machine.spec.provider_id,),
        system_uuid=machine.system_uuid,
        of_this_cluster=group == OPENSHIFT,
    )


_VERSION: Final = re.compile(r"v[0-9]{1,3}((alpha|beta)[0-9]{1,3})?")


async def remediation_grounds_of(
    reader: LiveReader, remediation: ObjectMeta, node: Node | None, *, drills: bool = False
) -> RemediationGrounds:
    """Return the grounds of a remediation. `drills`: this kind may be a drill.

    Without a `node` no check can agree.
    """
    annotations = remediation.annotations
    ordered = well_known.ORDER in annotations
    return RemediationGrounds(
        check_agrees=await _check_agrees(reader, remediation, node) if node is not None else Absent(),
        ordered=ordered,
        past_guard=ordered and well_known.PAST_GUARD in annotations,
        drill=drills and well_known.DRILL in annotations,
    )


async def _check_agrees(reader: LiveReader, remediation: ObjectMeta, node: Node) -> ReadResult[bool]:
    """Return whether the check finds the node unhealthy now; Absent if it names none, or a deleted one."""
    name, uid = (
        remediation.labels.get(well_known.CHECK, ""),
        remediation.annotations.get(well_known.CHECK_UID, ""),
    )
    if not name or not uid:
        return Absent()
    owner = machine_owner(remediation)
    if owner is not None:
        return await _machine_check_agrees(reader, remediation, owner, node)
    check = await reader.read(NODE_HEALTH_CHECK, name, NodeHealthCheck)
    if not isinstance(check, Present):
        return check
    if check.value.metadata.uid != uid:
        return Absent()
    # A check applies only to nodes that it selects; its thresholds must not be used for another node.
    selects = matches(check.value.spec.selector, node.metadata.labels)
    return Present(selects and meets_threshold(check.value, node.status.conditions))


async def _machine_check_agrees(
    reader: LiveReader, remediation: ObjectMeta, owner: OwnerReference, node: Node
) -> ReadResult[bool]:
    group, _, version = owner.api_version.partition("/")
    if not _VERSION.fullmatch(version):
        return Absent()
    checks = Resource(group, version, "MachineHealthCheck", "machinehealthchecks")
    name, namespace = remediation.labels[well_known.CHECK], remediation.namespace
    check = await reader.read(checks, name, MachineCheckWire, namespace)
    if not isinstance(check, Present):
        return check
    if check.value.metadata.uid != remediation.annotations[well_known.CHECK_UID]:
        return Absent()
    machine = await _read_owner(reader, owner, namespace)
    if not isinstance(machine, Present):
        return machine
    rules = read_rules(check.value.spec, namespace, check.value.metadata.annotations)
    cluster, labels = machine.value.spec.cluster_name, machine.value.metadata.labels
    selects = rules.selects(cluster, labels, all_without_demand=group != CLUSTER_API)
    return Present(selects and _shows(node, ((one.type, one.status) for one in rules.of_node)))


def _shows(node: Node, any_of: Iterable[tuple[str, str]]) -> bool:
    shown = {(one.type, one.status) for one in node.status.conditions}
    return any((type_, str(status)) in shown for type_, status in any_of)


NOT_ASKED = Unreadable("not asked")
DEFAULT_LEASE_SECONDS = 40.0
LONGEST_LEASE_SECONDS = 600.0
"""Upper bound of the duration a kubelet may claim in its Lease.

Without it a kubelet could claim never to be silent. No release depends on silence alone.
"""


class NodeReader:
    """Reads from the API server, and remembers for how long each Lease has been unchanged."""

    def __init__(self, reader: LiveReader) -> None:
        self._reader = reader
        self._leases = UnchangedTimer()

    async def kubelet_lease(self, node: str) -> ReadResult[LeaseFacts]:
        """Read the Lease of the node's kubelet; NOT_ASKED if the name is empty."""
        if not node:
            return NOT_ASKED
        asked_at = self._reader.runtime.monotonic()
        found = await self._reader.read(LEASE, node, Lease, well_known.KUBELET_LEASE_NAMESPACE)
        answered_at = self._reader.runtime.monotonic()
        return project(found, lambda lease: self._lease_facts(lease, asked_at, answered_at))

    def _lease_facts(self, lease: Lease, asked_at: float, answered_at: float) -> LeaseFacts:
        renewed = lease.spec.renew_time or ""
        silent_for = self._leases.unchanged_for(
            lease.metadata.uid, renewed, asked_at=asked_at, answered_at=answered_at
        )
        lasts = min(float(lease.spec.lease_duration_seconds or DEFAULT_LEASE_SECONDS), LONGEST_LEASE_SECONDS)
        return LeaseFacts(renew_time=renewed, lasts=lasts, unchanged_for=silent_for)

    async def left(self, node: ReadResult[Node]) -> ReadResult[RemainingWorkloads]:
        """Return the workloads that a release still waits for; read only if the node is out of service."""
        if not isinstance(node, Present):
            return NOT_ASKED
        known = node_facts(node.value)
        taint = OUR_TAINT if OUR_TAINT in known.taints else taint_of_another(known)
        return await self.left_on(node.value.metadata.name, taint) if taint else NOT_ASKED

    async def left_on(self, name: str, taint: Taint | None) -> ReadResult[RemainingWorkloads]:
        """Return what is left on the named node that does not tolerate `taint`.

        Pass None if the Node does not exist: the pod garbage collector ignores tolerations.
        """
        pods = await self._reader.list_all(POD, Pod, Selection(fields=f"spec.nodeName={name}"))
        volumes = await self._reader.list_all(VOLUME_ATTACHMENT, VolumeAttachment)
        if not isinstance(pods, Present):
            return pods
        if not isinstance(volumes, Present):
            return volumes
        attached = [one for one in volumes.value if one.spec.node_name == name]
        leaving = [pod for pod in pods.value if taint is None or must_leave(pod, taint)]
        staying = [pod for pod in pods.value if taint is not None and stays(pod, taint)]
        kept = await self._volumes_of(staying) if attached else Present(frozenset[str]())
        if not isinstance(kept, Present):
            return kept
        waited_for = [one for one in attached if one.spec.source.persistent_volume_name not in kept.value]
        return Present(RemainingWorkloads(len(leaving), len(waited_for)))

    async def _volumes_of(self, pods: Iterable[Pod]) -> Present[frozenset[str]] | Unreadable:
        """Return the volumes of these pods. Kubernetes detaches none of them while the pods are bound."""
        found = set[str]()
        for pod in pods:
            for claim in pod.claims:
                namespace = pod.metadata.namespace
                match await self._reader.read(
                    PERSISTENT_VOLUME_CLAIM, claim, PersistentVolumeClaim, namespace
                ):
                    case Unreadable(why):
                        return Unreadable(why)
                    case Present(read):
                        found.add(read.spec.volume_name)
                    case Absent():
                        pass
        return Present(frozenset(found))

    async def control_plane(
        self, node: Node, others: ReadResult[OtherRemediations]
    ) -> ReadResult[ControlPlane]:
        """Return the control plane members by their labels; Absent if the node is not one of them.

        Nodes of other remediations count as lost even if they look Ready. If `others` is not known, only the
        conditions count.
        """
        if well_known.CONTROL_PLANE_ROLES.isdisjoint(node.metadata.labels):
            return Absent()
        ready: dict[str, bool] = {}
        for role in sorted(well_known.CONTROL_PLANE_ROLES):
            members = await self._reader.list_all(NODE, Node, Selection(labels=role))
            if not isinstance(members, Present):
                return members
            ready |= {one.metadata.name: one.ready is ConditionStatus.TRUE for one in members.value}
        away = others.value.away if isinstance(others, Present) else frozenset()
        there = sum(ready[name] for name in ready.keys() - away - {node.metadata.name})
        return Present(ControlPlane(len(ready), there, busy=""))


def must_leave(pod: Pod, taint: Taint = OUR_TAINT) -> bool:
    """Return whether a release waits for this pod: it runs, and is terminating or lacks the toleration.

    Kubernetes removes terminating pods of such a node by force, regardless of their tolerations.
    """
    declared = (Toleration(t.key, t.operator or "Equal", t.value, t.effect) for t in pod.spec.tolerations)
    return not _is_over(pod) and (pod.metadata.deleting or not tolerates(declared, taint))


def stays(pod: Pod, taint: Taint) -> bool:
    """Return whether the pod stays on the node with its volumes: it still runs and need not leave."""
    return not _is_over(pod) and not must_leave(pod, taint)


def _is_over(pod: Pod) -> bool:
    return pod.status.phase in ("Succeeded", "Failed")


def revocation(node: ReadResult[Node]) -> str:
    return (
        node.value.metadata.annotations.get(well_known.RELEASE_REVOKED, "")
        if isinstance(node, Present)
        else ""
    )
