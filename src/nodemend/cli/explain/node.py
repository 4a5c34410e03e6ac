"""Builds the explanation of a node from its facts, with the deciding code. Pure.

The node is evaluated with the checker's own code. The explanation shows its hold at one of its questions.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, assert_never

from nodemend.api import condition_types
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationPhase
from nodemend.api.meta import Condition, find_true
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.node_health_check import RecoveryPhase, RecoveryReport
from nodemend.api.self_remediation import SelfRemediation
from nodemend.cli.explain import questions as ask
from nodemend.cli.explain.facts import ExplainFacts, conditions_by_writing, guard_facts
from nodemend.cli.explain.view import (
    ExplainAnswer,
    ExplainQuestion,
    ExplainView,
    HoldView,
    spell_health,
    spell_state,
    spell_step,
)
from nodemend.cli.listing import (
    AnyRemediation,
    contradiction_of,
    is_open,
    may_need_a_person,
    spell_contradiction,
    unserved,
)
from nodemend.cli.text import first_sentence, spell_list, split_step
from nodemend.health.node import targets
from nodemend.health.node.preflight import OrderEvaluation, age_by, as_order
from nodemend.health.node.targets import NodeTarget, NodeView, find_conflicting_remediation
from nodemend.records.live_reads import POLICY_OF_DEFAULTS
from nodemend.remediation.manual import decide
from nodemend.rules import request as remediation_request
from nodemend.rules.node import Healthy, NodeHealth, evaluate_health
from nodemend.rules.request import (
    Create,
    DeleteRemediation,
    Escalate,
    ExistingRemediation,
    NoAction,
    Request,
    Unserved,
    evaluate_order,
    report_dry_run,
)
from nodemend.safety.guard import Allowed, GuardFacts, guard
from nodemend.safety.guard_holds import OVERRIDABLE
from nodemend.safety.holds import Hold, HoldReason

_WHERE = {kind.reason: key for kind, key in ask.QUESTION_OF.items()}


def held_view(hold: Hold, node: str) -> HoldView:
    explanation = hold.reason.explain()
    return HoldView(
        reason=hold.reason.reason,
        sentence=explanation.sentence,
        # Explanations that do not know the node contain NODE as a placeholder.
        next_step=explanation.next_step.replace("NODE", node),
    )


def with_hold(
    rows: Iterable[ExplainQuestion], held: HoldView | None, *, else_at: str = ""
) -> Iterator[ExplainQuestion]:
    """Mark the question that the hold belongs to, or the question `else_at` if `rows` does not contain it."""
    asked = list(rows)
    key = _WHERE.get(held.reason, "") if held else ""
    if all(row.key != key for row in asked):
        key = else_at
    for row in asked:
        if held is not None and row.key == key:
            yield replace(row, answer=ExplainAnswer.HOLD, because=row.because or held.sentence)
        else:
            yield row


@dataclass(frozen=True, slots=True)
class NodeReasoning:
    """A node that a check selects. Its facts include every other node, because the guard counts them all."""

    target: NodeTarget
    health: NodeHealth
    existing: ExistingRemediation | None
    """The existing remediation of the node, of any kind."""
    guard_facts: GuardFacts
    evaluation: OrderEvaluation
    """Evaluation of the RemediationOrder for the node."""


def evaluate_node(facts: ExplainFacts) -> NodeReasoning | None:
    """Evaluate the node. Returns None if no check selects it."""
    target = targets.find_target(facts.view, facts.node.name)
    if target is None:
        return None
    conditions = conditions_by_writing(facts.node, facts.now)
    health = evaluate_health(target.check.spec.thresholds, conditions)
    found = targets.find_remediation(facts.view, target)
    # A command has not watched the remediation, so no observed time has passed.
    existing = targets.as_existing(found, target, facts.view, 0.0) if found is not None else None
    evaluation = _evaluate_order(facts, health, existing)
    return NodeReasoning(target, health, existing, guard_facts(facts, target), evaluation)


def _evaluate_order(
    facts: ExplainFacts, health: NodeHealth, existing: ExistingRemediation | None
) -> OrderEvaluation:
    """Evaluate the node's order. Its age is counted from its creation time by the API server's clock."""
    found = facts.view.orders.get(facts.node.name)
    if found is None or found.metadata.deleting:
        return OrderEvaluation()
    order = as_order(found, age_by(found, facts.now.timestamp()) or 0.0)
    return OrderEvaluation(order, evaluate_order(order, facts.node.uid, health, existing))


HOW_AGES_COUNT: Final = (
    "Ages are computed from the timestamps in the objects and the API server's clock. The controllers count"
    " only the time that they observed themselves, so they may act later."
)
_OVERRIDABLE: Final = frozenset(measure.reason for measure in OVERRIDABLE)
_RECOVERY_STATES: Final = {
    RecoveryPhase.PENDING: "has been pending since",
    RecoveryPhase.RUNNING: "has been running since",
    RecoveryPhase.SUCCEEDED: "succeeded at",
    RecoveryPhase.FAILED: "failed at",
    RecoveryPhase.OVERDUE: "has been overdue since",
}
"""Completes "Its recovery ... TIME"."""
_RECOVERY_PROBLEMS: Final = {
    RecoveryPhase.FAILED: "its recovery has failed",
    RecoveryPhase.OVERDUE: "its recovery is overdue",
}
"""The phases of a recovery in which a user must act."""


def explain_node(facts: ExplainFacts) -> ExplainView:
    judged = evaluate_node(facts)
    rows = list(_rows(facts, judged))
    verdict, held = _verdict(facts, judged)
    tree = f"kubectl mend tree {facts.node.name}"
    step = split_step(held.next_step, tree) if held else split_step(_next_step(facts, judged))
    return ExplainView(
        node=facts.node.name,
        health=judged.health.health if judged else "Unwatched",
        headline=f"{facts.node.name} {verdict}",
        questions=tuple(with_hold(rows, held, else_at="remediating")),
        held=held,
        notes=(*_check_notes(judged, held), *_recovery_notes(judged), *_notes(facts, held)),
        unread=(*facts.unseen, *facts.unread),
        advice=step.advice,
        next_step=step.command,
    )


def _rows(facts: ExplainFacts, judged: NodeReasoning | None) -> Iterator[ExplainQuestion]:
    yield ask.ask_watched(judged.target if judged else None)
    if judged is not None:
        yield ask.ask_unhealthy(judged.health)
        if judged.evaluation.order is not None:
            yield ask.ask_ordered(judged.evaluation)
        yield ask.ask_allowed(judged.guard_facts, judged.evaluation)
    yield ask.ask_remediating(facts, judged.existing if judged else None)
    if facts.open_ is not None:
        yield from ask.ask_of_remediation(facts.open_)
    elif facts.by_itself is not None:
        yield from ask.ask_of_self_fencing(facts.by_itself)


def _verdict(facts: ExplainFacts, judged: NodeReasoning | None) -> tuple[str, HoldView | None]:
    """Return the text that completes "NODE ...", and the hold if there is one."""
    if (unserved_reason := _unserved(facts)) is not None:
        held = held_view(Hold(unserved_reason), facts.node.name)
        return f"has a remediation that has not started. {held.sentence}", held
    if (twice := _contradiction(facts)) is not None:
        held = HoldView(reason=twice.reason, sentence=twice.message, next_step="")
        return f"may run its workloads twice. {spell_contradiction(twice)}", held
    if facts.open_ is not None and not _is_over(facts.open_.remediation):
        step = decide.decide(facts.open_)
        if isinstance(step, Hold):
            held = held_view(step, facts.node.name)
            return f"is under remediation, and held. {held.sentence}", held
        return f"is under remediation. Next, the remediator {spell_step(step)}.", None
    if facts.power_cycle is not None:
        return _power_cycled(facts.power_cycle), None
    if facts.by_itself is not None:
        return _fences_itself(facts.by_itself), None
    if judged is None:
        return "is watched by no check. Nothing will be done about it.", None
    approved_order = judged.evaluation.approved_order(judged.guard_facts)
    request = remediation_request.decide(
        judged.health,
        judged.existing,
        _ask_guard(facts.view, judged, approved_order.passing if approved_order else ()),
        targets.remedy_policy_of(judged.target),
        ordered=approved_order is not None,
    )
    if isinstance(request, Create):
        # The checker's preflight check, which precedes the creation.
        records = facts.view.remedies.all()
        request = find_conflicting_remediation(facts.view, facts.node.name, records) or request
    if isinstance(request, Hold):
        held = held_view(request, facts.node.name)
        whose = (
            f"the remediation that {approved_order.order.by} ordered" if approved_order else "its remediation"
        )
        return f"{spell_state(judged.health)}, and {whose} is held. {held.sentence}", held
    return _unheld(judged, request), None


def _ask_guard(
    view: NodeView, judged: NodeReasoning, passing: tuple[type[HoldReason], ...]
) -> Allowed | Hold:
    """Ask the guard.

    In a dry run the hold names the remediation that the checker would create, with the remedy that its
    escalation has reached.
    """
    target, facts = judged.target, judged.guard_facts
    reports = target.check.status.reports
    reached = next((one.remedy for one in reports if one.name == target.node.name), 0)
    index = min(max(reached - 1, 0), len(target.check.spec.remedies) - 1)
    wish = targets.dry_run_action_for(target, index, view.remedies)
    return report_dry_run(facts, guard(facts, passing), wish, POLICY_OF_DEFAULTS, passing)


def _explain_open(facts: ExplainFacts) -> Iterator[AnyRemediation]:
    by_hand = facts.open_.remediation if facts.open_ is not None else None
    for one in (by_hand, facts.power_cycle, facts.by_itself):
        if one is not None and is_open(one):
            yield one


def _unserved(facts: ExplainFacts) -> Unserved | None:
    return next((why for one in _explain_open(facts) if (why := unserved(one, facts.now))), None)


def _contradiction(facts: ExplainFacts) -> Condition | None:
    return next((said for one in _explain_open(facts) if (said := contradiction_of(one))), None)


def _power_cycled(remediation: Metal3Remediation) -> str:
    """Describe the power cycle with the message in its status, which the deciding code wrote."""
    status = remediation.status
    what = f"{status.host or 'its host'} is powered off and on ({status.phase})"
    return f"is under remediation: {what}. {first_sentence(status.message)}".rstrip()


def _fences_itself(remediation: SelfRemediation) -> str:
    """Describe the self-fencing with the message in its status."""
    status = remediation.status
    return f"is under remediation: it must reset itself ({status.phase}). {status.message}".rstrip()


def _unheld(judged: NodeReasoning, request: Request) -> str:
    said = spell_health(judged.health)
    recovery = _recovery_of(judged)
    if isinstance(judged.health, Healthy) and recovery is not None and recovery.phase in _RECOVERY_PROBLEMS:
        said = f"{said.removesuffix('.')}, but {_RECOVERY_PROBLEMS[recovery.phase]}."
    match request:
        case Create():
            return f"{said} Next, the checker creates its remediation."
        case DeleteRemediation():
            return f"{said} Next, the checker deletes the remediation that is over."
        case Escalate(to):
            return f"{said} Next, the checker replaces its remedy by number {to + 1}."
        case NoAction() | Hold():
            return said
        case _:
            assert_never(request)


def _notes(facts: ExplainFacts, held: HoldView | None) -> Iterator[str]:
    yield HOW_AGES_COUNT
    said = first_sentence(facts.open_.remediation.status.message) if facts.open_ else ""
    if said and (held is None or said not in held.sentence):
        yield f"The last report of the remediator: {said}"
    if held is not None and held.reason in _OVERRIDABLE:
        override = f"kubectl mend override {facts.node.name} --reason ..."
        yield f"To start its remediation anyway: {override}"
    if facts.etcd_hosts.unread:
        yield facts.etcd_hosts.note
    if facts.elsewhere:
        yield f"There are other remediations of this node: {spell_list(facts.elsewhere)}."
    for leader in facts.leaders:
        if leader.absent:
            yield f"None of this happens before the {leader.component} runs. {leader.sentence}."


def _check_notes(judged: NodeReasoning | None, held: HoldView | None) -> Iterator[str]:
    check = judged.target.check if judged is not None else None
    stalled = find_true(check.status.conditions, condition_types.STALLED) if check is not None else None
    reported = held is not None and stalled is not None and held.sentence in stalled.message
    if check is not None and stalled is not None and not reported:
        yield f"nhc/{check.metadata.name} could not act: {stalled.message}"


def _recovery_of(judged: NodeReasoning | None) -> RecoveryReport | None:
    if judged is None:
        return None
    uid, recoveries = judged.target.node.uid, judged.target.check.status.recoveries
    return next((one for one in recoveries if one.node_uid == uid), None)


def _recovery_notes(judged: NodeReasoning | None) -> Iterator[str]:
    recovery = _recovery_of(judged)
    if recovery is not None:
        said = first_sentence(recovery.message)
        yield f"Its recovery {_RECOVERY_STATES[recovery.phase]} {recovery.since}: {said}"


def _next_step(facts: ExplainFacts, judged: NodeReasoning | None) -> str:
    if any(leader.absent for leader in facts.leaders) or facts.unseen or facts.unread:
        return "kubectl mend check"
    if facts.by_itself is not None and may_need_a_person(facts.by_itself):
        return f"See what it waits for above. What could release it: kubectl mend probe {facts.node.name}"
    if judged is None:
        return "write a NodeHealthCheck that selects it, if it should be watched."
    recovery = _recovery_of(judged)
    if recovery is not None and recovery.phase in _RECOVERY_PROBLEMS:
        advice = recovery.message.removeprefix(first_sentence(recovery.message)).strip()
        return advice or "power on what is still off, then delete the object of its recovery."
    if isinstance(judged.health, Healthy) and facts.open_ is None:
        return "nothing"
    return "nothing; it continues by itself"


def _is_over(remediation: ManualRemediation) -> bool:
    return remediation.status.phase is ManualRemediationPhase.SUCCEEDED and not remediation.metadata.deleting
