"""Steps and facts of a Metal3Remediation, the end of its power-cycle attempts, and the backup of its Node.

Each step is at most one write. The backup is of a Node that is deleted; a new Node of the same name gets the
parts that it lacks.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.meta import ConditionStatus
from nodemend.api.metal3_remediation import (
    KeptTaint,
    Metal3Remediation,
    NodeBackup,
    OffSighting,
    PowerOffEvent,
    Strategy,
    TargetHost,
)
from nodemend.api.upstream_types import Node
from nodemend.remediation.metal3.holds import (
    ActiveAfterRelease,
    BackingOff,
    HostGone,
    NeverObservedOff,
    NeverObservedOn,
    PowerOffContradicted,
    WaitingForPowerOff,
    WaitingForPowerOn,
)
from nodemend.remediation.metal3.power_table import Move, PowerState, move_for
from nodemend.remediation.status import ReleaseFacts, SharedStatusStep, SharedStep, WaitingForNewBoot
from nodemend.safety.facts import Absent, NodeFacts, Present, ReadResult, Unreadable
from nodemend.safety.holds import CannotRead, Hold, HoldReason, NoKubeletLease
from nodemend.safety.host_power import (
    ActiveAfterPowerOff,
    HostFacts,
    HostOn,
    HostPowerUncertain,
    NotManaged,
    Power,
    PowerOffRequestLost,
    power_of,
    power_uncertainty,
)
from nodemend.safety.identity import Identity
from nodemend.safety.lifecycle import (
    OUR_TAINT,
    ClearRevocation,
    Close,
    ForgetTaint,
    RemoveTaint,
    has_revocation,
)
from nodemend.safety.power_off import SeenOff, WatchedHost, evaluate_power_off
from nodemend.safety.release import ReleaseTicket

MOST_BYTES: Final = 64 * 1024
MOST_KEYS: Final = 512
MOST_TAINTS: Final = 64
NOTHING: Final = NodeBackup()


def backup_of(node: Node) -> NodeBackup:
    """Return the labels, annotations, taints and cordon that users and other programs set on the Node.

    The remaining metadata is written again by its own controllers.
    """
    labels, annotations = node.metadata.labels, node.metadata.annotations
    return NodeBackup(
        labels={key: value for key, value in labels.items() if key not in well_known.KUBELET_LABELS},
        annotations={
            key: value for key, value in annotations.items() if key not in well_known.UNKEPT_ANNOTATIONS
        },
        taints=tuple(
            KeptTaint(key=taint.key, effect=taint.effect, value=taint.value)
            for taint in node.spec.taints
            if not taint.key.startswith(well_known.CONDITION_TAINTS)
        ),
        unschedulable=node.spec.unschedulable,
    )


def lacks(now: NodeBackup, kept: NodeBackup) -> NodeBackup:
    """Return the parts of `kept` that a Node with `now` lacks. Existing values win: they were written later.

    Key and effect identify a taint, as for Kubernetes.
    """
    there = {(taint.key, taint.effect) for taint in now.taints}
    return NodeBackup(
        labels={key: value for key, value in kept.labels.items() if key not in now.labels},
        annotations={key: value for key, value in kept.annotations.items() if key not in now.annotations},
        taints=tuple(taint for taint in kept.taints if (taint.key, taint.effect) not in there),
        unschedulable=kept.unschedulable and not now.unschedulable,
    )


def bytes_in(kept: NodeBackup) -> int:
    pairs = (*kept.labels.items(), *kept.annotations.items())
    return sum(len(key.encode()) + len(value.encode()) for key, value in pairs)


def fits(kept: NodeBackup) -> bool:
    """Return whether the status can store the backup. A Node that cannot be backed up is not deleted."""
    counts = (len(kept.labels), len(kept.annotations))
    return max(counts) <= MOST_KEYS and len(kept.taints) <= MOST_TAINTS and bytes_in(kept) <= MOST_BYTES


@dataclass(frozen=True, slots=True)
class OwnerMachineFacts:
    """The Machine of the node. `why_not` is the reason why it cannot be replaced; empty if it can."""

    name: str
    why_not: str = ""
    asked: bool = False
    """Nodemend has requested a replacement from its owner."""
    deleting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerFacts(ReleaseFacts):
    """All from live reads, except the two durations, which are measured on this process's own clock."""

    remediation: Metal3Remediation
    belongings: NodeBackup | None = None
    """Metadata that others have written on the Node; None if no Node exists."""
    host: ReadResult[HostFacts]
    host_missing: str = ""
    """The reason why no host was found; empty if one was."""
    identity: Identity
    machine: ReadResult[OwnerMachineFacts] = Absent()  # noqa: RUF009 - frozen
    in_phase_for: float = 0.0
    """Seconds for which this process has observed this attempt in this phase."""
    host_unchanged_for: float = 0.0
    power_offs: ReadResult[tuple[PowerOffEvent, ...]] = Unreadable("not asked")  # noqa: RUF009 - frozen
    """The PowerOff events of the host. Read before the request, and then until the host is observed off."""
    unasked: str = ""
    """The reason why no remediation is requested any longer, if this one is the delegate of a CAPM3
    remediation."""
    may_delete_nodes: bool = False
    """The installation allows the deletion of Nodes."""
    deletion_refused: str = ""
    """The API server's message when it refused to delete the Node."""
    restore_refused: str = ""
    """The API server's message when it refused to restore the metadata on the new Node."""

    @property
    def target(self) -> NodeFacts | None:
        """The Node that is remediated; None if it is absent or has another UID than the recorded one."""
        match self.node:
            case Present(node) if self.remediation.status.node_uid in ("", node.uid):
                return node
            case _:
                return None

    @property
    def held(self) -> HostFacts | None:
        """The host, if it has Nodemend's power-off request."""
        match self.host:
            case Present(host) if host.held_by_us:
                return host
            case _:
                return None

    @property
    def is_held_off(self) -> bool:
        """True if it has Nodemend's power-off request, and is off according to its trusted state."""
        return self.held is not None and self.power is Power.OFF

    @property
    def power(self) -> Power:
        return power_of(self.host.value) if isinstance(self.host, Present) else Power.UNKNOWN

    @property
    def power_off_within(self) -> float:
        return float(self.remediation.spec.power_off_timeout_seconds)

    @property
    def power_on_within(self) -> float:
        return float(self.remediation.spec.power_on_timeout_seconds)

    @property
    def is_back(self) -> bool:
        """True if the node, or another of its name, is Ready on another boot than the one that had to end."""
        match self.node:
            case Present(node) if node.ready is ConditionStatus.TRUE:
                return node.boot_id not in ("", self.remediation.status.boot_id)
            case _:
                return False

    @property
    def not_back(self) -> WaitingForNewBoot:
        return WaitingForNewBoot(self.remediation.status.node_name, gone=isinstance(self.node, Absent))

    def state(self, *, need: bool) -> PowerState:
        """Return its state in the power table."""
        status = self.remediation.status
        return PowerState(
            node=self.target is not None,
            need=need,
            power=self.power,
            hold=self.held is not None,
            cycled=status.released,
            dated=status.seen_on_version != "",
        )

    def watched(self, host: HostFacts) -> WatchedHost:
        status = self.remediation.status
        return WatchedHost(
            host, self.host_unchanged_for, status.seen_off, status.power_off_events, self.power_offs
        )


def is_contradicted(facts: PowerFacts, node: NodeFacts) -> bool:
    """Return whether evidence proves wrong while the release is in progress. Unknown is no contradiction."""
    if not isinstance(facts.host, Present):
        return True
    recorded = facts.remediation.status.evidence
    proof = evaluate_power_off(facts.watched(facts.host.value), node, facts.lease, recorded)
    return not isinstance(proof, SeenOff | CannotRead | NoKubeletLease)


@dataclass(frozen=True, slots=True)
class RecordHostTarget:
    """Record the node, its boot and its host. The node is empty if the machine has no Node."""

    step: ClassVar[str] = "RecordTarget"
    node: str
    node_uid: str
    boot_id: str
    host: TargetHost
    hardware_id: str = ""


@dataclass(frozen=True, slots=True)
class PreparePowerOff:
    """Record the version of the host in which it is on, and the existing PowerOff events.

    Power off may be requested only on that version, and only an event that is not among those counts.
    """

    step: ClassVar[str] = "PreparePowerOff"
    version: str
    events: tuple[PowerOffEvent, ...]


@dataclass(frozen=True, slots=True)
class RequestPowerOff:
    """Place the power-off request on the host."""

    step: ClassVar[str] = "RequestPowerOff"
    host: HostFacts


@dataclass(frozen=True, slots=True)
class RecordOff:
    """Record the first observation of power off.

    Any later change of the host, or a renewal of the kubelet's Lease, invalidates it.
    """

    step: ClassVar[str] = "RecordOff"
    sighting: OffSighting


@dataclass(frozen=True, slots=True)
class BackUp:
    """Record the metadata that others wrote on the Node, before it is deleted."""

    step: ClassVar[str] = "BackUp"
    kept: NodeBackup


@dataclass(frozen=True, slots=True)
class DeleteNode:
    """Release by deleting the Node: the garbage collector deletes its pods."""

    step: ClassVar[str] = "DeleteNode"
    ticket: ReleaseTicket


@dataclass(frozen=True, slots=True)
class Restore:
    """Write the parts of the deleted Node's metadata that the new Node lacks."""

    step: ClassVar[str] = "Restore"
    node: NodeFacts
    missing: NodeBackup


@dataclass(frozen=True, slots=True)
class ForgetBackup:
    """Delete the backup. `refused` is the API server's message if it refused to restore it."""

    step: ClassVar[str] = "ForgetBackup"
    refused: str = ""


@dataclass(frozen=True, slots=True)
class ClearPowerOff:
    """Clear Nodemend's power-off request; the host powers on unless another client requests off."""

    step: ClassVar[str] = "ClearPowerOff"
    host: HostFacts


@dataclass(frozen=True, slots=True)
class RevokePowerOff:
    """Change the host's version, so that a power-off request still in flight cannot succeed any longer."""

    step: ClassVar[str] = "RevokePowerOff"
    host: HostFacts


@dataclass(frozen=True, slots=True)
class ClearRevokedPowerOff:
    """Remove what RevokePowerOff wrote on the host."""

    step: ClassVar[str] = "ClearRevokedPowerOff"
    host: HostFacts


@dataclass(frozen=True, slots=True)
class FailAttempt:
    """This attempt has failed; `permanent` if it was the last."""

    step: ClassVar[str] = "FailAttempt"
    why: HoldReason
    permanent: bool


@dataclass(frozen=True, slots=True)
class StartNextAttempt:
    step: ClassVar[str] = "StartNextAttempt"


@dataclass(frozen=True, slots=True)
class ReplaceMachine:
    """Power cycles did not help: the machine must be replaced while its host is held off."""

    step: ClassVar[str] = "ReplaceMachine"


@dataclass(frozen=True, slots=True)
class MarkHost:
    """Mark the host, so that it is not picked for another machine."""

    step: ClassVar[str] = "MarkHost"
    host: HostFacts


@dataclass(frozen=True, slots=True)
class AskOwner:
    """Request a replacement from the machine's owner."""

    step: ClassVar[str] = "AskOwner"


StatusStep = (
    SharedStatusStep
    | RecordHostTarget
    | PreparePowerOff
    | RecordOff
    | BackUp
    | ForgetBackup
    | FailAttempt
    | StartNextAttempt
    | ReplaceMachine
)
HostStep = RequestPowerOff | ClearPowerOff | RevokePowerOff | ClearRevokedPowerOff | MarkHost
"""Written to the annotations of the host."""
Step = StatusStep | HostStep | SharedStep | DeleteNode | Restore | AskOwner


FIRST_PAUSE: Final = 30.0
LONGEST_PAUSE: Final = 1800.0


def pause_after(failed: int) -> float:
    """Return the seconds between attempts: doubled after each failure."""
    doubled: float = FIRST_PAUSE * (1 << min(max(failed - 1, 0), 16))
    return min(doubled, LONGEST_PAUSE)


def is_spent(facts: PowerFacts) -> bool:
    """Return whether all allowed power cycles have been tried, so that the machine must be replaced."""
    spec = facts.remediation.spec
    tried = facts.remediation.status.retry_count
    return spec.strategy is Strategy.ESCALATE and tried > spec.delete_after_retries


def fail_attempt(facts: PowerFacts, why: HoldReason) -> FailAttempt:
    """Return the end of an attempt, permanent if no further attempt can help.

    A host that could not be powered off is never handed over for replacement: its node may still run. There
    is no further attempt for a host that no longer exists or whose node sent a heartbeat after power off,
    because then it is not the node's own host.
    """
    spec, status = facts.remediation.spec, facts.remediation.status
    last = spec.strategy is Strategy.ESCALATE and status.retry_count >= spec.delete_after_retries
    hopeless = isinstance(why, HostGone | ActiveAfterPowerOff | ActiveAfterRelease)
    return FailAttempt(_in_the_end(why), permanent=hopeless or (last and not status.released))


def _in_the_end(why: HoldReason) -> HoldReason:
    """Return the reason in its past form: what did not happen in time, not what Nodemend waits for."""
    match why:
        case WaitingForPowerOff(host, limit):
            return NeverObservedOff(host, limit)
        case WaitingForPowerOn(host, limit):
            return NeverObservedOn(host, limit)
        case _:
            return why


def bring_back(facts: PowerFacts) -> Step:
    """Return the next step after the release: remove everything from the Node, then restore power."""
    status, node = facts.remediation.status, facts.target
    if node is not None and OUR_TAINT in node.taints:
        return RemoveTaint(node)
    if status.tainted:
        return ForgetTaint()
    if node is not None and has_revocation(facts):
        return ClearRevocation(node)
    if facts.is_back:
        return close(facts)
    if is_spent(facts):
        return ReplaceMachine() if facts.is_held_off else fail_attempt(facts, not_held_off(facts))
    if not isinstance(facts.host, Present):
        return fail_attempt(facts, not_held_off(facts))
    return _power_on(facts, facts.host.value)


def not_held_off(facts: PowerFacts) -> HoldReason:
    """Return why a host that should be held off may be running."""
    match facts.host:
        case Present(HostFacts(held_by_us=False) as host):
            return PowerOffRequestLost(str(host))
        case Present(host):
            why = power_uncertainty(host)
            return HostPowerUncertain(str(host), why) if why else HostOn(str(host))
        case _:
            held = facts.remediation.status.host
            return HostGone(str(held) if held else "it had")


def _power_on(facts: PowerFacts, host: HostFacts) -> Step:
    match move_for(facts.state(need=True)):
        case Move.CLEAR_POWER_OFF:
            return ClearPowerOff(host)
        case Move.AWAIT_NODE:
            return _await(facts, _not_back(facts, host))
        case Move.AWAIT_ON:
            return _await(facts, WaitingForPowerOn(str(host), facts.power_on_within))
        case Move.AWAIT_POWER_STATE:
            return _await(
                facts, HostPowerUncertain(str(host), power_uncertainty(host) or NotManaged(host.state))
            )
        case move:
            raise AssertionError(f"{move} is no move for a host that was off already")


def _not_back(facts: PowerFacts, host: HostFacts) -> HoldReason:
    """Return why the node is not back.

    A kubelet whose Node was deleted registers again, but may still be the same boot.
    """
    status = facts.remediation.status
    match facts.node:
        case Present(NodeFacts(ready=ConditionStatus.TRUE, boot_id=boot)) if boot and boot == status.boot_id:
            return PowerOffContradicted(str(host), boot)
        case _:
            return facts.not_back


def _await(facts: PowerFacts, why: HoldReason) -> FailAttempt | Hold:
    return Hold(why) if facts.in_phase_for < facts.power_on_within else fail_attempt(facts, why)


def back_off(facts: PowerFacts) -> Step:
    """Return the next step between attempts: clear the power-off request, and try again after a pause."""
    if facts.is_back:
        return close(facts)
    if (held := facts.held) and move_for(facts.state(need=False)) is Move.CLEAR_POWER_OFF:
        return ClearPowerOff(held)
    failed = facts.remediation.status.retry_count
    remaining = pause_after(failed) - facts.in_phase_for
    return Hold(BackingOff(remaining, failed)) if remaining > 0 else StartNextAttempt()


def close(facts: PowerFacts) -> ClearPowerOff | Close:
    """Return the next step when the node is back: success once Nodemend's request is off the host."""
    held = facts.held
    return ClearPowerOff(held) if held else Close(node_gone=False)
