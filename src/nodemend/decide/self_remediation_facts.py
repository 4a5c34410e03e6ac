"""All that the next step of a SelfRemediation is decided on."""

from collections.abc import Mapping
from dataclasses import dataclass

from nodemend.api.self_remediation import SelfRemediation
from nodemend.decide.agent_facts import AgentFacts
from nodemend.decide.contact_evidence import Anchor
from nodemend.decide.facts import Absent, LeaseFacts, NodeFacts, PolicyFacts, Present, Seen, Unreadable
from nodemend.decide.fencing_holds import NoAgent
from nodemend.decide.holds import CannotRead, Hold, NoKubeletLease
from nodemend.decide.proven_seconds import Look, PeerProof
from nodemend.decide.remediation_life import HeldBy
from nodemend.decide.remediation_steps import Left
from nodemend.decide.switch_guard import SwitchFacts
from nodemend.decide.time_proof import USUALLY, Assumptions


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfFacts:
    """All from fresh reads, the agents' Leases after the Node: the node's own first, then its peers'.

    `now` is the moment after those reads; `passed` is how long before that everything was counted which
    stands in the status, at the latest. `passed` is by the slower of two clocks; `now` and the looks are by
    the faster (decide/two_clocks).
    """

    remediation: SelfRemediation
    epoch: int
    remembers_from: int
    node: Seen[NodeFacts]
    void_mark: str
    lease: Seen[LeaseFacts]
    lock: Seen[HeldBy]
    policy: Seen[PolicyFacts]
    switch: Seen[SwitchFacts]
    """Asked only as long as its marker may have to be placed."""
    left: Seen[Left]
    agent: Seen[AgentFacts]
    looks: Mapping[str, Look]
    passed: float
    now: float
    assumed: Assumptions = USUALLY

    @property
    def uid(self) -> str:
        return self.remediation.metadata.uid

    def is_ours(self, agent: AgentFacts) -> bool:
        """Whether the marker on it is this remediation's, for whichever boot."""
        return agent.marker is not None and agent.marker.remediation_uid == self.uid

    def proof(self) -> dict[str, PeerProof]:
        """What was counted before, by the peer's name."""
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
