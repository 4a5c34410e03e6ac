"""State machine of one SelfRemediation: its next step, computed from live reads alone.

Every step is at most one write. After a crash between any two, `decide` continues from the resulting state.

    AddFinalizer -> RecordEpoch -> RecordTarget -> TakeLock -> StartFencing -> PlaceMarker -> RecordMarker
      -> RecordProgress ... -> RecordProof (E4), or RecordEvidence (E2)
      -> Release -> (hold until pods and volumes are gone) -> MarkReleased
      -> RemoveTaint -> ForgetTaint -> RemoveMarker -> (hold until Ready on a new boot) -> Close -> DropLock

The evidence is a new boot (E2), or enough time since the marker (E4). It allows the release while the Node
still names the boot that is over. The marker is removed last: while it is set, the boot gate of a node that
comes back stays closed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.agent import AgentReport, Marker
from nodemend.api.evidence import Evidence
from nodemend.api.meta import ConditionStatus
from nodemend.api.self_remediation import (
    ProvenPeer,
    SelfRemediation,
    SelfRemediationPhase,
    SelfRemediationStatus,
)
from nodemend.remediation.status import (
    BootUnknown,
    ReleaseFacts,
    SharedStatusStep,
    SharedStep,
    WaitingForNewBoot,
)
from nodemend.safety.facts import Absent, LeaseFacts, NodeFacts, Present, ReadResult, Unreadable
from nodemend.safety.guard import in_flight_guard
from nodemend.safety.holds import (
    CannotRead,
    Contradicts,
    Explanation,
    Hold,
    HoldReason,
    KubeletActive,
    NodeReady,
    NoKubeletLease,
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
    RecordTarget,
    Release,
    RemoveTaint,
    after_new_boot,
    await_eviction,
    begin,
    drop_lock_then,
    evaluate_new_boot,
    has_revocation,
    leave_node,
    revoke,
    taint_of_another,
    take_lock,
    was_contradicted,
)
from nodemend.safety.release import ReleaseTicket, open_gate
from nodemend.safety.switch_guard import may_begin, may_go_on
from nodemend.safety.time_proof import (
    DEFAULT_ASSUMPTIONS,
    AgentFacts,
    Anchor,
    Assumptions,
    BootOver,
    NoTimeProof,
    PeerObservation,
    PeerProof,
    Progress,
    count,
    evaluate_time,
    needed_for,
    proven,
    unvouched,
)


@dataclass(frozen=True, slots=True)
class NoNode(HoldReason):
    reason: ClassVar[str] = "NoNode"
    remediation: str

    def explain(self) -> Explanation:
        return Explanation(
            f"There is no Node for {self.remediation}, so no node can reset itself.",
            "Nodemend continues when its Machine has a Node. Otherwise use a remediation of another kind.",
        )


@dataclass(frozen=True, slots=True)
class NoAgent(HoldReason):
    """The node has no Lease in the agents' namespace: no agent of Nodemend has ever run on it."""

    reason: ClassVar[str] = "NoAgent"
    node: str

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.node} has no Lease in nodemend-agents: no agent has ever run there, and nothing would "
            "reset it.",
            "Install the agent on this node before it fails; for now, power it off yourself.",
        )


@dataclass(frozen=True, slots=True)
class AgentReportInvalid(HoldReason):
    reason: ClassVar[str] = "AgentReportInvalid"
    node: str
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The report of the agent of {self.node} is not valid: {self.why}.",
            "Nodemend continues when the agent reports again.",
        )


@dataclass(frozen=True, slots=True)
class AgentReportForOther(HoldReason):
    """The agent's Lease reports another node of the same name, or another boot, than the Node.

    The field `what` is "node" or "boot"; `said` is the ID on the Lease, `actual` that of the Node.
    """

    reason: ClassVar[str] = "AgentReportForOther"
    what: str
    said: str
    actual: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The agent's Lease names {self.what} {self.said}, but the Node names {self.actual}.",
            "Nodemend continues when both name the same.",
        )


@dataclass(frozen=True, slots=True)
class NoUsableWatchdog(HoldReason):
    """No watchdog would end this boot, so a request to fence would only stop the agent."""

    reason: ClassVar[str] = "NoUsableWatchdog"
    node: str
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.node} has no watchdog that would reset it: {self.why}.",
            "Power it off yourself, or let a remediation of another kind heal it.",
        )


@dataclass(frozen=True, slots=True)
class AccumulatingProof(HoldReason):
    """The marker is on the Lease, and the time proof is in progress.

    `proven` of the `needed` seconds are proven.
    """

    reason: ClassVar[str] = "AccumulatingProof"
    proven: float
    needed: float
    covered: int
    """Peers that are proven not to have kept it alive so far."""
    peers: int

    def explain(self) -> Explanation:
        return Explanation(
            f"The node must reset itself: {self.proven:.0f} s of {self.needed:.0f} s are proven; "
            f"{self.covered} of its {self.peers} peers are proven not to have kept it alive.",
            "Nodemend continues when the time is proven, or when the node reports a new boot.",
        )


@dataclass(frozen=True, slots=True)
class BootGateUnreported(HoldReason):
    """A boot gate reported that it held back a new boot, but has not reported it to this leader."""

    reason: ClassVar[str] = "BootGateUnreported"
    node: str

    def explain(self) -> Explanation:
        return Explanation(
            f"A new boot of {self.node} was held back by its boot gate, and it is not known whether it still "
            "is: that report may be older than a restore of etcd.",
            "Nodemend continues when the boot gate answers, or when the agent or the kubelet reports a new "
            "boot. A node that stays silent must be powered off by hand.",
        )


@dataclass(frozen=True, slots=True)
class ProofContradicted(HoldReason):
    reason: ClassVar[str] = "ProofContradicted"
    contradicts: ClassVar[Contradicts] = Contradicts.ONCE_RELEASED
    boot_id: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Boot {self.boot_id} was alive after it was proven to have ended: its watchdog does not do what "
            "it reports. If its workloads were released before that, they may have run twice.",
            "Power the node off now; then test its watchdog.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfFacts(ReleaseFacts):
    """All from live reads, the agents' Leases after the Node: the node's own first, then its peers'.

    `now` is a time after those reads. All progress in the status was counted at least `passed` before the
    reads. `passed` is on the slower of two clocks; `now` and `observations` are on the faster
    (protocol/timing).
    """

    remediation: SelfRemediation
    agent: ReadResult[AgentFacts]
    observations: Mapping[str, PeerObservation]
    passed: float
    now: float
    assumed: Assumptions = DEFAULT_ASSUMPTIONS

    @property
    def uid(self) -> str:
        return self.remediation.metadata.uid

    def is_ours(self, agent: AgentFacts) -> bool:
        """Return whether the marker on the Lease is this remediation's, for any boot."""
        return agent.marker is not None and agent.marker.remediation_uid == self.uid

    def proof(self) -> dict[str, PeerProof]:
        """Return the progress counted before, by the peer's name."""
        return {
            one.name: PeerProof(Anchor(one.node_uid, one.boot_id, one.acknowledged), one.milliseconds / 1000)
            for one in self.remediation.status.proven
        }


def agent_of(facts: SelfFacts, node: str) -> AgentFacts | Hold:
    match facts.agent:
        case Unreadable(why):
            return Hold(CannotRead("the agent's Lease", why))
        case Absent():
            return Hold(NoAgent(node))
        case Present(agent):
            return agent


def kubelet_of(facts: SelfFacts, node: NodeFacts) -> LeaseFacts | Hold:
    match facts.lease:
        case Unreadable(why):
            return Hold(CannotRead("the kubelet's Lease", why))
        case Absent():
            return Hold(NoKubeletLease(node.name))
        case Present(lease):
            return lease


@dataclass(frozen=True, slots=True)
class StartFencing:
    """From here on other remediations count this one, and its marker may be on the Lease."""

    step: ClassVar[str] = "StartFencing"


@dataclass(frozen=True, slots=True)
class PlaceMarker:
    """Place the marker on exactly this version of the Lease: a renewal that came first makes it fail."""

    step: ClassVar[str] = "PlaceMarker"
    agent: AgentFacts
    marker: Marker


@dataclass(frozen=True, slots=True)
class RecordMarker:
    """Record that the marker was read on this version. Progress counted under another version is void."""

    step: ClassVar[str] = "RecordMarker"
    agent: AgentFacts


@dataclass(frozen=True, slots=True)
class RecordProgress:
    step: ClassVar[str] = "RecordProgress"
    progress: Progress


@dataclass(frozen=True, slots=True)
class RecordProof:
    """Record the completed time proof as evidence."""

    step: ClassVar[str] = "RecordProof"
    progress: Progress
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class RemoveMarker:
    step: ClassVar[str] = "RemoveMarker"
    agent: AgentFacts


StatusStep = SharedStatusStep | RecordTarget | StartFencing | RecordMarker | RecordProgress | RecordProof
Step = StatusStep | SharedStep | PlaceMarker | RemoveMarker


NOTED_EVERY: Final = 10.0
"""Interval in seconds at which progress is recorded; a change of leaders may lose this much."""


def start_fencing(facts: SelfFacts, node: NodeFacts) -> Step:
    """Return the next step before fencing: nothing was requested of the node yet."""
    status = facts.remediation.status
    agent = agent_of(facts, node.name)
    if isinstance(agent, Hold):
        return agent
    report = _report_on(agent, node)
    if isinstance(report, Hold):
        return report
    if report.boot_id != node.boot_id and not report.held_back:
        return Hold(AgentReportForOther("boot", report.boot_id, node.boot_id))
    known = (status.node_uid, status.boot_id, status.hardware_id)
    if known != (node.uid, node.boot_id, node.hardware_id):
        return RecordTarget(node.uid, node.boot_id, node.name, node.hardware_id)
    if locked := take_lock(facts):
        return locked
    if report.watchdog.effective <= 0:
        return Hold(NoUsableWatchdog(node.name, report.watchdog.why or "it reports none"))
    return may_begin(facts.switch) or StartFencing()


def fence(facts: SelfFacts, node: NodeFacts) -> Step:
    """Return the next step of fencing, when the marker may be on the Lease."""
    status = facts.remediation.status
    if has_revocation(facts):
        # First: it would revoke any evidence recorded next.
        return ClearRevocation(node)
    if node.boot_id != status.boot_id and (unproven := evaluate_new_boot(node, status.hardware_id)):
        return Hold(unproven)
    if node.boot_id != status.boot_id:
        return RecordEvidence(_new_boot(facts, node.boot_id, "its kubelet"))
    agent = agent_of(facts, node.name)
    if isinstance(agent, Hold):
        return agent
    report = _report_on(agent, node)
    if isinstance(report, Hold):
        return report
    marked = agent.marked_for(facts.uid, status.boot_id)
    if report.boot_id != status.boot_id and marked:
        return RecordEvidence(_new_boot(facts, report.boot_id, "its agent"))
    if report.boot_id != status.boot_id and not report.held_back:
        return Hold(AgentReportForOther("boot", report.boot_id, node.boot_id))
    if not marked:
        # Also while a boot gate holds back a new boot: the gate opens only by a write to this version of the
        # Lease, and never under a marker. The workloads of the node can then be released.
        drill = well_known.DRILL in facts.remediation.metadata.annotations
        marker = Marker(
            node_uid=node.uid,
            boot_id=status.boot_id,
            remediation_uid=facts.uid,
            drill=drill,
            epoch=facts.epoch,
        )
        return may_go_on(facts.switch) or PlaceMarker(agent, marker)
    if status.marked is None or (status.marked.uid, status.marked.version) != (agent.uid, agent.version):
        return RecordMarker(agent)
    if status.contradicted:
        return Hold(ProofContradicted(status.boot_id))
    return _prove(facts, node, report)


def _report_on(agent: AgentFacts, node: NodeFacts) -> AgentReport | Hold:
    if agent.report is None:
        return Hold(AgentReportInvalid(node.name, agent.problem))
    if agent.report.node_uid != node.uid:
        return Hold(AgentReportForOther("node", agent.report.node_uid, node.uid))
    return agent.report


def _prove(facts: SelfFacts, node: NodeFacts, report: AgentReport) -> Step:
    spec, status = facts.remediation.spec, facts.remediation.status
    needed = needed_for(report, spec, facts.assumed)
    if isinstance(needed, NoTimeProof):
        return Hold(needed)
    peers = {name for names in report.peers for name in names}
    observations = {name: observation for name, observation in facts.observations.items() if name in peers}
    before = {name: proof for name, proof in facts.proof().items() if name in peers}
    counted = count(before, observations, facts.passed)
    progress = evaluate_time(
        counted, observations, facts.now, report.peers, needed, facts.assumed.byzantine_peers
    )
    held: RecordProof | Hold | None = None
    if progress.done:
        covering = proven(counted, observations, facts.now, needed)
        problem = unvouched(report, {name: observations[name] for name in covering}, facts.assumed)
        held = Hold(problem) if problem else _conclude(facts, node, progress)
    elif len(observations) == len(peers) and (problem := unvouched(report, observations, facts.assumed)):
        held = Hold(problem)
    if held is not None and not isinstance(held, Hold):
        return held
    if facts.passed >= NOTED_EVERY or _anchors_of(progress, status):
        return RecordProgress(progress)
    return held or Hold(AccumulatingProof(progress.seconds, progress.needed, progress.covered, len(peers)))


def _conclude(facts: SelfFacts, node: NodeFacts, progress: Progress) -> RecordProof | Hold:
    """Return the proof once the time is proven.

    A live kubelet shows that something is wrong with the proof.
    """
    lease = kubelet_of(facts, node)
    if isinstance(lease, Hold):
        return lease
    if not lease.silent:
        return Hold(KubeletActive(lease.unchanged_for, lease.lasts))
    if node.ready is ConditionStatus.TRUE:
        return Hold(NodeReady(node.name))
    go = in_flight_guard(facts.policy)
    return go if isinstance(go, Hold) else RecordProof(progress, _by_time(facts, progress, lease))


def _anchors_of(progress: Progress, status: SelfRemediationStatus) -> bool:
    """Return whether the set of counted peers or the needed time has changed."""
    return status.safe_time_seconds != progress.needed or (
        {(one.name, one.node_uid, one.boot_id, one.acknowledged) for one in status.proven}
        != {(one.name, one.node_uid, one.boot_id, one.acknowledged) for one in proven_peers(progress)}
    )


def proven_peers(progress: Progress) -> tuple[ProvenPeer, ...]:
    """Return the proof as stored in the status. Rounded down: no time may grow by being recorded."""
    return tuple(
        ProvenPeer(
            name=name,
            node_uid=one.anchor.uid,
            boot_id=one.anchor.boot_id,
            acknowledged=one.anchor.acknowledged,
            milliseconds=int(one.seconds * 1000),
        )
        for name, one in sorted(progress.counted.items())
    )


def _new_boot(facts: SelfFacts, boot_id: str, who: str) -> Evidence:
    """Return evidence E2, with the current renew time of the Lease.

    The recorded boot is over, regardless of earlier renewals of its kubelet.
    """
    renewed = facts.lease.value.renew_time if isinstance(facts.lease, Present) else ""
    return _evidence(facts, "E2", who, f"it reports the new boot {boot_id}", renewed)


def _by_time(facts: SelfFacts, progress: Progress, lease: LeaseFacts) -> Evidence:
    reason = (
        f"its marker has been set for at least {progress.seconds} s ({progress.needed} s are enough); "
        f"{progress.covered} of its peers are proven not to have kept it alive"
    )
    return _evidence(facts, "E4", "its watchdog", reason, lease.renew_time)


def _evidence(facts: SelfFacts, class_: str, by: str, reason: str, renewed: str) -> Evidence:
    status = facts.remediation.status
    return Evidence(
        class_=class_,
        node_uid=status.node_uid,
        boot_id=status.boot_id,
        by=by,
        reason=reason,
        last_renew_time=renewed,
    )


@dataclass(frozen=True, slots=True)
class NodeRejoined:
    """A new boot is up, or will be, and no boot gate holds back its kubelet.

    The pods bound to the node are then its own, and it ends those that must end.
    """


def release(facts: SelfFacts, node: NodeFacts, recorded: Evidence) -> Step:
    end = evaluate_end(facts, node, recorded)
    match end:
        case Hold() | PlaceMarker():
            return end
        case NodeRejoined():
            return MarkReleased(contradicted=was_contradicted(facts))
        case ProofContradicted():
            return revoke(facts, node, end)
        case BootOver():
            return _open(facts, node, recorded)


def _open(facts: SelfFacts, node: NodeFacts, recorded: Evidence) -> Step:
    gate = open_gate(node, recorded, BootOver(), in_flight_guard(facts.policy), facts.epoch)
    if not isinstance(gate, ReleaseTicket):
        return gate
    # A revocation beside evidence revokes it, regardless of the current state: the leader that wrote it
    # stopped before it forgot the evidence.
    revoked = ForgetEvidence(ProofContradicted(recorded.boot_id), was_contradicted(facts))
    return revoked if has_revocation(facts) else Release(gate)


def evaluate_end(
    facts: SelfFacts, node: NodeFacts, recorded: Evidence
) -> BootOver | NodeRejoined | ProofContradicted | PlaceMarker | Hold:
    """Return whether no workload of the node can run: its old boot is over, a new one is held back."""
    agent, lease = agent_of(facts, node.name), kubelet_of(facts, node)
    if isinstance(agent, Hold):
        return agent
    if isinstance(lease, Hold):
        return lease
    report = agent.report
    if report is None:
        return Hold(AgentReportInvalid(node.name, agent.problem))
    heard = speaks(lease, node, recorded)
    if report.boot_id != recorded.boot_id:
        return NodeRejoined() if heard else _evaluate_new_boot(facts, node, agent, report)
    if heard:
        return ProofContradicted(recorded.boot_id)
    if agent.marked_for(facts.uid, recorded.boot_id):
        return BootOver()
    # No new boot has written to this version, so the marker is set before its gate can open.
    marker = Marker(node_uid=node.uid, boot_id=recorded.boot_id, remediation_uid=facts.uid, epoch=facts.epoch)
    return PlaceMarker(agent, marker)


def _evaluate_new_boot(
    facts: SelfFacts, node: NodeFacts, agent: AgentFacts, report: AgentReport
) -> BootOver | NodeRejoined | PlaceMarker | Hold:
    """Return whether the boot gate holds back the new boot now.

    If its agent reports, the kubelet runs: an agent is a pod. A gate answers the marker that it has read, and
    opens under no marker. Its answer to this leader was written after this leader's term began, so it is not
    from a backup of etcd.
    """
    marker = agent.marker
    if marker is None or marker.remediation_uid != facts.uid or report.answers is None:
        return NodeRejoined()
    if marker.epoch != facts.epoch:
        return PlaceMarker(agent, marker.but(epoch=facts.epoch))
    return BootOver() if report.answers == facts.epoch else Hold(BootGateUnreported(node.name))


def speaks(lease: LeaseFacts, node: NodeFacts, recorded: Evidence) -> bool:
    """Return whether a kubelet has renewed the Lease, or this Node is Ready, since evidence was recorded."""
    return lease.renew_time != recorded.last_renew_time or node.ready is ConditionStatus.TRUE


def decide(facts: SelfFacts) -> Step:
    status = facts.remediation.status
    if first := begin(facts):
        return first
    if facts.remediation.metadata.deleting:
        return _end(facts)
    if status.phase is SelfRemediationPhase.SUCCEEDED:
        return drop_lock_then(facts, NothingLeft())
    match facts.node:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Present(node) if status.node_uid in ("", node.uid):
            return _pursue(facts, node)
        case Absent() if status.node_uid == "":
            return Hold(NoNode(facts.remediation.metadata.name))
        case Present() | Absent():
            return _remove_marker(facts) or Close(node_gone=True)


def _pursue(facts: SelfFacts, node: NodeFacts) -> Step:
    status = facts.remediation.status
    if status.released:
        return _recover(facts, node)
    if status.evidence is not None:
        return _use(facts, node, status.evidence)
    if node.boot_id == "":
        return Hold(BootUnknown(node.name))
    return start_fencing(facts, node) if status.phase is SelfRemediationPhase.PENDING else fence(facts, node)


def _use(facts: SelfFacts, node: NodeFacts, evidence: Evidence) -> Step:
    if node.boot_id not in ("", evidence.boot_id):
        return after_new_boot(facts, node, facts.remediation.status.hardware_id)
    against = ProofContradicted(evidence.boot_id)
    if OUR_TAINT in node.taints:
        heard = isinstance(facts.lease, Present) and speaks(facts.lease.value, node, evidence)
        return await_eviction(facts, node, contradicted=heard, revoked_as=against)
    step = release(facts, node, evidence)
    if isinstance(step, Release) and taint_of_another(node):
        return await_eviction(facts, node, contradicted=False, revoked_as=against)
    return step


def _recover(facts: SelfFacts, node: NodeFacts) -> Step:
    status = facts.remediation.status
    if OUR_TAINT in node.taints:
        return RemoveTaint(node)
    if status.tainted:
        return ForgetTaint()
    if has_revocation(facts):
        return ClearRevocation(node)
    if kept := _remove_marker(facts):
        return kept
    if node.ready is not ConditionStatus.TRUE:
        return Hold(WaitingForNewBoot(node.name))
    if node.boot_id != status.boot_id:
        return Close(node_gone=False)
    by_time = status.evidence is not None and status.evidence.class_ == "E4"
    return Hold(ProofContradicted(status.boot_id) if by_time else WaitingForNewBoot(node.name))


def _end(facts: SelfFacts) -> Step:
    """Return the next step of a deleted remediation: leave nothing behind, no write in flight.

    The Node is cleaned up before the marker: no gate may open while a release write is still in flight.
    """
    return leave_node(facts) or _remove_marker(facts) or drop_lock_then(facts, DropFinalizer())


def _remove_marker(facts: SelfFacts) -> RemoveMarker | Hold | None:
    """Return the removal of this remediation's marker; None if it is not on the Lease.

    Before fencing begins no marker can exist.
    """
    if facts.remediation.status.phase is SelfRemediationPhase.PENDING:
        return None
    match facts.agent:
        case Unreadable(why):
            return Hold(CannotRead("the agent's Lease", why))
        case Present(agent) if facts.is_ours(agent):
            return RemoveMarker(agent)
        case Present() | Absent():
            return None
