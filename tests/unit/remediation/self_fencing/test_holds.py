"""The holds of self-fencing, as users read them."""

import pytest

from nodemend.remediation.self_fencing import decide as self_fencing
from nodemend.safety import time_proof
from nodemend.safety.holds import HoldReason

EXAMPLES: list[tuple[HoldReason, str]] = [
    (
        self_fencing.NoNode("m-1"),
        "There is no Node for m-1, so no node can reset itself.",
    ),
    (
        self_fencing.NoAgent("n1"),
        "n1 has no Lease in nodemend-agents: no agent has ever run there, and nothing would reset it.",
    ),
    (
        self_fencing.AgentReportInvalid("n1", "it has reported nothing"),
        "The report of the agent of n1 is not valid: it has reported nothing.",
    ),
    (
        self_fencing.AgentReportForOther("boot", "b2", "b1"),
        "The agent's Lease names boot b2, but the Node names b1.",
    ),
    (
        self_fencing.NoUsableWatchdog("n1", "there is no device"),
        "n1 has no watchdog that would reset it: there is no device.",
    ),
    (
        time_proof.NoTimeProof("it is a guest that may be paused", "Look."),
        (
            "The node must reset itself, and only a new boot can prove that it has: it is a guest that"
            " may be paused."
        ),
    ),
    (
        self_fencing.AccumulatingProof(41.9, 72, 3, 4),
        (
            "The node must reset itself: 42 s of 72 s are proven; 3 of its 4 peers are proven not to"
            " have kept it alive."
        ),
    ),
    (
        self_fencing.BootGateUnreported("n1"),
        (
            "A new boot of n1 was held back by its boot gate, and it is not known whether it still is: that"
            " report may be older than a restore of etcd."
        ),
    ),
    (
        self_fencing.ProofContradicted("b1"),
        (
            "Boot b1 was alive after it was proven to have ended: its watchdog does not do what it reports."
            " If its workloads were released before that, they may have run twice."
        ),
    ),
]


@pytest.mark.parametrize(("reason", "sentence"), EXAMPLES, ids=lambda one: type(one).__name__)
def test_it_is_said(reason: HoldReason, sentence: str) -> None:
    assert reason.explain().sentence == sentence


def test_the_component_that_knows_the_missing_fact_supplies_the_next_step() -> None:
    said = time_proof.NoTimeProof("so", "Do this.").explain().next_step
    assert said == "Do this. Nodemend continues when the node reports a new boot."
    assert "Power the node off now" in self_fencing.ProofContradicted("b1").explain().next_step


@pytest.mark.attack("G7")
def test_a_node_without_a_watchdog_is_held_with_the_remedies_in_the_message() -> None:
    explained = str(self_fencing.NoUsableWatchdog("n1", "there is no device").explain())
    assert "n1 has no watchdog that would reset it: there is no device." in explained
    assert "let a remediation of another kind heal it" in explained
