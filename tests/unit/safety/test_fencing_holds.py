"""The holds of self-fencing, as users read them."""

import pytest

from nodemend.safety import self_fencing_holds
from nodemend.safety.holds import HoldReason

EXAMPLES: list[tuple[HoldReason, str]] = [
    (
        self_fencing_holds.NoNode("m-1"),
        "There is no Node for m-1, and so nothing that could end itself.",
    ),
    (
        self_fencing_holds.NoAgent("n1"),
        "n1 has no Lease in nodemend-agents: no agent has ever run there, and nothing would reset it.",
    ),
    (
        self_fencing_holds.AgentUnread("n1", "it has reported nothing"),
        "What the agent of n1 has reported cannot be relied on: it has reported nothing.",
    ),
    (
        self_fencing_holds.AgentElsewhere("boot", "b2", "b1"),
        "The agent's Lease names boot b2, but the Node names b1.",
    ),
    (
        self_fencing_holds.NothingResets("n1", "there is no device"),
        "n1 has no watchdog that would reset it: there is no device.",
    ),
    (
        self_fencing_holds.NoTimeProof("it is a guest that may be paused", "Look."),
        (
            "The node is asked to reset itself, and only a new boot can show that it has: it is a guest that"
            " may be paused."
        ),
    ),
    (
        self_fencing_holds.AccumulatingProof(41.9, 72, 3, 4),
        (
            "The node is asked to reset itself: 42 s of 72 s are proven; 3 of its 4 peers are certain not to"
            " have kept it alive."
        ),
    ),
    (
        self_fencing_holds.BootGateUnreported("n1"),
        (
            "A new boot of n1 was held back by its boot gate, and it is not known whether it still is: that"
            " report may be older than a restore of etcd."
        ),
    ),
    (
        self_fencing_holds.ProofContradicted("b1"),
        (
            "Boot b1 spoke after it was proven to be over: its watchdog does not do what it says, and its"
            " workloads may have run twice."
        ),
    ),
]


@pytest.mark.parametrize(("reason", "sentence"), EXAMPLES, ids=lambda one: type(one).__name__)
def test_it_is_said(reason: HoldReason, sentence: str) -> None:
    assert reason.explain().sentence == sentence


def test_what_to_do_is_said_by_whoever_knows_what_is_missing() -> None:
    said = self_fencing_holds.NoTimeProof("so", "Do this.").explain().next_step
    assert said == "Do this. It goes on when the node reports a new boot."
    assert "Switch the node off now" in self_fencing_holds.ProofContradicted("b1").explain().next_step


@pytest.mark.attack("G7")
def test_a_node_without_a_watchdog_is_held_and_told_what_heals_it() -> None:
    told = str(self_fencing_holds.NothingResets("n1", "there is no device").explain())
    assert "n1 has no watchdog that would reset it: there is no device." in told
    assert "let a remediation of another kind heal it" in told
