"""Reasons why a remediation by self-fencing waits."""

from dataclasses import dataclass
from typing import ClassVar

from nodemend.safety.holds import Contradicts, Explanation, HoldReason


@dataclass(frozen=True, slots=True)
class NoNode(HoldReason):
    """No Node exists that could reset itself."""

    reason: ClassVar[str] = "NoNode"
    remediation: str

    def explain(self) -> Explanation:
        return Explanation(
            f"There is no Node for {self.remediation}, and so nothing that could end itself.",
            "It goes on when its Machine has a Node. Else let a remediation of another kind heal it.",
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
            "Install the agent on this node before it fails; for now, switch it off yourself.",
        )


@dataclass(frozen=True, slots=True)
class AgentUnread(HoldReason):
    """The agent's Lease has no valid report."""

    reason: ClassVar[str] = "AgentUnread"
    node: str
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"What the agent of {self.node} has reported cannot be relied on: {self.why}.",
            "It goes on when the agent reports again.",
        )


@dataclass(frozen=True, slots=True)
class AgentElsewhere(HoldReason):
    """The agent's Lease reports another node of the same name, or another boot, than the Node.

    The field `what` is "node" or "boot"; `said` is the ID on the Lease, `actual` that of the Node.
    """

    reason: ClassVar[str] = "AgentElsewhere"
    what: str
    said: str
    actual: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The agent's Lease names {self.what} {self.said}, but the Node names {self.actual}.",
            "It goes on when both name the same.",
        )


@dataclass(frozen=True, slots=True)
class NothingResets(HoldReason):
    """No watchdog would end this boot, so a request to fence would only stop the agent."""

    reason: ClassVar[str] = "NothingResets"
    node: str
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.node} has no watchdog that would reset it: {self.why}.",
            "Switch it off yourself, or let a remediation of another kind heal it.",
        )


@dataclass(frozen=True, slots=True)
class NoTimeProof(HoldReason):
    """A time proof is not possible for this node. Only a new boot can be evidence."""

    reason: ClassVar[str] = "NoTimeProof"
    why: str
    remedy: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The node is asked to reset itself, and only a new boot can show that it has: {self.why}.",
            f"{self.remedy} It goes on when the node reports a new boot.",
        )


@dataclass(frozen=True, slots=True)
class AccumulatingProof(HoldReason):
    """The marker is on the Lease, and the time proof is in progress.

    `proven` of the `needed` seconds are proven.
    """

    reason: ClassVar[str] = "Proving"
    proven: float
    needed: float
    covered: int
    """Peers that are proven not to have kept it alive so far."""
    peers: int

    def explain(self) -> Explanation:
        return Explanation(
            f"The node is asked to reset itself: {self.proven:.0f} s of {self.needed:.0f} s are proven; "
            f"{self.covered} of its {self.peers} peers are certain not to have kept it alive.",
            "It goes on when the time is proven, or when the node reports a new boot.",
        )


@dataclass(frozen=True, slots=True)
class BootGateUnreported(HoldReason):
    """A boot gate reported that it held back a new boot, but has not reported it to this leader."""

    reason: ClassVar[str] = "GateUnheard"
    node: str

    def explain(self) -> Explanation:
        return Explanation(
            f"A new boot of {self.node} was held back by its boot gate, and it is not known whether it still "
            "is: that report may be older than a restore of etcd.",
            "It goes on when the boot gate answers, or when the agent or the kubelet reports a new boot. "
            "A node that stays silent has to be switched off by hand.",
        )


@dataclass(frozen=True, slots=True)
class ProofContradicted(HoldReason):
    """The boot that was proven to have ended is alive."""

    reason: ClassVar[str] = "ProofContradicted"
    contradicts: ClassVar[Contradicts] = Contradicts.ONCE_RELEASED
    boot_id: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Boot {self.boot_id} spoke after it was proven to be over: its watchdog does not do what it "
            "says, and its workloads may have run twice.",
            "Switch the node off now; then measure its watchdog.",
        )
