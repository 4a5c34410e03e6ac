"""What the evidence of a SelfRemediation allows now, while the Node still names the boot that is over."""

from dataclasses import dataclass

from nodemend.api.agent_lease import AgentReport, Marker
from nodemend.api.conditions import ConditionStatus
from nodemend.api.evidence import Evidence
from nodemend.decide.agent_facts import AgentFacts
from nodemend.decide.facts import LeaseFacts, NodeFacts
from nodemend.decide.fencing_holds import AgentUnread, GateUnheard, ProofContradicted
from nodemend.decide.holds import Hold
from nodemend.decide.release_gate import ReleaseTicket, open_gate
from nodemend.decide.remediation_life import is_marked, void, was_contradicted
from nodemend.decide.remediation_steps import ForgetEvidence, MarkReleased, Release
from nodemend.decide.self_remediation_facts import SelfFacts, agent_of, kubelet_of
from nodemend.decide.self_remediation_steps import PlaceMarker, Step
from nodemend.decide.storm_guard import brake
from nodemend.decide.time_proof import Over


@dataclass(frozen=True, slots=True)
class Back:
    """A new boot is up, or will be, and nothing holds its kubelet back: the pods that are bound to the node
    are its own, and it ends those that shall go."""


def release(facts: SelfFacts, node: NodeFacts, recorded: Evidence) -> Step:
    weighed = weigh_end(facts, node, recorded)
    match weighed:
        case Hold() | PlaceMarker():
            return weighed
        case Back():
            return MarkReleased(contradicted=was_contradicted(facts))
        case ProofContradicted():
            return void(facts, node, weighed)
        case Over():
            return _open(facts, node, recorded)


def _open(facts: SelfFacts, node: NodeFacts, recorded: Evidence) -> Step:
    gate = open_gate(node, recorded, Over(), brake(facts.policy), facts.epoch)
    if not isinstance(gate, ReleaseTicket):
        return gate
    # A mark beside evidence voids it, whatever is seen now: who wrote it died before it was forgotten.
    voided = ForgetEvidence(ProofContradicted(recorded.boot_id), was_contradicted(facts))
    return voided if is_marked(facts) else Release(gate)


def weigh_end(
    facts: SelfFacts, node: NodeFacts, recorded: Evidence
) -> Over | Back | ProofContradicted | PlaceMarker | Hold:
    """Whether nothing of the node can run now: its old boot is over, and a new one is held back."""
    agent, lease = agent_of(facts, node.name), kubelet_of(facts, node)
    if isinstance(agent, Hold):
        return agent
    if isinstance(lease, Hold):
        return lease
    report = agent.report
    if report is None:
        return Hold(AgentUnread(node.name, agent.doubt))
    heard = speaks(lease, node, recorded)
    if _is_up(report, recorded):
        return Back() if heard else _weigh_new_boot(facts, node, agent, report)
    if heard:
        return ProofContradicted(recorded.boot_id)
    if agent.marked_for(facts.uid, recorded.boot_id):
        return Over()
    # A new boot has not written to this version, so the marker is there before its gate opens.
    marker = Marker(node_uid=node.uid, boot_id=recorded.boot_id, remediation_uid=facts.uid, epoch=facts.epoch)
    return PlaceMarker(agent, marker)


def _weigh_new_boot(
    facts: SelfFacts, node: NodeFacts, agent: AgentFacts, report: AgentReport
) -> Over | Back | PlaceMarker | Hold:
    """Whether its boot gate holds it back now. Where its agent reports, kubelet runs: an agent is a pod.

    A gate answers the marker that it has seen, and opens under none. Its answer to this leader was written
    after this leader began: it is not from a backup of etcd.
    """
    marker = agent.marker
    if marker is None or marker.remediation_uid != facts.uid or report.answers is None:
        return Back()
    if marker.epoch != facts.epoch:
        return PlaceMarker(agent, marker.but(epoch=facts.epoch))
    return Over() if report.answers == facts.epoch else Hold(GateUnheard(node.name))


def _is_up(report: AgentReport, recorded: Evidence) -> bool:
    return report.boot_id != recorded.boot_id


def speaks(lease: LeaseFacts, node: NodeFacts, recorded: Evidence) -> bool:
    """Whether a kubelet has been heard under this Node's name since evidence was recorded."""
    return lease.renew_time != recorded.last_renew_time or node.ready is ConditionStatus.TRUE
