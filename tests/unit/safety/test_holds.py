"""Every hold has a sentence and a next step, and no two say the same."""

import re

import pytest

from nodemend.health.machine import annotation
from nodemend.health.machine import request as machine_request
from nodemend.remediation import status as remediation_status
from nodemend.remediation.capm3 import decide
from nodemend.remediation.manual import decide as manual_decide
from nodemend.remediation.metal3 import holds as metal3_holds
from nodemend.rules import request as remediation_request
from nodemend.safety import guard_holds, holds, host_power
from nodemend.safety.holds import HoldReason
from tests.unit.remediation.metal3.test_holds import EXAMPLES as HOST_EXAMPLES
from tests.unit.remediation.self_fencing.test_holds import EXAMPLES as FENCING_EXAMPLES
from tests.unit.safety.hold_reasons import all_hold_reasons

EXAMPLES: list[tuple[HoldReason, str]] = [
    (
        guard_holds.DryRun(policy_exists=True),
        "The RemediationPolicy sets DryRun, so Nodemend only reports what it would do.",
    ),
    (
        guard_holds.DryRun(policy_exists=False),
        "There is no RemediationPolicy, so Nodemend only reports what it would do.",
    ),
    (guard_holds.Paused("anna", "switch swap"), "Paused by anna: switch swap."),
    (guard_holds.Paused("", "switch swap"), "Paused by an unknown user: switch swap."),
    (
        guard_holds.Paused("anna", "switch swap", "workers"),
        "The check workers is paused by anna: switch swap.",
    ),
    (
        guard_holds.CheckDryRun("workers"),
        "The check workers sets dryRun, so Nodemend only reports what it would do.",
    ),
    (guard_holds.Excluded("a/b"), "The node is excluded from remediation: it has a/b."),
    (guard_holds.InMaintenance("M=True"), "The node is in maintenance: M=True."),
    (machine_request.NoRemedy("it has no owner"), "No controller would act on it: it has no owner."),
    (
        guard_holds.UnsupportedSetting("workers", "'a' is no limit"),
        "The check workers has a setting that Nodemend cannot interpret: 'a' is no limit.",
    ),
    (
        annotation.AnnotationServedByAnother("bmo-7 has the Lease a/b"),
        "Another controller acts on the annotation that requests it: bmo-7 has the Lease a/b.",
    ),
    (
        guard_holds.PolicyNotInForce("nodemend-nodes", "it is missing"),
        (
            "The admission policy nodemend-nodes is not in force: it is missing."
            " Writes that it must refuse may have been made."
        ),
    ),
    (
        guard_holds.PolicyNotProven("nodemend-nodes", "timeout"),
        "It is not known whether the admission policy nodemend-nodes is in force: timeout.",
    ),
    (
        guard_holds.TooManyUnhealthy("domain zone-a", 3, 6, "40%", 2),
        "Too many targets are unhealthy in domain zone-a: 3 of 6; with the limit 40% the guard closes at 3.",
    ),
    (
        guard_holds.TooFewUnhealthy("check workers", 1, 2),
        "Only 1 target is unhealthy in check workers; the check acts only if at least 2 are.",
    ),
    (guard_holds.CoolingDown(42), "A storm has just ended, and the cooldown after it is not over."),
    (
        guard_holds.RecentApiErrors(3, 20),
        "Requests to the API server failed just now, so healthy nodes may have appeared unhealthy.",
    ),
    (remediation_request.RemediesExhausted(1), "1 remedy was tried, and the node is still unhealthy."),
    (remediation_request.RemediesExhausted(3), "3 remedies were tried, and the node is still unhealthy."),
    (
        remediation_request.OrderInvalid("anna", "it was deleted"),
        "The order of anna is no longer valid: it was deleted.",
    ),
    (
        guard_holds.NodeHealthy("n1"),
        "Node n1 is Ready, its kubelet renews its Lease, and no check finds it unhealthy.",
    ),
    (
        guard_holds.NotReadyBriefly(3, 20),
        "The node has been observed not Ready for 3 s of the 20 s needed.",
    ),
    (guard_holds.StartInterval(4), "Another remediation has only just started."),
    (
        guard_holds.ControlPlaneBusy("cp-2"),
        "The control-plane node cp-2 is under remediation, and only one may be at a time.",
    ),
    (
        guard_holds.QuorumAtRisk(1, 3),
        "Without this node 1 of 3 control-plane nodes would be Ready, which is not a majority.",
    ),
    (
        guard_holds.TooManyAtOnce(2, 1, "zone-a"),
        "2 nodes or Machines are already under remediation in domain zone-a; the limit is 1.",
    ),
    (
        guard_holds.TooManyAtOnce(2, 1),
        "2 nodes or Machines are already under remediation; the limit is 1.",
    ),
    (
        holds.CacheStale(75, 60),
        "The watch cache is 75 s old; Nodemend acts only if it is at most 60 s old.",
    ),
    (holds.CannotRead("the Node", "timeout"), "Cannot read the Node: timeout."),
    (remediation_request.CreationRefused("Reboot", "no right"), "The API server refuses a Reboot: no right."),
    (
        holds.LeadershipLost(7, 8),
        "The leader of term 8 has written to it, and this process leads term 7.",
    ),
    (guard_holds.OtherRemediation("NodeFence x"), "NodeFence x is active on this node."),
    (
        remediation_request.Unserved("SelfRemediation d/n1"),
        "No controller has started SelfRemediation d/n1.",
    ),
    (
        remediation_status.BootUnknown("n1"),
        "Node n1 reports no boot ID, so no evidence could name the boot that must end.",
    ),
    (holds.KubeletActive(12, 40), "The kubelet has not renewed its Lease for 12 s; 40 s are needed."),
    (holds.NoKubeletLease("n1"), "Node n1 has no Lease, so it is unknown whether its kubelet is silent."),
    (
        holds.WaitingForConfirmation("n1"),
        "Waiting for an operator to confirm that n1 is down: powered off, or reset.",
    ),
    (holds.ConfirmationForOther("boot", "a", "b"), "The confirmation names boot a, but this is b."),
    (
        holds.ConfirmationOutdated("12:00", "12:05"),
        (
            "The kubelet renewed its Lease at 12:05; the last renewal before the confirmation was at 12:00. "
            "The kubelet is alive."
        ),
    ),
    (
        holds.ConfirmationPredatesLeader(40.0, 12.0),
        (
            "The confirmation is 40 s old, and this remediator has watched for only 12 s: etcd may have been"
            " restored from a backup since the confirmation."
        ),
    ),
    (
        holds.EvidencePredatesLeader(70, 90),
        (
            "The evidence was recorded in leader term 70, and this remediator has watched since term 90: etcd"
            " may have been restored from a backup in between."
        ),
    ),
    (holds.ConfirmationExpired(700, 600), "The confirmation is 700 s old; it is valid for 600 s."),
    (
        holds.ConfirmationDisproved(),
        "The node was alive after Nodemend had accepted this confirmation, so it is no longer valid.",
    ),
    (holds.ConfirmationTimeUnknown(), "The API server does not report the time of the confirmation."),
    (holds.NodeReady("n1"), "Node n1 reports Ready: its kubelet is running."),
    (
        holds.NewBootUnproven("n1", "system-uuid/1", "system-uuid/2"),
        (
            "Node n1 reports a new boot as system-uuid/2; it was recorded as system-uuid/1. "
            "The old boot may still run there."
        ),
    ),
    (
        holds.NewBootUnproven("n1", "", ""),
        (
            "Node n1 reports a new boot as a machine that it does not name; it was recorded as "
            "a machine that it did not name. The old boot may still run there."
        ),
    ),
    (
        manual_decide.ConfirmationContradicted("anna", "b1"),
        "Boot b1, which anna confirmed to be down, is alive. Its workloads may run twice.",
    ),
    (holds.WorkloadsLeaving(2, 1), "Still on the node: 2 pods and 1 volume."),
    (
        holds.TaintedByAnother("n1", "node.kubernetes.io/out-of-service=x:NoExecute", 2, 1),
        (
            "Node n1 has the taint node.kubernetes.io/out-of-service=x:NoExecute from another writer, so "
            "Nodemend cannot add its own. Still on the node: 2 pods and 1 volume."
        ),
    ),
    (remediation_status.WaitingForNewBoot("n1"), "Waiting for n1 to be Ready on a new boot."),
    (remediation_status.WaitingForNewBoot("", gone=True), "Waiting for its node to be Ready on a new boot."),
    (holds.EvidenceForOther("boot", "a", "b"), "The evidence names boot a, but this is b."),
    (decide.ServedByCapm3("its finalizer is on it"), "CAPM3 serves it: its finalizer is on it."),
    (
        decide.NameTaken("m1"),
        "Another Metal3Remediation m1, of remediation.metal3.io, is there already.",
    ),
    (
        decide.NotRequested("it is gone"),
        "It is a delegate, and its CAPM3 remediation does not exist any more: it is gone.",
    ),
    (decide.StrategyUnknown("it is odd"), "Its strategy is not supported: it is odd."),
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
            "Nodemend continues when at most 2 targets are unhealthy, or when maxUnhealthy is raised.",
        ),
        (
            guard_holds.TooManyUnhealthy("workers", 1, 6, "1", 0),
            "With this limit nothing is ever remediated: raise maxUnhealthy.",
        ),
        (
            guard_holds.Paused("anna", "swap", "workers", "Unpause the Cluster"),
            "Unpause the Cluster to end the pause.",
        ),
        (guard_holds.RecentApiErrors(3, 20), "Nodemend continues in 17 s if no request fails in between."),
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
    assert "kubectl mend confirm n1" in holds.WaitingForConfirmation("n1").explain().next_step
    assert "kubectl mend resume" in guard_holds.Paused("a", "b").explain().next_step
    assert "--withdraw" in holds.ConfirmationExpired(700, 600).explain().next_step


def test_every_reason_has_a_separate_public_name() -> None:
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
    modules = (metal3_holds.__name__, host_power.__name__)
    here = {kind for kind in all_hold_reasons() if kind.__module__ in modules}
    assert set(metal3_holds.HOST_HOLDS) == here
