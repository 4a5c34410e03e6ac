"""How a SelfRemediation comes to evidence: the marker, and then a new boot (E2) or enough time (E4)."""

from typing import Final

from nodemend.api import keys
from nodemend.api.agent_lease import AgentReport, Marker
from nodemend.api.conditions import ConditionStatus
from nodemend.api.evidence import Evidence
from nodemend.api.self_remediation import ProvenPeer, SelfRemediationStatus
from nodemend.decide.agent_facts import AgentFacts
from nodemend.decide.facts import LeaseFacts, NodeFacts, Present
from nodemend.decide.fencing_holds import (
    AgentElsewhere,
    AgentUnread,
    NothingResets,
    NoTimeProof,
    ProofContradicted,
    Proving,
)
from nodemend.decide.holds import Hold, KubeletSpeaks, NodeReady
from nodemend.decide.proven_seconds import count, proven
from nodemend.decide.remediation_life import is_marked, take_lock, weigh_new_boot
from nodemend.decide.remediation_steps import ClearVoidMark, RecordEvidence, RecordTarget
from nodemend.decide.self_remediation_facts import SelfFacts, agent_of, kubelet_of
from nodemend.decide.self_remediation_steps import (
    BeginFencing,
    NoteMarker,
    NoteProgress,
    PlaceMarker,
    RecordProof,
    Step,
)
from nodemend.decide.storm_guard import brake
from nodemend.decide.switch_guard import may_begin, may_go_on
from nodemend.decide.time_proof import Progress, needed_for, unvouched, weigh_time

NOTED_EVERY: Final = 10.0
"""Seconds that a change of leaders may cost: what was counted is written down so often."""


def begin_fencing(facts: SelfFacts, node: NodeFacts) -> Step:
    """Nothing was asked of the node yet."""
    status = facts.remediation.status
    agent = agent_of(facts, node.name)
    if isinstance(agent, Hold):
        return agent
    report = _report_on(agent, node)
    if isinstance(report, Hold):
        return report
    if report.boot_id != node.boot_id and not report.held_back:
        return Hold(AgentElsewhere("boot", report.boot_id, node.boot_id))
    known = (status.node_uid, status.boot_id, status.hardware_id)
    if known != (node.uid, node.boot_id, node.hardware_id):
        return RecordTarget(node.uid, node.boot_id, node.name, node.hardware_id)
    if locked := take_lock(facts):
        return locked
    if report.watchdog.effective <= 0:
        return Hold(NothingResets(node.name, report.watchdog.why or "it reports none"))
    return may_begin(facts.switch) or BeginFencing()


def fence(facts: SelfFacts, node: NodeFacts) -> Step:
    """Its marker may be on the Lease."""
    status = facts.remediation.status
    if is_marked(facts):
        # First: it would void whatever evidence comes next.
        return ClearVoidMark(node)
    if node.boot_id != status.boot_id and (unproven := weigh_new_boot(node, status.hardware_id)):
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
        return Hold(AgentElsewhere("boot", report.boot_id, node.boot_id))
    if not marked:
        # Also where a boot gate holds a new boot back: it opens only by a write to this version, and under a
        # marker not at all. What it holds back may then be released.
        drill = keys.DRILL in facts.remediation.metadata.annotations
        marker = Marker(
            node_uid=node.uid,
            boot_id=status.boot_id,
            remediation_uid=facts.uid,
            drill=drill,
            epoch=facts.epoch,
        )
        return may_go_on(facts.switch) or PlaceMarker(agent, marker)
    if status.marked is None or (status.marked.uid, status.marked.version) != (agent.uid, agent.version):
        return NoteMarker(agent)
    if status.contradicted:
        return Hold(ProofContradicted(status.boot_id))
    return _prove(facts, node, report)


def _report_on(agent: AgentFacts, node: NodeFacts) -> AgentReport | Hold:
    if agent.report is None:
        return Hold(AgentUnread(node.name, agent.doubt))
    if agent.report.node_uid != node.uid:
        return Hold(AgentElsewhere("node", agent.report.node_uid, node.uid))
    return agent.report


def _prove(facts: SelfFacts, node: NodeFacts, report: AgentReport) -> Step:
    spec, status = facts.remediation.spec, facts.remediation.status
    needed = needed_for(report, spec, facts.assumed)
    if isinstance(needed, NoTimeProof):
        return Hold(needed)
    peers = {name for names in report.peers for name in names}
    looks = {name: look for name, look in facts.looks.items() if name in peers}
    before = {name: proof for name, proof in facts.proof().items() if name in peers}
    counted = count(before, looks, facts.passed)
    progress = weigh_time(counted, looks, facts.now, report.peers, needed, facts.assumed.liars)
    held: RecordProof | Hold | None = None
    if progress.done:
        covering = proven(counted, looks, facts.now, needed)
        doubt = unvouched(report, {name: looks[name] for name in covering}, facts.assumed)
        held = Hold(doubt) if doubt else _conclude(facts, node, progress)
    elif len(looks) == len(peers) and (doubt := unvouched(report, looks, facts.assumed)):
        held = Hold(doubt)
    if held is not None and not isinstance(held, Hold):
        return held
    if facts.passed >= NOTED_EVERY or _anchors_of(progress, status):
        return NoteProgress(progress)
    return held or Hold(Proving(progress.seconds, progress.needed, progress.covered, len(peers)))


def _conclude(facts: SelfFacts, node: NodeFacts, progress: Progress) -> RecordProof | Hold:
    """The time is proven. A kubelet that speaks shows that something is wrong with the proof."""
    lease = kubelet_of(facts, node)
    if isinstance(lease, Hold):
        return lease
    if not lease.silent:
        return Hold(KubeletSpeaks(lease.unchanged_for, lease.lasts))
    if node.ready is ConditionStatus.TRUE:
        return Hold(NodeReady(node.name))
    go = brake(facts.policy)
    return go if isinstance(go, Hold) else RecordProof(progress, _by_time(facts, progress, lease))


def _anchors_of(progress: Progress, status: SelfRemediationStatus) -> bool:
    """Whether what is counted for whom has changed, or how long it takes."""
    return status.safe_time_seconds != progress.needed or (
        {(one.name, one.node_uid, one.boot_id, one.acknowledged) for one in status.proven}
        != {(one.name, one.node_uid, one.boot_id, one.acknowledged) for one in proven_peers(progress)}
    )


def proven_peers(progress: Progress) -> tuple[ProvenPeer, ...]:
    """As it stands in the status. Rounded down: nothing may become longer by being written."""
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
    """E2. The last sign of life is whichever stands: that boot is over, whatever its kubelet said before."""
    renewed = facts.lease.value.renew_time if isinstance(facts.lease, Present) else ""
    return _evidence(facts, "E2", who, f"it reports a new boot, {boot_id}", renewed)


def _by_time(facts: SelfFacts, progress: Progress, lease: LeaseFacts) -> Evidence:
    reason = (
        f"it was marked for {progress.seconds} s, which no boot of it outlives ({progress.needed} s); "
        f"{progress.covered} of its peers cannot have kept it alive"
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
