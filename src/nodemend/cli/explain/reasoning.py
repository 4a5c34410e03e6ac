"""From facts to an explanation, by the code that decides. Pure."""

from collections.abc import Iterator
from typing import Final, assert_never

from nodemend.api.conditions import Condition, find_true
from nodemend.api.manual_remediation import ManualRemediation, Phase
from nodemend.api.node_health_check import RecoveryPhase, RecoveryReport
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.self_remediation import SelfRemediation
from nodemend.cli.explain import questions as ask
from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.explain.health_words import spell_health, spell_state
from nodemend.cli.explain.holding import held_view, with_hold
from nodemend.cli.explain.judging import Judged, judge_node
from nodemend.cli.explain.self_fencing_questions import ask_of_self_fencing
from nodemend.cli.explain.step_words import spell_step
from nodemend.cli.explain.view import ExplainView, HeldView, Question
from nodemend.cli.leaders import LeaderState
from nodemend.cli.next_steps import split_step
from nodemend.cli.remediations import (
    Remediation,
    contradiction_of,
    is_open,
    may_need_a_person,
    spell_contradiction,
    unserved,
)
from nodemend.cli.words import first_sentence, spell_list
from nodemend.controllers.fresh_reads import POLICY_OF_DEFAULTS
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import View
from nodemend.controllers.node_health_check.rivals import find_rival
from nodemend.decide import manual_remediation, remediation_request
from nodemend.decide.dry_run import tell_dry_run
from nodemend.decide.guard_holds import Unserved
from nodemend.decide.holds import Hold, HoldReason
from nodemend.decide.node_health import Healthy, NodeHealth
from nodemend.decide.remediation_order import MEASURES
from nodemend.decide.remediation_request import Create, Escalate, Leave, Request, Withdraw
from nodemend.decide.storm_guard import Go, guard

HOW_AGES_COUNT: Final = (
    "Ages are counted from the times written in the objects, by the API server's clock. The controllers count"
    " only what they have seen themselves, and may be later."
)
_OVERRIDABLE: Final = frozenset(measure.__name__ for measure in MEASURES)


def explain_node(facts: ExplainFacts) -> ExplainView:
    judged = judge_node(facts)
    rows = list(_rows(facts, judged))
    verdict, held = _verdict(facts, judged)
    tree = f"kubectl mend tree {facts.node.name}"
    step = split_step(held.next_step, tree) if held else split_step(_next_step(facts, judged))
    return ExplainView(
        node=facts.node.name,
        health=type(judged.health).__name__ if judged else "Unwatched",
        headline=f"{facts.node.name} {verdict}",
        questions=tuple(with_hold(rows, held, else_at="remediating")),
        held=held,
        notes=(*_check_notes(judged, held), *_recovery_notes(judged), *_notes(facts, held)),
        unread=(*facts.unseen, *facts.unread),
        advice=step.advice,
        next_step=step.command,
    )


def _rows(facts: ExplainFacts, judged: Judged | None) -> Iterator[Question]:
    yield ask.ask_watched(judged.target if judged else None)
    if judged is not None:
        yield ask.ask_unhealthy(judged.health)
        if judged.weighed.order is not None:
            yield ask.ask_ordered(judged.weighed)
        yield ask.ask_allowed(judged.guarding, judged.weighed)
    yield ask.ask_remediating(facts, judged.existing if judged else None)
    if facts.open_ is not None:
        yield from ask.ask_of_remediation(facts.open_)
    elif facts.by_itself is not None:
        yield from ask_of_self_fencing(facts.by_itself)


def _verdict(facts: ExplainFacts, judged: Judged | None) -> tuple[str, HeldView | None]:
    """What completes "NODE ...", and the hold if there is one."""
    if (nobody := _unserved(facts)) is not None:
        held = held_view(Hold(nobody), facts.node.name)
        return f"was to be remediated. {held.sentence}", held
    if (twice := _contradiction(facts)) is not None:
        held = HeldView(reason=twice.reason, sentence=twice.message, next_step="")
        return f"may run its workloads twice. {spell_contradiction(twice)}", held
    if facts.open_ is not None and not _is_over(facts.open_.remediation):
        step = manual_remediation.decide(facts.open_)
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
    warrant = judged.weighed.warrant(judged.guarding)
    request = remediation_request.decide(
        judged.health,
        judged.existing,
        _ask_guard(facts.view, judged, warrant.passing if warrant else ()),
        gather.wishes_of(judged.target),
        ordered=warrant is not None,
    )
    if isinstance(request, Create):
        # What the checker finds when it looks a second time, before it begins.
        records = facts.view.remedies.all()
        request = find_rival(facts.view, facts.node.name, records) or request
    if isinstance(request, Hold):
        held = held_view(request, facts.node.name)
        whose = f"the remediation that {warrant.order.by} ordered" if warrant else "its remediation"
        return f"{spell_state(judged.health)}, and {whose} is held. {held.sentence}", held
    return _unheld(judged.health, request), None


def _ask_guard(view: View, judged: Judged, passing: tuple[type[HoldReason], ...]) -> Go | Hold:
    """In a dry run it tells what would be done, as the checker does, by the remedy that it has come to."""
    target, facts = judged.target, judged.guarding
    reports = target.check.status.reports
    reached = next((one.remedy for one in reports if one.name == target.node.name), 0)
    index = min(max(reached - 1, 0), len(target.check.spec.remedies) - 1)
    wish = gather.wish_for(target, index, view.remedies)
    return tell_dry_run(facts, guard(facts, passing), wish, POLICY_OF_DEFAULTS, passing)


def _open(facts: ExplainFacts) -> Iterator[Remediation]:
    by_hand = facts.open_.remediation if facts.open_ is not None else None
    for one in (by_hand, facts.power_cycle, facts.by_itself):
        if one is not None and is_open(one):
            yield one


def _unserved(facts: ExplainFacts) -> Unserved | None:
    return next((why for one in _open(facts) if (why := unserved(one, facts.now))), None)


def _contradiction(facts: ExplainFacts) -> Condition | None:
    return next((said for one in _open(facts) if (said := contradiction_of(one))), None)


def _power_cycled(remediation: Metal3Remediation) -> str:
    """In the words of its status, which are those of the code that decides."""
    status = remediation.status
    what = f"{status.host or 'its host'} is switched off and on ({status.phase})"
    return f"is under remediation: {what}. {first_sentence(status.message)}".rstrip()


def _fences_itself(remediation: SelfRemediation) -> str:
    """Likewise."""
    status = remediation.status
    return f"is under remediation: it is to reset itself ({status.phase}). {status.message}".rstrip()


def _unheld(health: NodeHealth, request: Request) -> str:
    said = spell_health(health)
    match request:
        case Create():
            return f"{said} Next, the checker asks for its remediation."
        case Withdraw():
            return f"{said} Next, the checker withdraws the remediation that is over."
        case Escalate(to):
            return f"{said} Next, the checker gives up its remedy for number {to + 1}."
        case Leave() | Hold():
            return said
        case _:
            assert_never(request)


def _notes(facts: ExplainFacts, held: HeldView | None) -> Iterator[str]:
    yield HOW_AGES_COUNT
    said = first_sentence(facts.open_.remediation.status.message) if facts.open_ else ""
    if said and (held is None or said not in held.sentence):
        yield f"The remediator last said: {said}"
    if held is not None and held.reason in _OVERRIDABLE:
        yield f"Who may override lets it past this: kubectl mend override {facts.node.name} --reason ..."
    if facts.etcd_hosts.unread:
        yield facts.etcd_hosts.note
    if facts.elsewhere:
        yield f"There are other remediations of this node: {spell_list(facts.elsewhere)}."
    for leader in facts.leaders:
        if leader.state not in (LeaderState.ALIVE, LeaderState.UNKNOWN):
            yield f"Nothing of this happens before the {leader.component} runs. {leader.sentence}."


def _check_notes(judged: Judged | None, held: HeldView | None) -> Iterator[str]:
    check = judged.target.check if judged is not None else None
    stalled = find_true(check.status.conditions, "Stalled") if check is not None else None
    told = held is not None and stalled is not None and held.sentence in stalled.message
    if check is not None and stalled is not None and not told:
        yield f"nhc/{check.metadata.name} could not act: {stalled.message}"


def _recovery_of(judged: Judged | None) -> RecoveryReport | None:
    if judged is None:
        return None
    uid, recoveries = judged.target.node.uid, judged.target.check.status.recoveries
    return next((one for one in recoveries if one.node_uid == uid), None)


def _recovery_notes(judged: Judged | None) -> Iterator[str]:
    recovery = _recovery_of(judged)
    if recovery is not None:
        yield f"Its recovery is {recovery.phase.lower()} since {recovery.since}: {recovery.message}"


def _next_step(facts: ExplainFacts, judged: Judged | None) -> str:
    if any(leader.state not in (LeaderState.ALIVE, LeaderState.UNKNOWN) for leader in facts.leaders):
        return "kubectl mend check"
    if facts.unseen or facts.unread:
        return "kubectl mend check"
    if facts.by_itself is not None and may_need_a_person(facts.by_itself):
        return f"See what it waits for above. What could release it: kubectl mend probe {facts.node.name}"
    if judged is None:
        return "write a NodeHealthCheck that selects it, if it should be watched."
    recovery = _recovery_of(judged)
    if recovery is not None and recovery.phase in (RecoveryPhase.FAILED, RecoveryPhase.OVERDUE):
        return "switch on by hand what is still off, then delete the object of its recovery."
    if isinstance(judged.health, Healthy) and facts.open_ is None:
        return "nothing"
    return "nothing; it goes on without you"


def _is_over(remediation: ManualRemediation) -> bool:
    return remediation.status.phase is Phase.SUCCEEDED and not remediation.metadata.deleting
