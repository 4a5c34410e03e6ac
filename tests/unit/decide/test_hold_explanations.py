"""Every hold has a sentence and a next step, and no two say the same."""

from typing import get_args

import pytest

from nodemend.decide import holds
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import HoldReason

EXAMPLES: list[tuple[HoldReason, str]] = [
    (holds.DryRun(policy_exists=True), "The RemediationPolicy says DryRun: nothing is done, only told."),
    (holds.DryRun(policy_exists=False), "There is no RemediationPolicy: nothing is done, only told."),
    (holds.Paused("anna", "switch swap"), "Paused by anna: switch swap."),
    (holds.Paused("", "switch swap"), "Paused by somebody: switch swap."),
    (holds.TooManyAtOnce(2, 1), "Other nodes under remediation: 2, and the limit is 1."),
    (holds.ViewStale(75, 60), "Our view of the cluster is 75 s old; at most 60 s is trusted."),
    (holds.CannotRead("the Node", "timeout"), "Cannot read the Node: timeout."),
    (holds.Deposed(7, 8), "Leadership 8 is at work here, and we are 7."),
    (holds.OtherRemediation("NodeFence x"), "NodeFence x is at work on this node."),
    (
        holds.BootUnknown("n1"),
        "Node n1 reports no boot ID, so no evidence could name the boot that must end.",
    ),
    (holds.KubeletSpeaks(12, 40), "The kubelet's Lease has been silent for 12 s of the 40 s needed."),
    (holds.NoKubeletLease("n1"), "Node n1 has no Lease, so nothing tells whether its kubelet is silent."),
    (holds.NoWord("n1"), "Waiting for a person to make n1 harmless and to say so."),
    (holds.WordForOther("boot", "a", "b"), "The word given names boot a, but this is b."),
    (
        holds.WordOutlived("12:00", "12:05"),
        "The kubelet renewed its Lease at 12:05; whoever vouched had seen 12:00. It is alive.",
    ),
    (holds.WordExpired(700, 600), "The word is 700 s old; it is good for 600 s."),
    (holds.WordUndated(), "The API server does not tell when the word was given."),
    (holds.NodeReady("n1"), "Node n1 reports Ready: its kubelet is at work."),
    (
        holds.WordContradicted("anna", "b1"),
        "Boot b1, which anna vouched to be down, speaks again. Its workloads may run twice.",
    ),
    (holds.WorkloadsLeaving(2, 1), "Still on the node: 2 pods and 1 volume."),
    (holds.NotBackYet("n1"), "Waiting for n1 to be Ready on a new boot."),
]


@pytest.mark.parametrize(("reason", "sentence"), EXAMPLES)
def test_sentence(reason: HoldReason, sentence: str) -> None:
    explanation = explain(reason)
    assert explanation.sentence == sentence
    assert explanation.next_step.endswith(".")
    assert str(explanation) == f"{sentence} {explanation.next_step}"


def test_every_reason_is_among_the_examples() -> None:
    assert {type(reason) for reason, _ in EXAMPLES} == set(get_args(HoldReason))


def test_who_must_do_what_is_named() -> None:
    assert "kubectl mend confirm n1" in explain(holds.NoWord("n1")).next_step
    assert "kubectl mend resume" in explain(holds.Paused("a", "b")).next_step
    assert "--withdraw" in explain(holds.WordExpired(700, 600)).next_step
