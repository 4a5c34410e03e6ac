"""State machine of one Metal3Remediation: its next step, computed from live reads alone.

Every step is at most one write. After a crash between any two, `decide` continues from the resulting state.

    AddFinalizer -> RecordEpoch -> RecordTarget -> TakeLock -> PreparePowerOff -> RequestPowerOff
      -> (hold until observed off) -> RecordOff -> (hold until the kubelet is silent) -> RecordEvidence
      -> Release, or BackUp and DeleteNode -> (hold until pods and volumes are gone) -> MarkReleased
      -> RemoveTaint -> ForgetTaint -> ClearPowerOff -> (hold until Ready on a new boot) -> Close -> DropLock

A failed attempt ends in FailAttempt, and the next starts with StartNextAttempt. The table in `power_table`
defines the move that the host's power needs; this module defines when it is due, and what must precede it.

If the release deletes the Node, these steps follow the evidence:

    RecordEvidence -> BackUp -> DeleteNode -> (hold until the pod garbage collector has deleted the pods, and
      volumes are detached) -> MarkReleased -> ForgetTaint -> ClearPowerOff -> (the kubelet registers)
      -> Restore -> ForgetBackup

Evidence that becomes invalid is revoked on the Node, as for the taint: a deletion in flight then names an old
version and gets a conflict. A deletion that has succeeded cannot be undone. The power-off request stays until
the pods are gone, even if the evidence has become invalid by then.
"""

from typing import Final

from nodemend.api import well_known
from nodemend.api.metal3_remediation import (
    MOST_POWER_OFF_EVENTS,
    Metal3RemediationPhase,
    OffSighting,
    ReleaseBy,
    TargetHost,
)
from nodemend.remediation.capm3.decide import NotRequested
from nodemend.remediation.metal3.holds import (
    ActiveAfterRelease,
    HostGone,
    HostIdentityUnproven,
    HostMissing,
    NodeBackupTooLarge,
    NodeDeletionNotAllowed,
    NodeDeletionRefused,
    NodeNotInCluster,
    NodesShareIdentity,
    NoMachineReplacement,
    OffByOthers,
    OwnerReplacing,
    TimedOutByCheck,
    TooManyPowerOffEvents,
    WaitingForPowerOff,
    WaitingForPowerOn,
    WrongHost,
)
from nodemend.remediation.metal3.model import (
    MOST_BYTES,
    NOTHING,
    AskOwner,
    BackUp,
    ClearPowerOff,
    ClearRevokedPowerOff,
    DeleteNode,
    FailAttempt,
    ForgetBackup,
    MarkHost,
    OwnerMachineFacts,
    PowerFacts,
    PreparePowerOff,
    RecordHostTarget,
    RecordOff,
    RequestPowerOff,
    Restore,
    RevokePowerOff,
    Step,
    back_off,
    bring_back,
    bytes_in,
    close,
    fail_attempt,
    fits,
    is_contradicted,
    lacks,
    not_held_off,
)
from nodemend.remediation.metal3.power_table import Move, move_for
from nodemend.remediation.status import BootUnknown
from nodemend.safety.facts import Absent, NodeFacts, Present, Unreadable
from nodemend.safety.guard import in_flight_guard
from nodemend.safety.holds import CannotRead, Hold, HoldReason, NewBootUnproven, WorkloadsLeaving
from nodemend.safety.host_power import (
    ActiveAfterPowerOff,
    HostFacts,
    HostOn,
    HostPowerUncertain,
    NotManaged,
    OffTimeUncertain,
    Power,
    PowerOffRequestLost,
    power_uncertainty,
)
from nodemend.safety.identity import (
    Identity,
    IdentityUnknown,
    Matched,
    Mismatch,
    NotHere,
    SharedIdentity,
    Unproven,
    matches_of,
)
from nodemend.safety.lifecycle import (
    OUR_TAINT,
    ClearRevocation,
    Close,
    DropFinalizer,
    ForgetEvidence,
    ForgetTaint,
    MarkReleased,
    NothingLeft,
    RecordEvidence,
    Release,
    RemainingWorkloads,
    RemoveTaint,
    ReportRemaining,
    after_new_boot,
    await_eviction,
    begin,
    drop_lock_then,
    evaluate_new_boot,
    has_revocation,
    revoke,
    taint_of_another,
    take_lock,
    was_contradicted,
)
from nodemend.safety.power_off import (
    SeenOff,
    evaluate_power_off,
    evidence_of,
    first_sighting,
    is_new,
    speaks_against,
)
from nodemend.safety.release import ReleaseTicket, open_gate
from nodemend.safety.switch_guard import may_begin, may_go_on


def deletion_obstacle(facts: PowerFacts) -> HoldReason | None:
    """Return why the Node could not be deleted later; checked before anything is powered off."""
    kept = facts.belongings
    if facts.remediation.spec.release_by is not ReleaseBy.NODE_DELETION or kept is None:
        return None
    if not facts.may_delete_nodes:
        return NodeDeletionNotAllowed()
    if not fits(kept):
        return NodeBackupTooLarge(bytes_in(kept), MOST_BYTES)
    return NodeDeletionRefused(facts.deletion_refused) if facts.deletion_refused else None


def use(facts: PowerFacts, ticket: ReleaseTicket) -> Release | ForgetBackup | BackUp | DeleteNode:
    """Return the write that the ticket allows, or the backup that must be recorded before it."""
    kept, backup = facts.belongings, facts.remediation.status.backup
    if facts.remediation.spec.release_by is ReleaseBy.TAINT or kept is None:
        return Release(ticket)
    if backup == kept:
        return DeleteNode(ticket)
    # Writing it over another backup would merge the two.
    return BackUp(kept) if backup is None else ForgetBackup()


def after_the_node(facts: PowerFacts) -> MarkReleased | ReportRemaining | ForgetTaint | FailAttempt | Hold:
    """Return the next step while the evidence's Node does not exist.

    The garbage collector deletes its pods. A Node that registers under its name must find none of them.
    """
    status = facts.remediation.status
    match facts.node:
        case Present(node) if status.evidence is not None:
            return _another_came(facts, node, status.evidence.boot_id)
        case Present():
            return MarkReleased()
        case _:
            return _pods_leaving(facts) or _settle_deletion(facts)


def _pods_leaving(facts: PowerFacts) -> ReportRemaining | Hold | None:
    """Return the step while pods or attachments of the deleted Node remain; else None."""
    status = facts.remediation.status
    match facts.left:
        case Present(RemainingWorkloads(pods, attachments) as left) if pods or attachments:
            if (pods, attachments) != (status.pods_left, status.attachments_left):
                return ReportRemaining(left)
            return Hold(_broken(facts) or WorkloadsLeaving(pods, attachments))
        case Unreadable(why) if status.node_name:
            return Hold(CannotRead("the node's pods and volumes", why))
        case _:
            return None


def _settle_deletion(facts: PowerFacts) -> MarkReleased | ForgetTaint | FailAttempt:
    broken = _broken(facts)
    return _contradicted(facts, broken) if isinstance(broken, ActiveAfterRelease) else MarkReleased()


def _another_came(
    facts: PowerFacts, node: NodeFacts, ended: str
) -> MarkReleased | ForgetTaint | FailAttempt | Hold:
    """Return the next step when a new Node has this name.

    Only a kubelet registers a Node, so its boot ID shows whether the boot that had to end has ended.
    """
    if node.boot_id == ended:
        return _contradicted(facts, ActiveAfterRelease(_host(facts), f"boot {ended}, by a new Node"))
    why = (
        evaluate_new_boot(node, facts.remediation.status.hardware_id)
        if node.boot_id
        else BootUnknown(node.name)
    )
    if why is None:
        # E2: the new kubelet ends the old pods. The garbage collector ignores them while the Node exists.
        return MarkReleased()
    waiting = facts.in_phase_for < facts.power_off_within
    return Hold(why) if waiting else _contradicted(facts, why)


def _contradicted(facts: PowerFacts, why: HoldReason) -> ForgetTaint | FailAttempt:
    """Nothing can be undone on a deleted Node.

    Evidence may be forgotten only after the release that rests on it.
    """
    return ForgetTaint() if facts.remediation.status.tainted else fail_attempt(facts, why)


def _broken(facts: PowerFacts) -> HoldReason | None:
    """Return what contradicts the evidence that the Node was deleted on. Unknown is no contradiction."""
    recorded = facts.remediation.status.evidence
    if recorded is None:
        return None
    if not isinstance(facts.host, Present):
        return HostGone(_host(facts))
    found = speaks_against(facts.watched(facts.host.value), facts.lease, recorded)
    if isinstance(found, ActiveAfterPowerOff):
        return ActiveAfterRelease(found.host, f"its Lease, renewed at {found.said}")
    return found


def _host(facts: PowerFacts) -> str:
    held = facts.remediation.status.host
    return str(held) if held else "its host"


def restore_node_data(facts: PowerFacts) -> Restore | ForgetBackup | None:
    """Restore the backup as soon as a Node exists again, Ready or not; None if nothing can be done now.

    The Node's taints keep out pods that do not belong there.
    """
    status = facts.remediation.status
    if status.backup is None or not isinstance(facts.node, Present) or facts.belongings is None:
        return None
    node = facts.node.value
    if node.uid == status.node_uid:
        never_deleted = status.released or status.evidence is None
        return ForgetBackup() if never_deleted else None
    if node.boot_id == "":
        return None
    missing = lacks(facts.belongings, status.backup)
    if missing == NOTHING or facts.restore_refused:
        return ForgetBackup(facts.restore_refused)
    return Restore(node, missing)


def awaits_a_node(facts: PowerFacts) -> bool:
    """Return whether the backup still waits for a kubelet to register a Node."""
    status = facts.remediation.status
    same = isinstance(facts.node, Present) and facts.node.value.uid == status.node_uid
    return status.backup is not None and not same


NODE_AWAITED: Final = 86_400.0
"""Seconds for which an ended remediation waits for the return of a Node that it deleted, and nothing else."""


def end(facts: PowerFacts) -> Step:
    """Return the next step of a deleted remediation: leave nothing behind, no write in flight.

    A release that has begun is completed first: the node must not run again while its pods are force-removed.
    """
    if first := _settle(facts):
        return first
    if (held := facts.held) and move_for(facts.state(need=False)) is Move.CLEAR_POWER_OFF:
        return ClearPowerOff(held)
    if late := _revoke_late_request(facts):
        return late
    still_off = _still_off(facts)
    if still_off and facts.in_phase_for < facts.power_on_within:
        return Hold(WaitingForPowerOn(still_off, facts.power_on_within))
    return drop_lock_then(facts, _last(facts, still_off))


def _revoke_late_request(facts: PowerFacts) -> RevokePowerOff | ClearRevokedPowerOff | None:
    """Return the step that makes an unanswered power-off request fail, so that it cannot take effect later.

    Such a write can succeed only on the one version of the host that it was decided on, while that is
    current.
    """
    match facts.host:
        case Present(host) if host.revoked_by_us:
            return ClearRevokedPowerOff(host)
        case Present(host) if host.version == facts.remediation.status.seen_on_version:
            return RevokePowerOff(host)
        case _:
            return None


def call_off(facts: PowerFacts) -> Step:
    """Return the next step when the requester's time limit is over.

    It stops as at the end, but the object stays and reports it.
    """
    if first := _settle(facts):
        return first
    # Evidence must not be forgotten while the taint may be on the node.
    return (
        ForgetTaint() if facts.remediation.status.tainted else FailAttempt(TimedOutByCheck(), permanent=True)
    )


def _settle(facts: PowerFacts) -> Step | None:
    """Return the step that must precede power on, or None."""
    if (node := facts.target) and (undo := _undo(facts, node)):
        return undo
    if _is_leaving(facts):
        return after_the_node(facts)
    return None


def _last(facts: PowerFacts, still_off: str) -> DropFinalizer | Hold:
    """Return the last step. While the deleted Node may come back, wait to restore its metadata.

    No other object has the backup.
    """
    status = facts.remediation.status
    if status.backup is None or not awaits_a_node(facts):
        return DropFinalizer(still_off)
    if facts.in_phase_for < NODE_AWAITED and not _machine_goes(facts):
        return Hold(facts.not_back)
    return DropFinalizer(still_off, lost=status.backup.parts)


def _machine_goes(facts: PowerFacts) -> bool:
    """Return whether the Machine is being deleted or gone: its Node then never comes back."""
    had_one = any(owner.kind == "Machine" for owner in facts.remediation.metadata.owner_references)
    match facts.machine:
        case Present(machine):
            return machine.deleting
        case Absent():
            return had_one
        case Unreadable():
            return False


def _is_leaving(facts: PowerFacts) -> bool:
    """Return whether the Node is gone after evidence was recorded, perhaps deleted by Nodemend.

    Its pods are then being force-removed.
    """
    status = facts.remediation.status
    return facts.target is None and status.evidence is not None and not status.released


def leaves_by_taint(facts: PowerFacts, node: NodeFacts) -> bool:
    """Return whether its workloads leave by an out-of-service taint, Nodemend's or another controller's.

    If the Node is to be deleted, another controller's taint may have no effect: such clusters may be too old
    for it.
    """
    theirs = taint_of_another(node) is not None and facts.remediation.spec.release_by is ReleaseBy.TAINT
    return OUR_TAINT in node.taints or theirs


def await_node_eviction(facts: PowerFacts, node: NodeFacts) -> Step:
    """Wait for an out-of-service Node's workloads; if the evidence is wrong, revoke it and remove the taint.

    The revocation matters because the next pass may see no contradiction, for example if a host is no longer
    paused.
    """
    against = OffTimeUncertain(str(facts.remediation.status.host))
    return await_eviction(facts, node, contradicted=is_contradicted(facts, node), revoked_as=against)


def _undo(facts: PowerFacts, node: NodeFacts) -> Step | None:
    """Return the step on the Node that must precede power on; None if nothing of Nodemend's is on it."""
    status = facts.remediation.status
    if status.evidence is not None and leaves_by_taint(facts, node):
        if not status.released and node.boot_id == status.evidence.boot_id:
            return await_node_eviction(facts, node)
        if OUR_TAINT in node.taints:
            return RemoveTaint(node)
    if status.evidence is not None and not status.released and node.boot_id == status.evidence.boot_id:
        return revoke(facts, node, None)
    return ClearRevocation(node) if has_revocation(facts) else None


def _still_off(facts: PowerFacts) -> str:
    """Return the host if any attempt may have held it off and it is not observed on; else empty."""
    status = facts.remediation.status
    touched = status.phase is not Metal3RemediationPhase.PENDING or status.retry_count > 0
    match facts.host:
        case Present(host) if touched and facts.power is not Power.ON:
            return str(host)
        case _:
            return ""


def request_replacement(facts: PowerFacts) -> Step:
    """Return the next step of a machine replacement.

    It is allowed only now: the host is off, and nothing runs on it.
    """
    match facts.machine:
        case Unreadable(why):
            return Hold(CannotRead("the Machine", why))
        case Absent() if isinstance(facts.host, Present) and facts.host.value.marked_unhealthy:
            held = facts.held
            return ClearPowerOff(held) if held else Close(node_gone=True)
        case Absent():
            return FailAttempt(NoMachineReplacement("it has no Machine"), permanent=True)
        case Present(OwnerMachineFacts(deleting=True) as machine):
            return Hold(OwnerReplacing(machine.name))
        case Present() if not facts.is_held_off:
            return fail_attempt(facts, not_held_off(facts))
        case Present(OwnerMachineFacts(why_not=why)) if why:
            return FailAttempt(NoMachineReplacement(why), permanent=True)
        case Present(machine):
            if isinstance(facts.host, Present) and not facts.host.value.marked_unhealthy:
                return MarkHost(facts.host.value)
            return Hold(OwnerReplacing(machine.name)) if machine.asked else AskOwner()


def decide(facts: PowerFacts) -> Step:
    status = facts.remediation.status
    if first := begin(facts):
        return first
    if isinstance(facts.node, Unreadable):
        return Hold(CannotRead("the Node", facts.node.why))
    if isinstance(facts.host, Unreadable):
        return Hold(CannotRead("the BareMetalHost", facts.host.why))
    if belongings := restore_node_data(facts):
        return belongings
    if facts.remediation.metadata.deleting:
        return end(facts)
    match status.phase:
        case Metal3RemediationPhase.SUCCEEDED | Metal3RemediationPhase.FAILED:
            return _stay_over(facts)
        case Metal3RemediationPhase.DELETING_MACHINE:
            return request_replacement(facts)
        case _ if well_known.TIMED_OUT in facts.remediation.metadata.annotations:
            return call_off(facts)
        case Metal3RemediationPhase.BACKING_OFF:
            return back_off(facts)
        case _:
            return bring_back(facts) if status.released else _pursue(facts)


def _stay_over(facts: PowerFacts) -> Step:
    held = facts.held
    waiting = Hold(facts.not_back) if awaits_a_node(facts) else NothingLeft()
    return ClearPowerOff(held) if held else drop_lock_then(facts, waiting)


def _pursue(facts: PowerFacts) -> Step:
    status, node = facts.remediation.status, facts.target
    if status.evidence is None and status.boot_id and facts.is_back:
        # That boot has ended without a power cycle, and the node is healthy: its host need not be powered
        # off.
        return close(facts)
    if status.evidence is not None:
        if node is None:
            return after_the_node(facts)
        if node.boot_id not in ("", status.evidence.boot_id):
            ended = after_new_boot(facts, node, status.hardware_id)
            return _wait(facts, node, ended.reason) if isinstance(ended, Hold) else ended
        if leaves_by_taint(facts, node):
            return await_node_eviction(facts, node)
    match facts.host:
        case Present(host) if status.host is None or status.host.uid == host.uid:
            return _with_host(facts, host, node)
        case _ if status.host is not None:
            gone = HostGone(str(status.host))
            return revoke(facts, node, gone) if node and status.evidence else fail_attempt(facts, gone)
        case _:
            return Hold(HostMissing(facts.host_missing))


def _with_host(facts: PowerFacts, host: HostFacts, node: NodeFacts | None) -> Step:
    status = facts.remediation.status
    if node is not None and node.boot_id == "":
        return Hold(BootUnknown(node.name))
    if identity_problem := _host_uncertainty(facts.identity, host):
        return _wait(facts, node, identity_problem)
    held = TargetHost(namespace=host.namespace, name=host.name, uid=host.uid)
    known = (status.node_name, status.node_uid, status.boot_id)
    found = (node.name, node.uid, node.boot_id) if node is not None else known
    machine = node.hardware_id if node is not None else status.hardware_id
    if status.hardware_id not in ("", machine):
        # The remediation is for the machine that it recorded, regardless of which machine reports as that
        # Node now.
        return _wait(facts, node, NewBootUnproven(status.node_name, status.hardware_id, machine))
    unrecorded = status.phase is Metal3RemediationPhase.PENDING and status.hardware_id != machine
    if (status.host, known) != (held, found) or unrecorded:
        return RecordHostTarget(*found, held, machine)
    return take_lock(facts) or _move(facts, host, node)


def _host_uncertainty(identity: Identity, host: HostFacts) -> HoldReason | None:
    match identity:
        case Matched():
            return None
        case Mismatch(what, said, actual):
            return WrongHost(what, said, actual)
        case Unproven(missing):
            return HostIdentityUnproven(str(host), missing)
        case NotHere(machine, name):
            return NodeNotInCluster(machine, name)
        case SharedIdentity(nodes):
            return NodesShareIdentity(str(host), nodes)
        case IdentityUnknown(why):
            return CannotRead("the other Nodes", why)


def _move(facts: PowerFacts, host: HostFacts, node: NodeFacts | None) -> Step:
    match move_for(facts.state(need=True)):
        case Move.REQUEST_POWER_OFF:
            return _request_power_off(facts, host)
        case Move.AWAIT_OFF:
            return _await_off(facts, host, node)
        case Move.AWAIT_POWER_STATE:
            return _await_power_state(facts, host, node)
        case Move.AWAIT_ON:
            return _await_on(facts, host, node)
        case Move.RELEASE if node is not None:
            return _release(facts, host, node)
        case Move.COUNT_CYCLED:
            return after_the_node(facts)
        case Move.CLEAR_POWER_OFF:
            return _fail(facts, node, deletion_obstacle(facts) or OffTimeUncertain(str(host)))
        case move:
            raise AssertionError(f"{move} is no move for a host that must be powered off and was not yet")


def _request_power_off(facts: PowerFacts, host: HostFacts) -> Step:
    status = facts.remediation.status
    if status.evidence is not None:
        return _wait(facts, facts.target, PowerOffRequestLost(str(host)))
    if not host.online:
        return _wait(facts, facts.target, OffByOthers(str(host), owner=True, holders=host.held_by_others))
    if facts.unasked:
        return _wait(facts, facts.target, NotRequested(facts.unasked))
    asked_for = status.phase is Metal3RemediationPhase.POWER_OFF
    # The guard was checked at the start, too; but the state may have changed since, and this may be a retry.
    if held := (may_go_on if asked_for else may_begin)(facts.switch):
        return held
    if hindered := deletion_obstacle(facts):
        return _wait(facts, facts.target, hindered)
    return _request_off(facts, host)


def _request_off(facts: PowerFacts, host: HostFacts) -> Step:
    """Record the existing events before the request, and place it only if no event was added since.

    The events are read after the host, so an earlier order is in the baseline.
    """
    status = facts.remediation.status
    match facts.power_offs:
        case Present(events) if len(events) > MOST_POWER_OFF_EVENTS:
            return _wait(
                facts, facts.target, TooManyPowerOffEvents(str(host), len(events), MOST_POWER_OFF_EVENTS)
            )
        case Present(events):
            known = status.power_off_events
            recorded = known is not None and not any(is_new(one, known) for one in events)
            asked_for = (
                status.phase is Metal3RemediationPhase.POWER_OFF and status.seen_on_version == host.version
            )
            return RequestPowerOff(host) if recorded and asked_for else PreparePowerOff(host.version, events)
        case Unreadable(why):
            return _wait(facts, facts.target, CannotRead("the events of its host", why))
        case Absent():
            return _wait(facts, facts.target, CannotRead("the events of its host", "there is no such list"))


def _await_off(facts: PowerFacts, host: HostFacts, node: NodeFacts | None) -> Step:
    if facts.remediation.status.evidence is not None:
        return _wait(facts, node, HostOn(str(host)))
    return _wait(facts, node, WaitingForPowerOff(str(host), facts.power_off_within))


def _await_on(facts: PowerFacts, host: HostFacts, node: NodeFacts | None) -> Step:
    if facts.remediation.status.evidence is not None:
        return _wait(facts, node, PowerOffRequestLost(str(host)))
    return _wait(facts, node, OffByOthers(str(host), not host.online, host.held_by_others))


def _await_power_state(facts: PowerFacts, host: HostFacts, node: NodeFacts | None) -> Step:
    status = facts.remediation.status
    why = HostPowerUncertain(str(host), power_uncertainty(host) or NotManaged(host.state))
    if status.evidence is None and status.seen_on_version and host.held_by_us and not host.powered_on:
        # Off, and no longer observable: it may be on by the next observation and still be reported off.
        return ForgetEvidence(why)
    return _wait(facts, node, why)


def _release(facts: PowerFacts, host: HostFacts, node: NodeFacts) -> Step:
    status, watched = facts.remediation.status, facts.watched(host)
    recorded = status.evidence
    if recorded is None and has_revocation(facts):
        return ClearRevocation(node)
    if watched.first is None:
        first = first_sighting(watched, facts.lease, node)
        return RecordOff(first) if isinstance(first, OffSighting) else _wait(facts, node, first)
    proof = evaluate_power_off(watched, node, facts.lease, recorded)
    if isinstance(proof, OffTimeUncertain | ActiveAfterPowerOff):
        return _fail(facts, node, proof)
    if not isinstance(proof, SeenOff):
        return _wait(facts, node, proof)
    guarded = in_flight_guard(facts.policy)
    if recorded is None:
        found = evidence_of(proof, node, matches_of(facts.identity))
        return guarded if isinstance(guarded, Hold) else RecordEvidence(found)
    if hindered := deletion_obstacle(facts):
        return _wait(facts, node, hindered)
    gate = open_gate(node, recorded, proof, guarded, facts.epoch)
    if isinstance(gate, ReleaseTicket):
        # Evidence is recorded only while no revocation is set. A revocation beside evidence revokes it,
        # regardless of the current state: the leader that wrote it had a reason, and stopped before it forgot
        # the evidence.
        revoked = ForgetEvidence(OffTimeUncertain(str(host)), was_contradicted(facts))
        return revoked if has_revocation(facts) else use(facts, gate)
    return gate


def _fail(facts: PowerFacts, node: NodeFacts | None, why: HoldReason) -> Step:
    """Fail the attempt: in the next one the host must be observed on and then going off.

    Revoke evidence first.
    """
    if facts.remediation.status.evidence is not None and node is not None:
        return revoke(facts, node, why)
    return fail_attempt(facts, why)


def _wait(facts: PowerFacts, node: NodeFacts | None, why: HoldReason) -> Step:
    """Hold; once power off was requested, only for as long as a power-off may take.

    If evidence was recorded, it is no longer valid, and waiting would not restore it: it is revoked first.
    The same is done before any failure of an attempt, because a release may be in progress, and power comes
    back.
    """
    status = facts.remediation.status
    in_time = status.phase is Metal3RemediationPhase.PENDING or facts.in_phase_for < facts.power_off_within
    unread = isinstance(why, CannotRead)
    if status.evidence is not None and node is not None and not (unread and in_time):
        return revoke(facts, node, why)
    return Hold(why) if in_time else fail_attempt(facts, why)
