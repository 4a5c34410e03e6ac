"""Every hold has a sentence and a next step, and no two say the same."""

import re

import pytest

from nodemend.remediation.capm3 import decide
from nodemend.safety import guard_holds, holds, host_holds
from nodemend.safety.holds import HoldReason
from tests.unit.safety.hold_reasons import all_hold_reasons
from tests.unit.safety.test_fencing_holds import EXAMPLES as FENCING_EXAMPLES
from tests.unit.safety.test_host_holds import EXAMPLES as HOST_EXAMPLES

EXAMPLES: list[tuple[HoldReason, str]] = [
    (
        guard_holds.DryRun(policy_exists=True),
        "The RemediationPolicy says DryRun: nothing is done, only told.",
    ),
    (guard_holds.DryRun(policy_exists=False), "There is no RemediationPolicy: nothing is done, only told."),
    (guard_holds.Paused("anna", "switch swap"), "Paused by anna: switch swap."),
    (guard_holds.Paused("", "switch swap"), "Paused by somebody: switch swap."),
    (
        guard_holds.Paused("anna", "switch swap", "workers"),
        "The check workers is paused by anna: switch swap.",
    ),
    (
        guard_holds.CheckDryRun("workers"),
        "The check workers says dryRun: nothing is done, only told.",
    ),
    (guard_holds.Excluded("a/b"), "The node is to be left alone: it has a/b."),
    (guard_holds.InMaintenance("M=True"), "The node is in maintenance: M=True."),
    (guard_holds.NoOwnerActs("nobody owns it"), "Nobody would act on it: nobody owns it."),
    (
        guard_holds.NotUnderstood("workers", "'a' is no limit"),
        "The check workers says what nobody can follow: 'a' is no limit.",
    ),
    (
        guard_holds.AnnotationServed("somebody has the Lease a/b"),
        "Another controller acts upon the annotation that asks for it: somebody has the Lease a/b.",
    ),
    (
        guard_holds.PolicyNotInForce("nodemend-nodes", "it is missing"),
        (
            "The admission policy nodemend-nodes is not in force: it is missing."
            " What it forbids may have been done."
        ),
    ),
    (
        guard_holds.PolicyNotProven("nodemend-nodes", "timeout"),
        "It is not known whether the admission policy nodemend-nodes is in force: timeout.",
    ),
    (
        guard_holds.TooManyUnhealthy("zone-a", 3, 6, "40%", 2),
        "Too many are unhealthy in zone-a: 3 of 6, and the limit is 40%.",
    ),
    (
        guard_holds.TooFewUnhealthy("workers", 1, 2),
        "Only 1 are unhealthy in workers, and it acts when at least 2 are.",
    ),
    (guard_holds.CoolingDown(42), "A storm has just ended, and what it leaves is judged anew."),
    (
        guard_holds.ApiUnsettled(3, 20),
        "The API server failed us just now: nodes may only have looked sick.",
    ),
    (guard_holds.RemediesExhausted(1), "1 remedy was tried, and it is still unhealthy."),
    (guard_holds.RemediesExhausted(3), "3 remedies were tried, and it is still unhealthy."),
    (
        guard_holds.OrderInvalid("anna", "it was taken back"),
        "The order of anna counts no longer: it was taken back.",
    ),
    (
        guard_holds.NodeHealthy("n1"),
        "Node n1 is Ready, its kubelet renews its Lease, and no check finds it unhealthy.",
    ),
    (
        guard_holds.NotReadyBriefly(3, 20),
        "The node has been seen not Ready for 3 s of the 20 s needed.",
    ),
    (guard_holds.StartInterval(4), "Another remediation has only just begun."),
    (
        guard_holds.ControlPlaneBusy("cp-2"),
        "The control-plane node cp-2 is under remediation, and there is one at a time.",
    ),
    (
        guard_holds.QuorumAtRisk(1, 3),
        "Without it 1 of 3 control-plane nodes would be Ready, no majority.",
    ),
    (
        guard_holds.TooManyAtOnce(2, 1, "zone-a"),
        "Other nodes under remediation in zone-a: 2, and the limit is 1.",
    ),
    (guard_holds.TooManyAtOnce(2, 1), "Other nodes under remediation: 2, and the limit is 1."),
    (holds.ViewStale(75, 60), "Our view of the cluster is 75 s old; at most 60 s is trusted."),
    (holds.CannotRead("the Node", "timeout"), "Cannot read the Node: timeout."),
    (holds.CreationRefused("Reboot", "no right"), "The API server refuses a Reboot: no right."),
    (holds.LeadershipLost(7, 8), "Leadership 8 is at work here, and we are 7."),
    (guard_holds.OtherRemediation("NodeFence x"), "NodeFence x is at work on this node."),
    (
        guard_holds.Unserved("SelfRemediation d/n1"),
        "Nobody serves SelfRemediation d/n1: it was asked for, and nothing has begun.",
    ),
    (
        holds.BootUnknown("n1"),
        "Node n1 reports no boot ID, so no evidence could name the boot that must end.",
    ),
    (holds.KubeletActive(12, 40), "The kubelet's Lease has been silent for 12 s of the 40 s needed."),
    (holds.NoKubeletLease("n1"), "Node n1 has no Lease, so nothing tells whether its kubelet is silent."),
    (holds.NoConfirmation("n1"), "Waiting for a person to make n1 harmless and to say so."),
    (holds.ConfirmationForOther("boot", "a", "b"), "The word given names boot a, but this is b."),
    (
        holds.ConfirmationOutlived("12:00", "12:05"),
        "The kubelet renewed its Lease at 12:05; whoever vouched had seen 12:00. It is alive.",
    ),
    (
        holds.ConfirmationFromBefore(40.0, 12.0),
        (
            "The word is 40 s old, and this remediator has watched for 12 s: etcd may have been restored from"
            " a backup since the word was given."
        ),
    ),
    (
        holds.EvidenceFromBefore(70, 90),
        (
            "The evidence was recorded in leadership 70, and this remediator has watched since 90: etcd may"
            " have been restored from a backup in between."
        ),
    ),
    (holds.ConfirmationExpired(700, 600), "The word is 700 s old; it is good for 600 s."),
    (
        holds.ConfirmationDisproved(),
        "The node gave a sign of life after this word was believed. It does not count any more.",
    ),
    (holds.ConfirmationUndated(), "The API server does not tell when the word was given."),
    (holds.NodeReady("n1"), "Node n1 reports Ready: its kubelet is at work."),
    (
        holds.NewBootUnproven("n1", "system-uuid/1", "system-uuid/2"),
        (
            "Node n1 reports a new boot as system-uuid/2; it was recorded as system-uuid/1. "
            "The old boot may go on there."
        ),
    ),
    (
        holds.NewBootUnproven("n1", "", ""),
        (
            "Node n1 reports a new boot as a machine that it does not name; it was recorded as "
            "a machine that it did not name. The old boot may go on there."
        ),
    ),
    (
        holds.ConfirmationContradicted("anna", "b1"),
        "Boot b1, which anna vouched to be down, speaks again. Its workloads may run twice.",
    ),
    (holds.WorkloadsLeaving(2, 1), "Still on the node: 2 pods and 1 volume."),
    (
        holds.TaintedByAnother("n1", "node.kubernetes.io/out-of-service=x:NoExecute", 2, 1),
        (
            "Node n1 has the taint node.kubernetes.io/out-of-service=x:NoExecute, which is not ours, and "
            "ours cannot stand beside it. Still on the node: 2 pods and 1 volume."
        ),
    ),
    (holds.NotBackYet("n1"), "Waiting for n1 to be Ready on a new boot."),
    (holds.NotBackYet("", gone=True), "Waiting for its node to be Ready on a new boot."),
    (holds.EvidenceForOther("boot", "a", "b"), "The evidence names boot a, but this is b."),
    (decide.ServedByCapm3("its finalizer is on it"), "CAPM3 serves it: its finalizer is on it."),
    (
        decide.NameTaken("m1"),
        "Another Metal3Remediation m1, of remediation.metal3.io, is there already.",
    ),
    (
        decide.NothingRequests("it is gone"),
        "The remediation of CAPM3's that it stands in for is not there: it is gone.",
    ),
    (decide.StrategyUnknown("it is odd"), "What it asks for cannot be done: it is odd."),
    *HOST_EXAMPLES,
    *FENCING_EXAMPLES,
]


@pytest.mark.parametrize(("reason", "sentence"), EXAMPLES)
def test_sentence(reason: HoldReason, sentence: str) -> None:
    explanation = reason.explain()
    assert explanation.sentence == sentence
    assert explanation.next_step.endswith(".")
    assert str(explanation) == f"{sentence} {explanation.next_step}"


@pytest.mark.parametrize(
    ("reason", "step"),
    [
        (guard_holds.Paused("anna", "swap"), "`kubectl mend resume` ends the pause."),
        (
            guard_holds.Paused("anna", "swap", "workers"),
            "`kubectl mend resume --check workers` ends the pause.",
        ),
        (
            guard_holds.TooManyUnhealthy("workers", 3, 6, "40%", 2),
            "It goes on when at most 2 are, or when maxUnhealthy is raised.",
        ),
        (
            guard_holds.TooManyUnhealthy("workers", 1, 6, "1", 0),
            "With this limit nothing is ever remediated: raise maxUnhealthy.",
        ),
        (
            guard_holds.Paused("anna", "swap", "workers", "Unpause the Cluster"),
            "Unpause the Cluster to end the pause.",
        ),
        (guard_holds.ApiUnsettled(3, 20), "It goes on in 17 s if it answers all the time."),
    ],
)
def test_next_step(reason: HoldReason, step: str) -> None:
    assert reason.explain().next_step == step


def test_every_reason_is_among_the_examples() -> None:
    assert {type(reason) for reason, _ in EXAMPLES} == set(all_hold_reasons())


def test_no_two_say_the_same() -> None:
    sentences = [sentence for _, sentence in EXAMPLES]
    assert len(set(sentences)) == len(sentences)


def test_who_must_do_what_is_named() -> None:
    assert "kubectl mend confirm n1" in holds.NoConfirmation("n1").explain().next_step
    assert "kubectl mend resume" in guard_holds.Paused("a", "b").explain().next_step
    assert "--withdraw" in holds.ConfirmationExpired(700, 600).explain().next_step


def test_every_reason_has_a_public_name_of_its_own() -> None:
    """Alerts match these strings, so each class states its own, and no two are equal."""
    kinds = all_hold_reasons()
    unnamed = [kind for kind in kinds if not re.fullmatch("[A-Z][A-Za-z0-9]+", vars(kind).get("reason", ""))]
    assert not unnamed
    assert len({kind.reason for kind in kinds}) == len(kinds)


def test_no_reason_is_a_kind_of_another() -> None:
    """Closed tuples of classes decide what an order overrides: a subclass would pass unnamed."""
    assert [kind for kind in all_hold_reasons() if kind.__bases__ != (HoldReason,)] == []


def test_the_reasons_of_a_power_cycle_are_listed() -> None:
    """The metric of its failures starts at zero for each of them."""
    here = {kind for kind in all_hold_reasons() if kind.__module__ == host_holds.__name__}
    assert set(host_holds.HOST_HOLDS) == here
