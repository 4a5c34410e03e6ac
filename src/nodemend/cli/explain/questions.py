"""The questions that stand between a sick node and its healing, answered in order."""

from collections.abc import Iterator
from math import inf
from typing import Final, assert_never, get_args

from nodemend.api import keys
from nodemend.api.manual_remediation import ManualRemediation, Phase
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.self_remediation import SelfRemediation
from nodemend.api.timestamps import parse_time
from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.explain.step_words import spell_left
from nodemend.cli.explain.view import Answer, Question
from nodemend.cli.finding_words import spell_age
from nodemend.cli.words import spell_seconds
from nodemend.controllers.node_health_check.gather import Target
from nodemend.controllers.node_health_check.orders import Weighed
from nodemend.decide import guard_holds, holds
from nodemend.decide.capm3_holds import Capm3Hold
from nodemend.decide.explanation import spell_count
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.decide.fencing_holds import FencingHold
from nodemend.decide.guard_facts import GuardFacts
from nodemend.decide.hold_explanations import explain
from nodemend.decide.host_holds import HostHold
from nodemend.decide.human_word import Believed, is_disproved, weigh
from nodemend.decide.manual_remediation import ManualFacts
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.decide.remediation_life import HeldBy
from nodemend.decide.remediation_order import GOOD_FOR, Lapsed, Stands, Used
from nodemend.decide.remediation_request import Open
from nodemend.decide.storm_guard import guard, most_at_once

QUESTION_OF: Final[dict[type, str]] = {
    guard_holds.DryRun: "allowed",
    guard_holds.Paused: "allowed",
    guard_holds.CheckDryRun: "allowed",
    guard_holds.TooManyAtOnce: "allowed",
    guard_holds.TooManyUnhealthy: "allowed",
    guard_holds.TooFewUnhealthy: "allowed",
    guard_holds.Settling: "allowed",
    guard_holds.Pacing: "allowed",
    guard_holds.ControlPlaneBusy: "allowed",
    guard_holds.QuorumAtRisk: "allowed",
    guard_holds.Excluded: "allowed",
    guard_holds.InMaintenance: "allowed",
    guard_holds.ApiUnsettled: "allowed",
    guard_holds.NotUnderstood: "allowed",
    guard_holds.NodeWell: "allowed",
    guard_holds.NotReadyBriefly: "allowed",
    guard_holds.PolicyNotInForce: "allowed",
    guard_holds.PolicyNotProven: "allowed",
    guard_holds.NobodyActs: "remediating",
    guard_holds.Unserved: "remediating",
    guard_holds.AnnotationServed: "remediating",
    guard_holds.OrderVoid: "ordered",
    guard_holds.RemediesExhausted: "remediating",
    guard_holds.OtherRemediation: "locked",
    holds.BootUnknown: "locked",
    holds.KubeletSpeaks: "silent",
    holds.NoKubeletLease: "silent",
    holds.NodeReady: "silent",
    holds.NoWord: "vouched",
    holds.WordForOther: "vouched",
    holds.WordOutlived: "vouched",
    holds.WordExpired: "vouched",
    holds.WordFromBefore: "vouched",
    holds.WordUndated: "vouched",
    holds.WordDisproved: "vouched",
    holds.WorkloadsLeaving: "released",
    holds.TaintedByAnother: "released",
    holds.NewBootUnproven: "released",
    holds.NotBackYet: "back",
    holds.WordContradicted: "back",
    # Of a power cycle and of self-fencing its own status tells.
    **dict.fromkeys((*get_args(HostHold), *get_args(Capm3Hold), *get_args(FencingHold)), ""),
    # What cannot be seen or is not ours answers none of them.
    holds.EvidenceForOther: "",
    holds.EvidenceFromBefore: "",
    holds.ViewStale: "",
    holds.CannotRead: "",
    holds.CreationRefused: "",
    holds.Deposed: "",
}
"""Where each hold stands."""


_KINDS: Final[dict[type, str]] = {
    ManualRemediation: "",
    Metal3Remediation: "power cycle ",
    SelfRemediation: "self-fencing ",
}


def ask_watched(target: Target | None) -> Question:
    if target is None:
        return Question(
            key="watched", asked="watched by a check", answer=Answer.NO, because="none selects it"
        )
    others = " ".join(f"nhc/{name}" for name in target.overlapping)
    because = f"nhc/{target.check.metadata.name}"
    because += f", the first by name; also selected by {others}" if others else ", and by no other"
    return Question(key="watched", asked="watched by a check", answer=Answer.YES, because=because)


def ask_unhealthy(health: NodeHealth) -> Question:
    match health:
        case Healthy(ready_for):
            ready = f"; Ready for {spell_seconds(ready_for)}" if ready_for is not None else ""
            answer, because = Answer.NO, f"no threshold is met{ready}"
        case Suspect(match):
            left = spell_seconds(match.remaining)
            answer, because = Answer.NO, f"not yet: {spell_age(match)}; {left} to go"
        case Unhealthy(match, more):
            answer, because = Answer.YES, "; ".join(spell_age(one) for one in (match, *more))
        case Unjudged(why):
            answer, because = Answer.OPEN, why
        case _:
            assert_never(health)
    return Question(key="unhealthy", asked="unhealthy for long enough", answer=answer, because=because)


def ask_ordered(weighed: Weighed) -> Question:
    """Only where there is an order: that nobody has ordered anything is no answer to anything."""
    order, answer, why = weighed.order, Answer.NO, ""
    if order is None:
        raise ValueError("there is no order to ask about")
    match weighed.verdict:
        case Stands():
            left = spell_seconds(GOOD_FOR - order.age)
            answer, why = Answer.YES, f"good for {left} more{', past the guard' if order.past_guard else ''}"
        case Used():
            why = "the remediation that it began is there"
        case Lapsed(said):
            why = said
        case None:
            pass
        case _:
            assert_never(weighed.verdict)
    because = f"{order.by}, {spell_seconds(order.age)} ago: {order.reason}; {why}"
    return Question(key="ordered", asked="ordered by a person", answer=answer, because=because)


def ask_allowed(facts: GuardFacts, weighed: Weighed) -> Question:
    asked = "allowed by the cluster"
    warrant = weighed.warrant(facts)
    guarded = guard(facts, warrant.passing if warrant else ())
    if isinstance(guarded, holds.Hold):
        return Question(
            key="allowed", asked=asked, answer=Answer.NO, because=explain(guarded.reason).sentence
        )
    others = facts.others.value if isinstance(facts.others, Present) else 0
    total = facts.of_cluster.total
    most = most_at_once(facts.policy.value, total) if isinstance(facts.policy, Present) else 0
    because = f"mode Act, no pause, {spell_count(others, 'other node')} under remediation of {most} at once"
    if warrant is not None and warrant.passed:
        because = f"{warrant.order.by} lets it past {warrant.passed_by_name}"
    return Question(key="allowed", asked=asked, answer=Answer.YES, because=because)


def ask_remediating(facts: ExplainFacts, existing: Open | None) -> Question:
    """`existing` is the remediation of its check, of whatever kind."""
    asked = "under remediation"
    open_ = facts.open_.remediation if facts.open_ is not None else facts.power_cycle or facts.by_itself
    if open_ is None:
        if existing is None and facts.unseen:
            return Question(key="remediating", asked=asked, answer=Answer.OPEN, because=facts.unseen[0])
        answer = Answer.NO if existing is None else Answer.YES
        return Question(
            key="remediating", asked=asked, answer=answer, because=existing.holder if existing else ""
        )
    metadata, status = open_.metadata, open_.status
    age = (facts.now - parse_time(metadata.creation_timestamp)).total_seconds()
    phase = "Ending" if metadata.deleting else status.phase
    because = f"{_KINDS[type(open_)]}{metadata.namespace}/{metadata.name}, {phase}, for {spell_seconds(age)}"
    if by := metadata.annotations.get(keys.ORDERED_BY):
        because += f"; ordered by {by}: {metadata.annotations.get(keys.ORDERED_BECAUSE, '')}"
    return Question(key="remediating", asked=asked, answer=Answer.YES, because=because)


def ask_of_remediation(facts: ManualFacts) -> Iterator[Question]:
    answers = (
        ("locked", "locked for it", _locked(facts)),
        ("silent", "kubelet silent", _silent(facts)),
        ("vouched", "vouched to be down", _vouched(facts)),
        ("released", "workloads have left", _released(facts)),
        ("back", "back on a new boot", _back(facts)),
    )
    for key, asked, (answer, because) in answers:
        yield Question(key=key, asked=asked, answer=answer, because=because)


def _locked(facts: ManualFacts) -> tuple[Answer, str]:
    match facts.lock:
        case Present(HeldBy(ours=True)):
            return Answer.YES, ""
        case Present(HeldBy(holder=holder)):
            return Answer.NO, f"{holder} has the lock"
        case Absent():
            return Answer.OPEN, ""
        case Unreadable(why):
            return Answer.OPEN, f"cannot be read: {why}"


def _silent(facts: ManualFacts) -> tuple[Answer, str]:
    match facts.lease:
        case Present(lease):
            ago, lasts = spell_seconds(lease.unchanged_for), spell_seconds(lease.lasts)
            said = f"last sign of life {lease.renew_time}, {ago} ago; {lasts} is enough"
            return (Answer.YES if lease.silent else Answer.NO), said
        case Absent():
            return Answer.OPEN, "it has no Lease"
        case Unreadable(why):
            return Answer.OPEN, f"its Lease cannot be read: {why}"


def _vouched(facts: ManualFacts) -> tuple[Answer, str]:
    remediation = facts.remediation
    if (evidence := remediation.status.evidence) is not None:
        return Answer.YES, f"{evidence.by}: {evidence.reason}"
    if not isinstance(facts.node, Present) or not isinstance(facts.lease, Present):
        return Answer.OPEN, ""
    believed = weigh(
        remediation.spec.confirmation,
        facts.word_age,
        facts.node.value,
        facts.lease.value,
        inf,
        disproved=is_disproved(remediation),
    )
    if isinstance(believed, Believed):
        return Answer.YES, f"{believed.word.by}: {believed.word.reason}"
    return Answer.NO, "" if isinstance(believed, holds.NoWord) else explain(believed).sentence


def _released(facts: ManualFacts) -> tuple[Answer, str]:
    status = facts.remediation.status
    if status.released:
        return Answer.YES, ""
    if status.evidence is None:
        return Answer.OPEN, ""
    left = facts.left.value if isinstance(facts.left, Present) else None
    return Answer.NO, spell_left(left) + " still on it" if left else ""


def _back(facts: ManualFacts) -> tuple[Answer, str]:
    status = facts.remediation.status
    if status.phase is Phase.SUCCEEDED:
        return Answer.YES, ""
    return (Answer.NO, "") if status.released else (Answer.OPEN, "")
