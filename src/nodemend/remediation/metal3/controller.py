"""Drives a Metal3Remediation: reads all its facts live, and writes each step.

A refused AskOwner, DeleteNode or Restore is remembered while a retry would change nothing.
"""

from dataclasses import dataclass, field
from typing import Any, Final, Protocol, assert_never

from nodemend.api import well_known
from nodemend.api.meta import ObjectMeta
from nodemend.api.metal3_remediation import (
    Capm3Remediation,
    Metal3Remediation,
    Metal3RemediationPhase,
    TargetHost,
)
from nodemend.api.resources import BARE_METAL_HOST, CAPM3_REMEDIATION, METAL3_REMEDIATION, NODE
from nodemend.api.upstream_types import BareMetalHost, Node, NodeTaint
from nodemend.kube.outcome import Reason, Refused
from nodemend.kube.request import Precondition, Request, as_confirmed, delete, merge_patch
from nodemend.records.live_reads import UnchangedTimer, node_facts, project, value_of
from nodemend.records.machine import CLUSTER_API
from nodemend.remediation import writes
from nodemend.remediation.metal3 import holds as metal3_holds
from nodemend.remediation.metal3 import model as power
from nodemend.remediation.metal3.decide import decide
from nodemend.remediation.metal3.host_lookup import (
    Locator,
    MachineRef,
    NoMachine,
    ask_owner,
    host_facts,
    host_identity_facts,
    is_held,
    machine_facts,
    power_off_request,
    read_power_offs,
)
from nodemend.remediation.metal3.model import (
    AskOwner,
    DeleteNode,
    PowerFacts,
    PreparePowerOff,
    Restore,
    Step,
    backup_of,
)
from nodemend.remediation.metal3.status import after, tells
from nodemend.remediation.metal3.sweep import SweepRecorder
from nodemend.remediation.node_state import (
    NOT_ASKED,
    machine_owner,
    node_identity_facts,
    remediation_grounds_of,
    revocation,
)
from nodemend.remediation.reconciler import RECHECK_INTERVAL, RECHECK_SOON, Driver, StepRecorder
from nodemend.remediation.status import SharedStep
from nodemend.remediation.switch_guard import GuardRequest, NodeClaims
from nodemend.remediation.writes import FIELD_MANAGER, Inputs, held_by, is_ours, read_lock
from nodemend.safety import host_power
from nodemend.safety.facts import Absent, LeaseFacts, PolicyFacts, Present, ReadResult, Unreadable
from nodemend.safety.holds import Hold
from nodemend.safety.host_power import HostFacts
from nodemend.safety.identity import Identity, IdentityFacts, Unproven, claims, identify
from nodemend.safety.lifecycle import RemainingWorkloads
from nodemend.safety.release import ReleaseTicket
from nodemend.safety.switch_guard import RemediatorGuardFacts


def delete_node(ticket: ReleaseTicket) -> Request:
    """Return the delete request for exactly the version that the ticket was issued for."""
    only_if = Precondition(ticket.node_uid, ticket.node_version)
    return as_confirmed(delete(NODE, ticket.node, only_if=only_if))


def restore_node(node: Node | None, step: Restore) -> Request:
    """Return a write that adds what is missing and changes nothing that exists."""
    if node is None:
        raise ValueError("Restore without a Node")
    missing = step.missing
    change: dict[str, Any] = {"metadata": {"labels": missing.labels, "annotations": missing.annotations}}
    spec: dict[str, Any] = {}
    if missing.taints:
        added = (NodeTaint(key=one.key, effect=one.effect, value=one.value) for one in missing.taints)
        spec["taints"] = [*node.spec.taints, *added]
    if missing.unschedulable:
        spec["unschedulable"] = True
    if spec:
        change["spec"] = spec
    only_if = Precondition(step.node.uid, step.node.version)
    return merge_patch(NODE, node.metadata.name, change=change, only_if=only_if, manager=FIELD_MANAGER)


Refusable = AskOwner | DeleteNode | Restore
REMEMBERED_FOR: Final = 600.0
"""Seconds. A user may grant the missing permission meanwhile."""


class Refusals:
    """Refusals of one leader term, by the UID of the remediation. `now` is monotonic."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, type[Refusable]], tuple[float, str]] = {}

    def note(self, uid: str, step: Refusable, message: str, *, now: float) -> None:
        self._said = {key: said for key, said in self._said.items() if now - said[0] < REMEMBERED_FOR}
        self._said[uid, type(step)] = (now, message)

    def find(self, uid: str, step: type[Refusable], *, now: float) -> str:
        """Return the message of a recent refusal; empty if it was not refused."""
        when, message = self._said.get((uid, step), (now, ""))
        return message if now - when < REMEMBERED_FOR else ""


_OVER: Final = (
    Metal3RemediationPhase.POWER_ON,
    Metal3RemediationPhase.CONTRADICTED,
    Metal3RemediationPhase.DELETING_MACHINE,
    Metal3RemediationPhase.SUCCEEDED,
    Metal3RemediationPhase.FAILED,
)
"""Phases from which the same pass powers no host off."""


@dataclass(frozen=True, slots=True)
class PowerCycleInputs(Inputs[PowerFacts]):
    host: BareMetalHost | None
    behind: MachineRef | None


_PERMANENT = (Reason.FORBIDDEN, Reason.INVALID)


class PowerRecorder(StepRecorder[Metal3Remediation, Step], SweepRecorder, Protocol): ...


@dataclass(slots=True)
class PowerCycleDriver(Driver[Metal3Remediation, PowerCycleInputs, Step]):
    """Remediates a node by powering its host off and on.

    Reads the Node before its host, its Lease and its pods. Node writes are bound to the version read first,
    so a release fails if the Node changes after that.
    """

    resource = METAL3_REMEDIATION
    kind = Metal3Remediation

    claims_of_nodes: NodeClaims
    may_delete_nodes: bool = field(kw_only=True)

    _locate: Locator = field(init=False)
    _phases: UnchangedTimer = field(default_factory=UnchangedTimer, init=False)
    _hosts: UnchangedTimer = field(default_factory=UnchangedTimer, init=False)
    _refusals: Refusals = field(default_factory=Refusals, init=False)

    def __post_init__(self) -> None:
        self._locate = Locator(self.reader)

    async def gather(self, remediation: Metal3Remediation, _server_time: float | None) -> PowerCycleInputs:
        metadata, status = remediation.metadata, remediation.status
        behind = await self._locate.behind_remediation(metadata)
        node = await self._node(remediation, behind)
        if isinstance(behind, Absent) and isinstance(node, Present):
            behind = await self._locate.behind_node(node.value)
        asked_at = self.reader.runtime.monotonic()
        host = await self._host(status.host, behind, value_of(node))
        answered_at = self.reader.runtime.monotonic()
        lock = await read_lock(self.reader, self.system_namespace, lock_uid(remediation))
        known = host.value if isinstance(host, Present) else None
        policy = await self.reader.policy()
        node_name = node.value.metadata.name if isinstance(node, Present) else status.node_name
        lease = await self.around.kubelet_lease(node_name)
        held = await held_by(self.reader, lock, metadata)
        facts = PowerFacts(
            remediation=remediation,
            epoch=self.tenure.epoch,
            remembers_from=self.tenure.remembers_from,
            node=project(node, node_facts),
            revocation=revocation(node),
            belongings=value_of(project(node, backup_of)),
            lease=lease,
            lock=held,
            policy=policy,
            switch=await self._ask_switch(remediation, node, known, lease, policy)
            if is_ours(held)
            else NOT_ASKED,
            left=await self._left(node, remediation),
            host=_seen_host(host, metadata.uid),
            host_missing=host.why if isinstance(host, NoMachine) else "",
            identity=self._identity(known, value_of(node), value_of(behind), remediation),
            machine=project(
                behind,
                lambda found: machine_facts(
                    found, known, value_of(policy), self._refused(metadata.uid, AskOwner)
                ),
            ),
            in_phase_for=self._in_phase_for(remediation, known),
            host_unchanged_for=self._unchanged_for(known, asked_at, answered_at),
            power_offs=await read_power_offs(self.reader, known, remediation),
            unasked=await self._unasked(metadata),
            may_delete_nodes=self.may_delete_nodes,
            deletion_refused=self._refused(metadata.uid, DeleteNode),
            restore_refused=self._refused(metadata.uid, Restore),
        )
        return PowerCycleInputs(facts, value_of(node), value_of(lock), known, value_of(behind))

    async def _node(self, remediation: Metal3Remediation, behind: ReadResult[MachineRef]) -> ReadResult[Node]:
        if isinstance(behind, Unreadable):
            return behind
        name = remediation.status.node_name
        if not name and isinstance(behind, Present):
            name = behind.value.machine.node
        elif not name:
            metadata = remediation.metadata
            name = metadata.annotations.get(well_known.NODE_OF_REMEDIATION, metadata.name)
        return await self.reader.node(name) if name else Absent()

    async def _host(
        self, held: TargetHost | None, behind: ReadResult[MachineRef], node: Node | None
    ) -> ReadResult[BareMetalHost] | NoMachine:
        if held is not None:
            return await self._locate.known_host(held)
        if isinstance(behind, Unreadable):
            return behind
        return await self._locate.host(value_of(behind), node)

    async def _left(
        self, node: ReadResult[Node], remediation: Metal3Remediation
    ) -> ReadResult[RemainingWorkloads]:
        """Return the remaining workloads; those of a deleted Node are listed by its name.

        A new Node may take that name and with it the old pods.
        """
        status = remediation.status
        if isinstance(node, Absent) and status.node_name and not status.released:
            return await self.around.left_on(status.node_name, None)
        return await self.around.left(node)

    async def _ask_switch(
        self,
        remediation: Metal3Remediation,
        node: ReadResult[Node],
        host: BareMetalHost | None,
        lease: ReadResult[LeaseFacts],
        policy: ReadResult[PolicyFacts],
    ) -> ReadResult[RemediatorGuardFacts]:
        """Ask the guard, only while a power-off request may still be placed."""
        metadata, status = remediation.metadata, remediation.status
        over = status.phase in _OVER or status.released or metadata.deleting
        if over or is_held(host, metadata.uid) or isinstance(node, Unreadable):
            return NOT_ASKED
        found = value_of(node)
        question = GuardRequest(
            uid=metadata.uid,
            name=found.metadata.name if found is not None else status.node_name,
            node=found,
            lease=lease,
            policy=policy,
            grounds=await remediation_grounds_of(self.reader, metadata, found),
            begun=status.phase is Metal3RemediationPhase.POWER_OFF,
            members=self.around.control_plane,
        )
        return await self.switch.ask(question)

    async def _unasked(self, metadata: ObjectMeta) -> str:
        """Return why a delegate must not start: its CAPM3 remediation is gone or cannot be read; else empty.

        A delegate created late must not power off a host that no remediation needs off.
        """
        stands_for = metadata.annotations.get(well_known.DELEGATE_OF)
        if stands_for is None:
            return ""
        match await self.reader.read(CAPM3_REMEDIATION, metadata.name, Capm3Remediation, metadata.namespace):
            case Unreadable(why):
                return why
            case Present(theirs) if theirs.metadata.uid == stands_for and not theirs.metadata.deleting:
                return ""
            case _:
                return "it is gone, or going"

    def _identity(
        self,
        host: BareMetalHost | None,
        node: Node | None,
        behind: MachineRef | None,
        remediation: Metal3Remediation,
    ) -> Identity:
        if host is None:
            return Unproven("there is no host")
        status, owner = remediation.status, machine_owner(remediation.metadata)
        group = behind.resource.group if behind else CLUSTER_API
        identity_facts = IdentityFacts(
            host=host_identity_facts(host),
            node=node_identity_facts(node, group) if node else None,
            machine=behind.identity_facts if behind else None,
            asked_uid=owner.uid if owner else "",
            recorded=bool(status.node_uid) and status.host is not None,
        )
        others = self.claims_of_nodes.others(
            claims(identity_facts), node.metadata.name if node else status.node_name
        )
        return identify(identity_facts, others)

    def _refused(self, uid: str, step: type[Refusable]) -> str:
        return self._refusals.find(uid, step, now=self.reader.runtime.monotonic())

    def _in_phase_for(self, remediation: Metal3Remediation, host: BareMetalHost | None) -> float:
        """Return the seconds in the current phase.

        The wait for power-on restarts when the power-off request is cleared, and when the end begins.
        """
        status, metadata = remediation.status, remediation.metadata
        held = is_held(host, metadata.uid)
        now, ending = self.reader.runtime.monotonic(), metadata.deleting or status.released
        what = (status.phase, status.retry_count, metadata.deleting, held if ending else None)
        return self._phases.unchanged_for(metadata.uid, what, asked_at=now, answered_at=now)

    def _unchanged_for(self, host: BareMetalHost | None, asked_at: float, answered_at: float) -> float:
        if host is None:
            return 0.0
        what = host.metadata.resource_version
        return self._hosts.unchanged_for(host.metadata.uid, what, asked_at=asked_at, answered_at=answered_at)

    def decide(self, inputs: PowerCycleInputs) -> Step:
        return decide(inputs.facts)

    def tells(self, remediation: Metal3Remediation, hold: Hold) -> bool:
        return tells(remediation.status, hold)

    def request_for(self, inputs: PowerCycleInputs, step: Step, now: str) -> Request | None:
        facts = inputs.facts
        metadata, status = facts.remediation.metadata, facts.remediation.status
        if isinstance(step, SharedStep):
            return writes.write_shared(
                METAL3_REMEDIATION, inputs, step, lock_uid(facts.remediation), self.system_namespace
            )
        if isinstance(step, power.HostStep):
            return write_host(inputs.host, step, metadata.uid)
        match step:
            case power.DeleteNode(ticket):
                return delete_node(ticket)
            case power.Restore():
                return restore_node(inputs.node, step)
            case power.AskOwner():
                if inputs.behind is None:
                    raise ValueError("AskOwner without a Machine")
                return ask_owner(inputs.behind, now)
            case _:
                wanted = after(status, step, epoch=facts.epoch, generation=metadata.generation, now=now)
                return writes.write_status(METAL3_REMEDIATION, metadata, status, wanted)

    def begins(self, inputs: PowerCycleInputs, step: Step) -> ReadResult[RemediatorGuardFacts] | None:
        """Only the first PreparePowerOff is a start. Later ones repeat the request after the host changed."""
        asked_for = inputs.facts.remediation.status.phase is Metal3RemediationPhase.POWER_OFF
        return inputs.facts.switch if isinstance(step, PreparePowerOff) and not asked_for else None

    def refused(self, remediation: Metal3Remediation, step: Step, outcome: Refused) -> bool:
        """Record a forbidden or invalid AskOwner, DeleteNode or Restore: a retry would change nothing."""
        if not isinstance(step, AskOwner | DeleteNode | Restore) or outcome.reason not in _PERMANENT:
            return False
        uid, now = remediation.metadata.uid, self.reader.runtime.monotonic()
        self._refusals.note(uid, step, outcome.message, now=now)
        return True

    def again_in(self, hold: Hold) -> float:
        match hold.reason:
            case metal3_holds.BackingOff(remaining, _):
                return max(remaining, RECHECK_SOON)
            case (
                metal3_holds.WaitingForPowerOff()
                | host_power.OffTooRecent()
                | metal3_holds.WaitingForPowerOn()
            ):
                return RECHECK_SOON
            case _:
                return RECHECK_INTERVAL


def lock_uid(remediation: Metal3Remediation) -> str:
    """UID that the lock is named after: the node's, or the host's if there is no node."""
    status = remediation.status
    return status.node_uid or (status.host.uid if status.host else "")


def _seen_host(host: ReadResult[BareMetalHost] | NoMachine, uid: str) -> ReadResult[HostFacts]:
    return Absent() if isinstance(host, NoMachine) else project(host, lambda found: host_facts(found, uid))


def write_host(host: BareMetalHost | None, step: power.HostStep, uid: str) -> Request:
    """Return a write to the host's annotations, bound to the version the step was decided on."""
    if host is None:
        raise ValueError(f"{step.step} without a host")
    change: dict[str, str | None]
    match step:
        case power.RequestPowerOff():
            change = {power_off_request(uid): well_known.HARD_HOLD}
        case power.ClearPowerOff():
            change = {power_off_request(uid): None}
        case power.RevokePowerOff():
            change = {well_known.POWER_OFF_REVOKED: uid}
        case power.ClearRevokedPowerOff():
            change = {well_known.POWER_OFF_REVOKED: None}
        case power.MarkHost():
            change = dict.fromkeys(well_known.HOST_UNHEALTHY, well_known.MARKED_BY_US)
        case _:
            assert_never(step)
    return merge_patch(
        BARE_METAL_HOST,
        host.metadata.name,
        host.metadata.namespace,
        change={"metadata": {"annotations": change}},
        only_if=Precondition(step.host.uid, step.host.version),
        manager=writes.FIELD_MANAGER,
    )
