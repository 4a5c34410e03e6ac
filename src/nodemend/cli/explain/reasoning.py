"""From facts to an explanation, by the code that decides. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, assert_never

from nodemend.api.manual_remediation import ManualRemediation, Phase
from nodemend.cli.explain import questions as ask
from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.explain.step_words import spell_step
from nodemend.cli.explain.survey import guard_facts
from nodemend.cli.explain.view import Answer, ExplainView, HeldView, Question
from nodemend.cli.leaders import LeaderState
from nodemend.cli.words import first_sentence, spell_list, spell_seconds
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import Target
from nodemend.decide import manual_remediation, remediation_request
from nodemend.decide.guard_facts import GuardFacts
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged, judge
from nodemend.decide.remediation_request import Create, Escalate, Leave, Request, Withdraw
from nodemend.decide.storm_guard import guard

HOW_AGES_COUNT: Final = (
    "Ages are counted from the times written in the objects, by the API server's clock. The controllers count"
    " only what they have seen themselves, and may be later."
)


def explain_node(facts: ExplainFacts) -> ExplainView:
    target = gather.find_target(facts.view, facts.node.name)
    health = judge(target.check.spec.thresholds, facts.conditions) if target else None
    # Every node is judged for it: once is enough.
    guarding = guard_facts(facts, target) if target else None
    rows = list(_rows(facts, target, health, guarding))
    verdict, held = _verdict(facts, target, health, guarding)
    return ExplainView(
        node=facts.node.name,
        health=type(health).__name__ if health else "Unwatched",
        headline=f"{facts.node.name} {verdict}",
        questions=tuple(_with_hold(rows, held)),
        held=held,
        notes=tuple(_notes(facts, held)),
        next_step=held.next_step if held else _next_step(facts, target, health),
    )


def _rows(
    facts: ExplainFacts, target: Target | None, health: NodeHealth | None, guarding: GuardFacts | None
) -> Iterator[Question]:
    yield ask.ask_watched(target)
    if health is not None and guarding is not None:
        yield ask.ask_unhealthy(health)
        yield ask.ask_allowed(guarding)
    yield ask.ask_remediating(facts)
    if facts.open_ is not None:
        yield from ask.ask_of_remediation(facts.open_)


def _verdict(
    facts: ExplainFacts, target: Target | None, health: NodeHealth | None, guarding: GuardFacts | None
) -> tuple[str, HeldView | None]:
    """What completes "NODE ...", and the hold if there is one."""
    if facts.open_ is not None and not _is_over(facts.open_.remediation):
        step = manual_remediation.decide(facts.open_)
        if isinstance(step, Hold):
            held = _held(step, facts.node.name)
            return f"is under remediation, and held. {held.sentence}", held
        return f"is under remediation. Next, the remediator {spell_step(step)}.", None
    if target is None or health is None or guarding is None:
        return "is watched by no check. Nothing will be done about it.", None
    found = gather.find_remediation(facts.view, target)
    request = remediation_request.decide(
        health,
        # A command has not watched it: no time of it has passed.
        gather.as_open(found, target, facts.view, 0.0) if found is not None else None,
        guard(guarding),
        gather.wishes_of(target),
    )
    if isinstance(request, Hold):
        held = _held(request, facts.node.name)
        return f"is unhealthy, and its remediation is held. {held.sentence}", held
    return _unheld(health, request), None


def _unheld(health: NodeHealth, request: Request) -> str:
    match health:
        case Healthy():
            said = "is healthy."
        case Suspect(match):
            said = f"is suspect. It counts as unhealthy in {spell_seconds(match.remaining)}."
        case Unhealthy():
            said = "is unhealthy."
        case Unjudged(why):
            said = f"cannot be judged: {why}."
        case _:
            assert_never(health)
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


def _held(hold: Hold, node: str) -> HeldView:
    explanation = explain(hold.reason)
    return HeldView(
        reason=type(hold.reason).__name__,
        sentence=explanation.sentence,
        # Explanations that do not know the node leave a place for its name.
        next_step=explanation.next_step.replace("NODE", node),
    )


def _with_hold(rows: Iterable[Question], held: HeldView | None) -> Iterator[Question]:
    """Marks the question at which the hold stands."""
    where = {kind.__name__: key for kind, key in ask.QUESTION_OF.items()}
    key = where[held.reason] if held else ""
    for row in rows:
        if held is not None and row.key == key:
            yield replace(row, answer=Answer.HOLD, because=row.because or held.sentence)
        else:
            yield row


def _notes(facts: ExplainFacts, held: HeldView | None) -> Iterator[str]:
    yield HOW_AGES_COUNT
    said = first_sentence(facts.open_.remediation.status.message) if facts.open_ else ""
    if said and (held is None or said != held.sentence):
        yield f"The remediator last said: {said}"
    if facts.elsewhere:
        yield f"There are other remediations of this node: {spell_list(facts.elsewhere)}."
    for leader in facts.leaders:
        if leader.state not in (LeaderState.ALIVE, LeaderState.UNKNOWN):
            yield f"Nothing of this happens before the {leader.component} runs. {leader.sentence}."


def _next_step(facts: ExplainFacts, target: Target | None, health: NodeHealth | None) -> str:
    if any(leader.state not in (LeaderState.ALIVE, LeaderState.UNKNOWN) for leader in facts.leaders):
        return "kubectl mend check"
    if target is None:
        return "write a NodeHealthCheck that selects it, if it should be watched."
    if isinstance(health, Healthy) and facts.open_ is None:
        return "nothing."
    return "nothing for you to do; look again in a while."


def _is_over(remediation: ManualRemediation) -> bool:
    return remediation.status.phase is Phase.SUCCEEDED and not remediation.metadata.deleting
