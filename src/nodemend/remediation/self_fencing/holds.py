"""Reasons why a remediation by self-fencing waits. NoTimeProof is in safety/time_proof, which returns it."""

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
    """The agent's Lease has no valid report."""

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
    """The boot that was proven to have ended is alive."""

    reason: ClassVar[str] = "ProofContradicted"
    contradicts: ClassVar[Contradicts] = Contradicts.ONCE_RELEASED
    boot_id: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Boot {self.boot_id} was alive after it was proven to have ended: its watchdog does not do what "
            "it reports. If its workloads were released before that, they may have run twice.",
            "Power the node off now; then test its watchdog.",
        )
