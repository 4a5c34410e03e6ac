"""The life of one Metal3Remediation: what its next step is, from fresh facts alone.

Every step is at most one write. A crash between any two leaves a state that this function already knows.

    AddFinalizer -> Stamp -> RecordTarget -> TakeLock -> WantOff -> PlaceHold -> (hold until it is seen off)
      -> NoteOff -> (hold until the kubelet is silent) -> RecordEvidence
      -> Release, or BackUp and DeleteNode -> (hold until pods and volumes are gone) -> MarkReleased
      -> Untaint -> ForgetTaint -> GiveBack -> (hold until Ready on a new boot) -> Close -> DropLock

An attempt that failed ends in GiveUp, and the next begins with BeginAgain. Which move the host's power needs
stands in the table of decide/power_cycle; when it is due, and what has to come before it, stands here.
"""

from nodemend.api import keys
from nodemend.api.power_cycle import MOST_POWER_OFF_EVENTS, HeldHost, OffSighting, Phase
from nodemend.decide.capm3_holds import NobodyAsks
from nodemend.decide.facts import Absent, NodeFacts, Present, Unreadable
from nodemend.decide.fence_evidence import SeenOff, evidence_of, first_sighting, is_new, weigh_off
from nodemend.decide.holds import BootUnknown, CannotRead, Hold, HoldReason, NewBootUnproven
from nodemend.decide.host_holds import (
    AwaitingOff,
    HoldLost,
    HostDoubtful,
    HostGone,
    HostMissing,
    HostOn,
    HostUnproven,
    NodeNotInCluster,
    NodesShareIdentity,
    OffByOthers,
    OffUndated,
    SpokeAfterOff,
    TooManyPowerOffEvents,
    WrongHost,
)
from nodemend.decide.host_identity import (
    Identity,
    Matched,
    Mismatch,
    NotHere,
    Shared,
    Unknown,
    Unproven,
    ties_of,
)
from nodemend.decide.host_power import HostFacts, NotManaged, doubt
from nodemend.decide.node_deletion import (
    after_the_node,
    awaits_a_node,
    give_back_belongings,
    hindrance,
    use,
)
from nodemend.decide.power_cycle import Move, move_for
from nodemend.decide.power_cycle_attempts import back_off, bring_back, close, fail_attempt
from nodemend.decide.power_cycle_ends import call_off, end, hand_over, leaves_by_taint, let_leave
from nodemend.decide.power_cycle_facts import PowerFacts
from nodemend.decide.power_cycle_steps import GiveBack, NoteOff, PlaceHold, RecordTarget, Step, WantOff
from nodemend.decide.release_gate import ReleaseTicket, open_gate
from nodemend.decide.remediation_life import (
    after_new_boot,
    begin,
    drop_lock_then,
    is_marked,
    take_lock,
    void,
    was_contradicted,
)
from nodemend.decide.remediation_steps import (
    ClearVoidMark,
    Done,
    ForgetEvidence,
    RecordEvidence,
)
from nodemend.decide.storm_guard import brake
from nodemend.decide.switch_guard import may_begin, may_go_on


def decide(facts: PowerFacts) -> Step:
    status = facts.remediation.status
    if first := begin(facts):
        return first
    if isinstance(facts.node, Unreadable):
        return Hold(CannotRead("the Node", facts.node.why))
    if isinstance(facts.host, Unreadable):
        return Hold(CannotRead("the BareMetalHost", facts.host.why))
    if belongings := give_back_belongings(facts):
        return belongings
    if facts.remediation.metadata.deleting:
        return end(facts)
    match status.phase:
        case Phase.SUCCEEDED | Phase.FAILED:
            return _stay_over(facts)
        case Phase.DELETING_MACHINE:
            return hand_over(facts)
        case _ if keys.TIMED_OUT in facts.remediation.metadata.annotations:
            return call_off(facts)
        case Phase.BACKING_OFF:
            return back_off(facts)
        case _:
            return bring_back(facts) if status.released else _pursue(facts)


def _stay_over(facts: PowerFacts) -> Step:
    held = facts.held
    waiting = Hold(facts.not_back) if awaits_a_node(facts) else Done()
    return GiveBack(held) if held else drop_lock_then(facts, waiting)


def _pursue(facts: PowerFacts) -> Step:
    status, node = facts.remediation.status, facts.target
    if status.evidence is None and status.boot_id and facts.is_back:
        # That boot has ended by itself, and the node is well: nobody needs its host off.
        return close(facts)
    if status.evidence is not None:
        if node is None:
            return after_the_node(facts)
        if node.boot_id not in ("", status.evidence.boot_id):
            ended = after_new_boot(facts, node, status.hardware_id)
            return _wait(facts, node, ended.reason) if isinstance(ended, Hold) else ended
        if leaves_by_taint(facts, node):
            return let_leave(facts, node)
    match facts.host:
        case Present(host) if status.host is None or status.host.uid == host.uid:
            return _with_host(facts, host, node)
        case _ if status.host is not None:
            gone = HostGone(str(status.host))
            return void(facts, node, gone) if node and status.evidence else fail_attempt(facts, gone)
        case _:
            return Hold(HostMissing(facts.host_missing))


def _with_host(facts: PowerFacts, host: HostFacts, node: NodeFacts | None) -> Step:
    status = facts.remediation.status
    if node is not None and node.boot_id == "":
        return Hold(BootUnknown(node.name))
    if doubt_of_identity := _doubt_of(facts.identity, host):
        return _wait(facts, node, doubt_of_identity)
    held = HeldHost(namespace=host.namespace, name=host.name, uid=host.uid)
    known = (status.node_name, status.node_uid, status.boot_id)
    found = (node.name, node.uid, node.boot_id) if node is not None else known
    machine = node.hardware_id if node is not None else status.hardware_id
    if status.hardware_id not in ("", machine):
        # The remediation is about the machine that it recorded, whichever reports as that Node now.
        return _wait(facts, node, NewBootUnproven(status.node_name, status.hardware_id, machine))
    unrecorded = status.phase is Phase.PENDING and status.hardware_id != machine
    if (status.host, known) != (held, found) or unrecorded:
        return RecordTarget(*found, held, machine)
    return take_lock(facts) or _move(facts, host, node)


def _doubt_of(identity: Identity, host: HostFacts) -> HoldReason | None:
    match identity:
        case Matched():
            return None
        case Mismatch(what, said, actual):
            return WrongHost(what, said, actual)
        case Unproven(missing):
            return HostUnproven(str(host), missing)
        case NotHere(machine, name):
            return NodeNotInCluster(machine, name)
        case Shared(nodes):
            return NodesShareIdentity(str(host), nodes)
        case Unknown(why):
            return CannotRead("the other Nodes", why)


def _move(facts: PowerFacts, host: HostFacts, node: NodeFacts | None) -> Step:
    match move_for(facts.state(need=True)):
        case Move.PLACE_HOLD:
            return _place_hold(facts, host)
        case Move.AWAIT_OFF:
            return _await_off(facts, host, node)
        case Move.AWAIT_SIGHT:
            return _await_sight(facts, host, node)
        case Move.AWAIT_ON:
            return _await_on(facts, host, node)
        case Move.RELEASE if node is not None:
            return _release(facts, host, node)
        case Move.COUNT_CYCLED:
            return after_the_node(facts)
        case Move.GIVE_BACK:
            return _fail(facts, node, hindrance(facts) or OffUndated(str(host)))
        case move:
            raise AssertionError(f"{move} is no move for somebody who needs it and has not had it")


def _place_hold(facts: PowerFacts, host: HostFacts) -> Step:
    status = facts.remediation.status
    if status.evidence is not None:
        return _wait(facts, facts.target, HoldLost(str(host)))
    if not host.online:
        return _wait(facts, facts.target, OffByOthers(str(host), owner=True, holders=host.held_by_others))
    if facts.unasked:
        return _wait(facts, facts.target, NobodyAsks(facts.unasked))
    asked_for = status.phase is Phase.POWER_OFF
    # Asked when it began, too; but much may have happened since, and an attempt may be a later one.
    if held := (may_go_on if asked_for else may_begin)(facts.switch):
        return held
    if hindered := hindrance(facts):
        return _wait(facts, facts.target, hindered)
    return _request_off(facts, host)


def _request_off(facts: PowerFacts, host: HostFacts) -> Step:
    """Record what exists before the request, and place it only while nothing was added to that.

    The events are read after the host: an order that came before this is in the baseline.
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
            asked_for = status.phase is Phase.POWER_OFF and status.seen_on_version == host.version
            return PlaceHold(host) if recorded and asked_for else WantOff(host.version, events)
        case Unreadable(why):
            return _wait(facts, facts.target, CannotRead("the events of its host", why))
        case Absent():
            return _wait(facts, facts.target, CannotRead("the events of its host", "there is no such list"))


def _await_off(facts: PowerFacts, host: HostFacts, node: NodeFacts | None) -> Step:
    if facts.remediation.status.evidence is not None:
        return _wait(facts, node, HostOn(str(host)))
    return _wait(facts, node, AwaitingOff(str(host), facts.power_off_within))


def _await_on(facts: PowerFacts, host: HostFacts, node: NodeFacts | None) -> Step:
    if facts.remediation.status.evidence is not None:
        return _wait(facts, node, HoldLost(str(host)))
    return _wait(facts, node, OffByOthers(str(host), not host.online, host.held_by_others))


def _await_sight(facts: PowerFacts, host: HostFacts, node: NodeFacts | None) -> Step:
    status = facts.remediation.status
    why = HostDoubtful(str(host), doubt(host) or NotManaged(host.state))
    if status.evidence is None and status.seen_on_version and host.held_by_us and not host.powered_on:
        # Off, and out of sight: it may be on by the time it is seen again, and still be said to be off.
        return ForgetEvidence(why)
    return _wait(facts, node, why)


def _release(facts: PowerFacts, host: HostFacts, node: NodeFacts) -> Step:
    status, watched = facts.remediation.status, facts.watched(host)
    recorded = status.evidence
    if recorded is None and is_marked(facts):
        return ClearVoidMark(node)
    if watched.first is None:
        first = first_sighting(watched, facts.lease, node)
        return NoteOff(first) if isinstance(first, OffSighting) else _wait(facts, node, first)
    proof = weigh_off(watched, node, facts.lease, recorded)
    if isinstance(proof, OffUndated | SpokeAfterOff):
        return _fail(facts, node, proof)
    if not isinstance(proof, SeenOff):
        return _wait(facts, node, proof)
    guarded = brake(facts.policy)
    if recorded is None:
        found = evidence_of(proof, node, ties_of(facts.identity))
        return guarded if isinstance(guarded, Hold) else RecordEvidence(found)
    if hindered := hindrance(facts):
        return _wait(facts, node, hindered)
    gate = open_gate(node, recorded, proof, guarded, facts.epoch)
    if isinstance(gate, ReleaseTicket):
        # Evidence is recorded only where no mark stands. One beside it voids it, whatever is seen now: who
        # wrote it had reason enough, and died before the evidence was forgotten.
        voided = ForgetEvidence(OffUndated(str(host)), was_contradicted(facts))
        return voided if is_marked(facts) else use(facts, gate)
    return gate


def _fail(facts: PowerFacts, node: NodeFacts | None, why: HoldReason) -> Step:
    """It has to be seen on, and to go off, once more: that is another attempt. Evidence is undone first."""
    if facts.remediation.status.evidence is not None and node is not None:
        return void(facts, node, why)
    return fail_attempt(facts, why)


def _wait(facts: PowerFacts, node: NodeFacts | None, why: HoldReason) -> Step:
    """Hold; once the host was asked for, only for as long as a power-off may take.

    Where evidence was recorded it no longer stands, and waiting would not bring it back: it is undone first.
    So it is before an attempt fails, whatever the reason: a release may be under way, and power comes back.
    """
    status = facts.remediation.status
    in_time = status.phase is Phase.PENDING or facts.in_phase_for < facts.power_off_within
    unread = isinstance(why, CannotRead)
    if status.evidence is not None and node is not None and not (unread and in_time):
        return void(facts, node, why)
    return Hold(why) if in_time else fail_attempt(facts, why)
