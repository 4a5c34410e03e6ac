"""The holds of self-fencing in words."""

from typing import assert_never

from nodemend.decide.explanation import Explanation
from nodemend.decide.fencing_holds import (
    AgentElsewhere,
    AgentUnread,
    FencingHold,
    GateUnheard,
    NoAgent,
    NoNode,
    NothingResets,
    NoTimeProof,
    ProofContradicted,
    Proving,
)


def explain_fencing(reason: FencingHold) -> Explanation:
    match reason:
        case NoNode() | NoAgent() | AgentUnread() | AgentElsewhere() | NothingResets():
            return _explain_agent(reason)
        case NoTimeProof() | Proving() | GateUnheard() | ProofContradicted():
            return _explain_proof(reason)
        case _:
            assert_never(reason)


def _explain_agent(reason: NoNode | NoAgent | AgentUnread | AgentElsewhere | NothingResets) -> Explanation:
    match reason:
        case NoNode(remediation):
            return Explanation(
                f"There is no Node for {remediation}, and so nothing that could end itself.",
                "It goes on when its Machine has a Node. Else let a remediation of another kind heal it.",
            )
        case NoAgent(node):
            return Explanation(
                f"{node} has no Lease in nodemend-agents: no agent has ever run there, and nothing would "
                "reset it.",
                "Install the agent on this node before it fails; for now, switch it off yourself.",
            )
        case AgentUnread(node, why):
            return Explanation(
                f"What the agent of {node} has reported cannot be relied on: {why}.",
                "It goes on when the agent reports again.",
            )
        case AgentElsewhere(what, said, actual):
            return Explanation(
                f"The agent's Lease names {what} {said}, but the Node names {actual}.",
                "It goes on when both name the same.",
            )
        case NothingResets(node, why):
            return Explanation(
                f"{node} has no watchdog that would reset it: {why}.",
                "Switch it off yourself, or let a remediation of another kind heal it.",
            )
        case _:
            assert_never(reason)


def _explain_proof(reason: NoTimeProof | Proving | GateUnheard | ProofContradicted) -> Explanation:
    match reason:
        case NoTimeProof(why, remedy):
            return Explanation(
                f"The node is asked to reset itself, and only a new boot can show that it has: {why}.",
                f"{remedy} It goes on when the node reports a new boot.",
            )
        case Proving(proven, needed, covered, peers):
            return Explanation(
                f"The node is asked to reset itself: {proven:.0f} s of {needed:.0f} s are proven; "
                f"{covered} of its {peers} peers are certain not to have kept it alive.",
                "It goes on when the time is proven, or when the node reports a new boot.",
            )
        case GateUnheard(node):
            return Explanation(
                f"A new boot of {node} was held back by its boot gate, and it is not known whether it still "
                "is: that report may be older than a restore of etcd.",
                "It goes on when the boot gate answers, or when the agent or the kubelet reports a new boot. "
                "A node that stays silent has to be switched off by hand.",
            )
        case ProofContradicted(boot_id):
            return Explanation(
                f"Boot {boot_id} spoke after it was proven to be over: its watchdog does not do what it "
                "says, and its workloads may have run twice.",
                "Switch the node off now; then measure its watchdog.",
            )
        case _:
            assert_never(reason)
