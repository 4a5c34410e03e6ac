"""Answers the questions between an unhealthy node and its remediation, in order.

For a node that must reset itself, the questions until its recovery are answered from the status of its
remediation.
"""

from collections.abc import Iterator
from math import inf
from typing import Final, assert_never

from nodemend.api import well_known
from nodemend.api.manual_remediation import (
    ManualRemediation,
    ManualRemediationPhase,
    ManualRemediationStatus,
)
from nodemend.api.meta import parse_time
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationPhase, SelfRemediationStatus
from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.explain.view import ExplainAnswer, ExplainQuestion, question, spell_left
from nodemend.cli.output import spell_age
from nodemend.cli.text import spell_seconds
from nodemend.health.machine import annotation
from nodemend.health.machine import request as machine_request
from nodemend.health.node.preflight import OrderEvaluation
from nodemend.health.node.targets import NodeTarget
from nodemend.remediation import status as remediation_status
from nodemend.remediation.capm3 import decide
from nodemend.remediation.manual import decide as manual_decide
from nodemend.remediation.manual.decide import ManualFacts
from nodemend.remediation.metal3.holds import HOST_HOLDS
from nodemend.remediation.self_fencing import decide as self_fencing
from nodemend.rules import request as remediation_request
from nodemend.rules.node import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.rules.request import GOOD_FOR, ExistingRemediation, OrderConsumed, OrderExpired, OrderValid
from nodemend.safety import guard_holds, holds, time_proof
from nodemend.safety.confirmation import Confirmed, evaluate_confirmation, is_disproved
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.guard import GuardFacts, guard, most_at_once
from nodemend.safety.holds import spell_count
from nodemend.safety.lifecycle import LockHolder, RemainingWorkloads

QUESTION_OF: Final[dict[type[holds.HoldReason], str]] = {
    guard_holds.DryRun: "allowed",
    guard_holds.Paused: "allowed",
    guard_holds.CheckDryRun: "allowed",
    guard_holds.TooManyAtOnce: "allowed",
    guard_holds.TooManyUnhealthy: "allowed",
    guard_holds.TooFewUnhealthy: "allowed",
    guard_holds.CoolingDown: "allowed",
    guard_holds.StartInterval: "allowed",
    guard_holds.ControlPlaneBusy: "allowed",
    guard_holds.QuorumAtRisk: "allowed",
    guard_holds.Excluded: "allowed",
    guard_holds.InMaintenance: "allowed",
    guard_holds.RecentApiErrors: "allowed",
    guard_holds.UnsupportedSetting: "allowed",
    guard_holds.NodeHealthy: "allowed",
    guard_holds.NotReadyBriefly: "allowed",
    guard_holds.PolicyNotInForce: "allowed",
    guard_holds.PolicyNotProven: "allowed",
    machine_request.NoRemedy: "remediating",
    remediation_request.Unserved: "remediating",
    annotation.AnnotationServedByAnother: "remediating",
    remediation_request.OrderInvalid: "ordered",
    remediation_request.RemediesExhausted: "remediating",
    guard_holds.OtherRemediation: "locked",
    remediation_status.BootUnknown: "locked",
    holds.KubeletActive: "silent",
    holds.NoKubeletLease: "silent",
    holds.NodeReady: "silent",
    holds.WaitingForConfirmation: "vouched",
    holds.ConfirmationForOther: "vouched",
    holds.ConfirmationOutdated: "vouched",
    holds.ConfirmationExpired: "vouched",
    holds.ConfirmationPredatesLeader: "vouched",
    holds.ConfirmationTimeUnknown: "vouched",
    holds.ConfirmationDisproved: "vouched",
    holds.WorkloadsLeaving: "released",
    holds.TaintedByAnother: "released",
    holds.NewBootUnproven: "released",
    remediation_status.WaitingForNewBoot: "back",
    manual_decide.ConfirmationContradicted: "back",
    # Power cycles and self-fencing are explained from their own status.
    **dict.fromkeys(HOST_HOLDS, ""),
    decide.ServedByCapm3: "",
    decide.NameTaken: "",
    decide.StrategyUnknown: "",
    decide.NotRequested: "",
    self_fencing.NoNode: "",
    self_fencing.NoAgent: "",
    self_fencing.AgentReportInvalid: "",
    self_fencing.AgentReportForOther: "",
    self_fencing.NoUsableWatchdog: "",
    time_proof.NoTimeProof: "",
    self_fencing.AccumulatingProof: "",
    self_fencing.BootGateUnreported: "",
    self_fencing.ProofContradicted: "",
    # Holds about unreadable state, unusable evidence, refused creation or lost leadership belong to no
    # question.
    holds.EvidenceForOther: "",
    holds.EvidencePredatesLeader: "",
    holds.CacheStale: "",
    holds.CannotRead: "",
    remediation_request.CreationRefused: "",
    holds.LeadershipLost: "",
}
"""The question key of each hold; empty if it belongs to no question."""


_KINDS: Final[dict[type, str]] = {
    ManualRemediation: "",
    Metal3Remediation: "power cycle ",
    SelfRemediation: "self-fencing ",
}


def ask_watched(target: NodeTarget | None) -> ExplainQuestion:
    if target is None:
        return question("watched", ExplainAnswer.NO, "no check selects it")
    others = " ".join(f"nhc/{name}" for name in target.overlapping)
    because = f"nhc/{target.check.metadata.name}"
    because += f", the first by name; also selected by {others}" if others else ", and by no other"
    return question("watched", ExplainAnswer.YES, because)


def ask_unhealthy(health: NodeHealth) -> ExplainQuestion:
    match health:
        case Healthy(ready_for):
            ready = f"; Ready for {spell_seconds(ready_for)}" if ready_for is not None else ""
            answer, because = ExplainAnswer.NO, f"no threshold is met{ready}"
        case Suspect(match):
            left = spell_seconds(match.remaining)
            answer, because = ExplainAnswer.NO, f"not yet: {spell_age(match)}; {left} to go"
        case Unhealthy(match, more):
            answer, because = ExplainAnswer.YES, "; ".join(spell_age(one) for one in (match, *more))
        case Unjudged(why):
            answer, because = ExplainAnswer.OPEN, why
        case _:
            assert_never(health)
    return question("unhealthy", answer, because)


def ask_ordered(evaluation: OrderEvaluation) -> ExplainQuestion:
    """Answer whether the order is valid.

    Raises ValueError if there is no order: its absence answers nothing.
    """
    order, answer, why = evaluation.order, ExplainAnswer.NO, ""
    if order is None:
        raise ValueError("there is no order to ask about")
    match evaluation.verdict:
        case OrderValid():
            left = spell_seconds(GOOD_FOR - order.age)
            answer, why = (
                ExplainAnswer.YES,
                f"good for {left} more{', past the guard' if order.past_guard else ''}",
            )
        case OrderConsumed():
            why = "its remediation has been created"
        case OrderExpired(said):
            why = said
        case None:
            pass
        case _:
            assert_never(evaluation.verdict)
    because = f"{order.by}, {spell_seconds(order.age)} ago: {order.reason}; {why}"
    return question("ordered", answer, because)


def ask_allowed(facts: GuardFacts, evaluation: OrderEvaluation) -> ExplainQuestion:
    approved_order = evaluation.approved_order(facts)
    guarded = guard(facts, approved_order.passing if approved_order else ())
    if isinstance(guarded, holds.Hold):
        return question("allowed", ExplainAnswer.NO, guarded.reason.explain().sentence)
    others = facts.others.value if isinstance(facts.others, Present) else 0
    total = facts.of_cluster.total
    most = most_at_once(facts.policy.value, total) if isinstance(facts.policy, Present) else 0
    because = f"mode Act, not paused, {spell_count(others, 'other node')} under remediation (at most {most})"
    if approved_order is not None and approved_order.passed:
        because = f"{approved_order.order.by} overrides {approved_order.passed_by_name}"
    return question("allowed", ExplainAnswer.YES, because)


def ask_remediating(facts: ExplainFacts, existing: ExistingRemediation | None) -> ExplainQuestion:
    """Report the open remediation. `existing` is the remediation of the node's check, of any kind."""
    open_ = facts.open_.remediation if facts.open_ is not None else facts.power_cycle or facts.by_itself
    if open_ is None:
        if existing is None and facts.unseen:
            return question("remediating", ExplainAnswer.OPEN, facts.unseen[0])
        answer = ExplainAnswer.NO if existing is None else ExplainAnswer.YES
        return question("remediating", answer, existing.holder if existing else "")
    metadata, status = open_.metadata, open_.status
    age = (facts.now - parse_time(metadata.creation_timestamp)).total_seconds()
    phase = "Ending" if metadata.deleting else status.phase
    because = f"{_KINDS[type(open_)]}{metadata.namespace}/{metadata.name}, {phase}, for {spell_seconds(age)}"
    if by := metadata.annotations.get(well_known.ORDERED_BY):
        because += f"; ordered by {by}: {metadata.annotations.get(well_known.ORDERED_BECAUSE, '')}"
    return question("remediating", ExplainAnswer.YES, because)


def ask_of_remediation(facts: ManualFacts) -> Iterator[ExplainQuestion]:
    status, left = facts.remediation.status, facts.left.value if isinstance(facts.left, Present) else None
    yield question("locked", *_locked(facts))
    yield question("silent", *_silent(facts))
    yield question("vouched", *_vouched(facts))
    yield question("released", *_released(status, left))
    yield question("back", *_back(status, over=status.phase is ManualRemediationPhase.SUCCEEDED))


def _locked(facts: ManualFacts) -> tuple[ExplainAnswer, str]:
    match facts.lock:
        case Present(LockHolder(ours=True)):
            return ExplainAnswer.YES, ""
        case Present(LockHolder(holder=holder)):
            return ExplainAnswer.NO, f"{holder} holds it"
        case Absent():
            return ExplainAnswer.OPEN, ""
        case Unreadable(why):
            return ExplainAnswer.OPEN, f"cannot be read: {why}"


def _silent(facts: ManualFacts) -> tuple[ExplainAnswer, str]:
    match facts.lease:
        case Present(lease):
            ago, lasts = spell_seconds(lease.unchanged_for), spell_seconds(lease.lasts)
            said = f"last Lease renewal {lease.renew_time}, {ago} ago; {lasts} without one counts as silent"
            return (ExplainAnswer.YES if lease.silent else ExplainAnswer.NO), said
        case Absent():
            return ExplainAnswer.OPEN, "it has no Lease"
        case Unreadable(why):
            return ExplainAnswer.OPEN, f"its Lease cannot be read: {why}"


def _vouched(facts: ManualFacts) -> tuple[ExplainAnswer, str]:
    remediation = facts.remediation
    if (evidence := remediation.status.evidence) is not None:
        return ExplainAnswer.YES, f"{evidence.by}: {evidence.reason}"
    if not isinstance(facts.node, Present) or not isinstance(facts.lease, Present):
        return ExplainAnswer.OPEN, ""
    confirmed = evaluate_confirmation(
        remediation.spec.confirmation,
        facts.confirmation_age,
        facts.node.value,
        facts.lease.value,
        inf,
        disproved=is_disproved(remediation),
    )
    if isinstance(confirmed, Confirmed):
        return ExplainAnswer.YES, f"{confirmed.confirmation.by}: {confirmed.confirmation.reason}"
    return ExplainAnswer.NO, "" if isinstance(
        confirmed, holds.WaitingForConfirmation
    ) else confirmed.explain().sentence


def _released(
    status: ManualRemediationStatus | SelfRemediationStatus, left: RemainingWorkloads | None
) -> tuple[ExplainAnswer, str]:
    if status.released:
        return ExplainAnswer.YES, ""
    if status.evidence is None:
        return ExplainAnswer.OPEN, ""
    return ExplainAnswer.NO, f"{spell_left(left)} still on it" if left is not None else ""


def _back(
    status: ManualRemediationStatus | SelfRemediationStatus, *, over: bool
) -> tuple[ExplainAnswer, str]:
    if over:
        return ExplainAnswer.YES, ""
    return (ExplainAnswer.NO, "") if status.released else (ExplainAnswer.OPEN, "")


def ask_of_self_fencing(remediation: SelfRemediation) -> Iterator[ExplainQuestion]:
    status = remediation.status
    left = RemainingWorkloads(status.pods_left, status.attachments_left)
    yield question("marked", *_marked(status))
    yield question("proven", *_over(status))
    yield question("released", *_released(status, left if left.pods or left.attachments else None))
    yield question("back", *_back(status, over=status.phase is SelfRemediationPhase.SUCCEEDED))


def _marked(status: SelfRemediationStatus) -> tuple[ExplainAnswer, str]:
    if status.marked is not None:
        return ExplainAnswer.YES, f"boot {status.boot_id}, by the marker on its Lease in nodemend-agents"
    return (ExplainAnswer.OPEN if status.phase is SelfRemediationPhase.PENDING else ExplainAnswer.NO), ""


def _over(status: SelfRemediationStatus) -> tuple[ExplainAnswer, str]:
    if status.evidence is not None:
        return ExplainAnswer.YES, f"{status.evidence.class_}, {status.evidence.by}: {status.evidence.reason}"
    if status.contradicted:
        return ExplainAnswer.NO, "that boot was active after it was proven to have ended"
    if status.marked is None:
        return ExplainAnswer.OPEN, ""
    if status.safe_time_seconds:
        return ExplainAnswer.NO, f"{status.proven_seconds} s of {status.safe_time_seconds} s are proven"
    return ExplainAnswer.NO, "it has not reported a new boot"
