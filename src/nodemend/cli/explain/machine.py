"""Builds the explanation of a Machine with the deciding code. Pure.

The questions between an unhealthy Machine and its replacement or repair are answered in order. The
explanation of a node is followed by those of its watched Machines. If no check selects the node, it has no
ManualRemediation, and exactly one of its Machines is watched, only that Machine is explained.

A command reads one API server. The checker may read workload clusters and writes its results to the Machine
and to its check. If the Machine's node is not visible to the command, the command can show only
those results.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, assert_never

from nodemend.api.meta import ConditionStatus, parse_time
from nodemend.api.well_known import EXTERNAL_REMEDIATION
from nodemend.cli.cluster import LeaderView, unread_leaders
from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.explain.machine_facts import MachineReasoning, MachineSnapshot, evaluate_machine
from nodemend.cli.explain.node import HOW_AGES_COUNT, explain_node, held_view, with_hold
from nodemend.cli.explain.questions import ask_allowed, ask_unhealthy
from nodemend.cli.explain.view import (
    ExplainAnswer,
    ExplainQuestion,
    ExplainView,
    HoldView,
    question,
    spell_health,
    spell_state,
)
from nodemend.cli.listing import written_age
from nodemend.cli.text import NextStep, first_sentence, spell_list, spell_seconds, split_step
from nodemend.health.machine import targets
from nodemend.health.machine.annotation import ByAnnotation, Clear
from nodemend.health.machine.index import MachineCheckKey, key_of
from nodemend.health.machine.report import ALLOWED
from nodemend.health.machine.request import (
    AskOwnerByCondition,
    ByDeletion,
    ByNobody,
    ByOwner,
    ByTemplate,
    Delete,
    Request,
    is_remediating,
)
from nodemend.health.node.preflight import OrderEvaluation
from nodemend.health.remediation_index import NotServed
from nodemend.records.machine import CHECKED, CLAIM, EXTERNAL, OWNER, MachineCheckRecord, MachineRecord
from nodemend.rules.machine import NO_TEMPLATE, HealthCondition
from nodemend.rules.node import Healthy, Unhealthy, Unjudged
from nodemend.rules.request import Create, DeleteRemediation, NoAction
from nodemend.safety.facts import Unreadable
from nodemend.safety.holds import Hold


def ask_watched(
    snapshot: MachineSnapshot, machine: MachineRecord, judged: MachineReasoning | None
) -> ExplainQuestion:
    if judged is not None:
        others = spell_list([f"mhc/{other.name}" for other in judged.target.overlapping])
        said = f", the first by name; also selected by {others}" if others else ", and by no other"
        because = f"mhc/{judged.target.check.name} in {machine.namespace}{said}"
        return question("watched", ExplainAnswer.YES, because)
    because = "no check selects it"
    if machine.left_alone_by:
        because = f"it has the annotation {machine.left_alone_by}, which takes it out of every check"
    elif unserved := served_by_others(snapshot, machine):
        names = spell_list([f"mhc/{check.name}" for check in unserved])
        because = f"{names} selects it, and another controller serves that check"
    return question("watched", ExplainAnswer.NO, because)


def served_by_others(snapshot: MachineSnapshot, machine: MachineRecord) -> list[MachineCheckRecord]:
    """Checks that select the Machine and that Nodemend does not serve, sorted by name."""
    machine_index = snapshot.view.machine_index
    return sorted(
        (
            check
            for check_kind in machine_index.check_kinds.values()
            for check in check_kind.checks.all()
            if check_kind.of == machine.resource.group
            and check.namespace == machine.namespace
            and targets.selects(check, machine)
            and not machine_index.serves(MachineCheckKey(check_kind.group, check.namespace, check.name))
        ),
        key=lambda check: check.name,
    )


def ask_reported(snapshot: MachineSnapshot, machine: MachineRecord) -> ExplainQuestion:
    """Return the conditions that the checker wrote on the Machine, for its owner and for users."""
    mark, external = machine.marks.checked, machine.marks.external
    if mark is None:
        return question("told", ExplainAnswer.NO)
    why = f" ({mark.reason})" if mark.status is not ConditionStatus.TRUE and mark.reason else ""
    because = f"{CHECKED}={mark.status}{why} for {_condition_age(snapshot, machine, CHECKED)}"
    if external is not None and external.reason == NO_TEMPLATE:
        because += f"; {EXTERNAL}={external.status}: {external.message}"
    return question("told", ExplainAnswer.YES, because)


def ask_guard(judged: MachineReasoning) -> ExplainQuestion:
    """Answer from the guard, or from the checker's report if the Machine's cluster is not visible here."""
    if judged.seen_here:
        return ask_allowed(judged.guard_facts, OrderEvaluation())
    said = reported(judged.target.check)
    if said is None:
        because = "its cluster is not visible here, and the checker has not reported"
        return question("allowed", ExplainAnswer.OPEN, because)
    allowed, message = said
    because = f"the checker reports: {message}" if message else "the checker reports so"
    return question("allowed", ExplainAnswer.YES if allowed else ExplainAnswer.NO, because)


def reported(check: MachineCheckRecord) -> tuple[bool, str] | None:
    """Return whether the check reports remediation as allowed, and its message.

    None if the check has no report.
    """
    said = check.condition(ALLOWED)
    return None if said is None else (said.get("status") == "True", said.get("message", ""))


def _remediating(snapshot: MachineSnapshot, judged: MachineReasoning) -> tuple[ExplainAnswer, str]:
    machine, way = judged.target.machine, judged.way
    owner = f"its {machine.owner.kind} {machine.owner.name}" if machine.owner is not None else "its owner"
    match way:
        case ByTemplate():
            return _by_template(snapshot, judged)
        case ByOwner():
            mark = machine.marks.owner
            if mark is None or not machine.marks.asks_owner:
                return ExplainAnswer.NO, f"the checker would ask {owner} to replace it"
            since = _condition_age(snapshot, machine, OWNER)
            return ExplainAnswer.YES, f"the checker asked {owner} to replace it ({mark.reason}), {since} ago"
        case ByAnnotation(answer=answer):
            return (
                (ExplainAnswer.YES, answer.open.holder)
                if answer is not None
                else (ExplainAnswer.NO, way.other)
            )
        case ByDeletion():
            return ExplainAnswer.NO, f"it would be deleted, and {owner} makes another"
        case ByNobody(why):
            return ExplainAnswer.NO, why
        case _:
            assert_never(way)


def _by_template(snapshot: MachineSnapshot, judged: MachineReasoning) -> tuple[ExplainAnswer, str]:
    template = judged.target.check.rules.template
    if template is None:
        raise ValueError(f"{judged.target.check.key} has no template")
    kind = template.kind.removesuffix("Template")
    found = snapshot.view.remedies.kind_of(template)
    if isinstance(found, NotServed):
        return ExplainAnswer.OPEN, f"{kind} objects cannot be read: {found.why}"
    record = targets.find_remediation(snapshot.view, judged.target)
    if record is None:
        return ExplainAnswer.NO, f"a {kind} would be made from the template {template.name}"
    age = spell_seconds((snapshot.around.now - parse_time(record.created)).total_seconds())
    if judged.target.machine.uid not in record.owners:
        return ExplainAnswer.NO, f"{record}, for {age}, belongs to something else of that name"
    return ExplainAnswer.YES, f"{record}, {'ending' if record.deleting else 'open'}, for {age}"


def _condition_age(snapshot: MachineSnapshot, machine: MachineRecord, type_: str) -> str:
    conditions = snapshot.listing.wire(key_of(machine)).status.conditions
    since = next((one.last_transition_time for one in conditions if one.type == type_), None)
    return spell_seconds(written_age(since, snapshot.around.now))


def reported_elsewhere(judged: MachineReasoning) -> HealthCondition | None:
    """Return the checker's last health condition if it is the only source; otherwise None."""
    machine = judged.target.machine
    blind = not judged.seen_here and isinstance(judged.health, Unjudged) and not machine.deleting
    return machine.marks.checked if blind else None


def reported_health(reported: HealthCondition) -> str:
    verdict = Healthy if reported.status is ConditionStatus.TRUE else Unhealthy
    return verdict.health


def ask_reported_health(reported: HealthCondition) -> ExplainQuestion:
    because = f"the checker wrote {CHECKED}={reported.status}"
    if reported.status is ConditionStatus.TRUE:
        return question("unhealthy", ExplainAnswer.NO, because)
    why = reported.message.removeprefix("Unhealthy: ") or reported.reason
    return question("unhealthy", ExplainAnswer.YES, f"{because}: {why}")


def reported_verdict(judged: MachineReasoning, reported: HealthCondition) -> tuple[str, HoldView | None]:
    """Return the text that completes "Machine ...", and the hold if the check reports one."""
    if reported.status is ConditionStatus.TRUE:
        return "is healthy, as the checker wrote.", None
    if is_remediating(judged.way, judged.target.machine.marks):
        return "is unhealthy, as the checker wrote. It is under remediation.", None
    held = held_by_report(judged)
    if held is None:
        return "is unhealthy, as the checker wrote.", None
    return f"is unhealthy, as the checker wrote, and its remediation is held. {held.sentence}", held


def held_by_report(judged: MachineReasoning) -> HoldView | None:
    """Return the hold that the check reports for all of its Machines; None if it reports none."""
    said = judged.target.check.condition(ALLOWED)
    if said is None or said.get("status") == "True":
        return None
    message = said.get("message", "")
    sentence = first_sentence(message)
    return HoldView(
        reason=said.get("reason", ""),
        sentence=sentence,
        next_step=message.removeprefix(sentence).strip() or "kubectl mend status",
    )


_CHECKER: Final = "checker"


def explain_machine(snapshot: MachineSnapshot, machine: MachineRecord) -> ExplainView:
    judged = evaluate_machine(snapshot, machine)
    verdict, held = _verdict(snapshot, machine, judged)
    # A hold that a check reports applies to all of its Machines, so it is shown at `allowed`. Any other hold
    # without its own row applies to this Machine.
    stands_at = "allowed" if judged is not None and not judged.seen_here else "remediating"
    status = "kubectl mend status"
    if held is None:
        step = split_step(_next_step(snapshot, machine, judged))
    elif judged is not None and reported_elsewhere(judged) is not None:
        # A condition may repeat text of other writers, so no command is extracted from it.
        step = NextStep(held.next_step, status)
    else:
        step = split_step(held.next_step, status)
    return ExplainView(
        node=machine.node,
        machine=machine.key,
        health=_health(judged),
        headline=f"Machine {machine.key} {verdict}",
        questions=tuple(with_hold(_rows(snapshot, machine, judged), held, else_at=stands_at)),
        held=held,
        notes=tuple(_notes(snapshot, judged)),
        unread=(*snapshot.unseen, *unread_leaders(snapshot.around.leaders)),
        advice=step.advice,
        next_step=step.command,
    )


def _health(judged: MachineReasoning | None) -> str:
    """Return the name of the verdict: the checker's recorded verdict if only the checker can know it."""
    if judged is None:
        return "Unwatched"
    reported = reported_elsewhere(judged)
    return judged.health.health if reported is None else reported_health(reported)


def _rows(
    snapshot: MachineSnapshot, machine: MachineRecord, judged: MachineReasoning | None
) -> Iterator[ExplainQuestion]:
    yield ask_watched(snapshot, machine, judged)
    if judged is None:
        return
    reported = reported_elsewhere(judged)
    yield ask_unhealthy(judged.health) if reported is None else ask_reported_health(reported)
    if judged.target.flavor.owners_read_conditions:
        yield ask_reported(snapshot, machine)
    yield ask_guard(judged)
    yield question("remediating", *_remediating(snapshot, judged))


def _verdict(
    snapshot: MachineSnapshot, machine: MachineRecord, judged: MachineReasoning | None
) -> tuple[str, HoldView | None]:
    """Return the text that completes "Machine ...", and the hold if there is one."""
    if judged is None:
        return _unwatched(machine), None
    if (reported := reported_elsewhere(judged)) is not None:
        return reported_verdict(judged, reported)
    if not judged.seen_here:
        return spell_health(judged.health), None
    if isinstance(judged.request, Hold):
        held = held_view(judged.request, machine.node)
        return f"{spell_state(judged.health)}, and its remediation is held. {held.sentence}", held
    return f"{spell_health(judged.health)}{_action(snapshot, judged, judged.request)}", None


def _unwatched(machine: MachineRecord) -> str:
    """Describe a Machine without a check.

    Whether its annotation is applied depends on the checker's settings, which a command cannot read.
    """
    if machine.asked_externally is None or machine.left_alone_by:
        return "is watched by no check that Nodemend serves. Nothing will be done about it."
    return (
        f"is watched by no check that Nodemend serves. {EXTERNAL_REMEDIATION} requests its remediation: a"
        " checker with externalRemediationAnnotation.enabled follows that and reports it in events of the"
        " Machine."
    )


def _action(snapshot: MachineSnapshot, judged: MachineReasoning, request: Request) -> str:
    """Describe the checker's next action as one more sentence; empty if it takes no action."""
    machine, template = judged.target.machine, judged.target.check.rules.template
    match request:
        case AskOwnerByCondition():
            owner = machine.owner.kind if machine.owner is not None else "owner"
            return f" Next, the checker asks its {owner} to replace it."
        case Delete():
            return " Next, the checker deletes it, to have it replaced."
        case Create():
            if template is None:
                raise ValueError(f"{judged.target.check.key} has no template")
            kind = template.kind.removesuffix("Template")
            if isinstance(snapshot.view.remedies.kind_of(template), NotServed):
                return f" Whether it has a {kind} is not known here."
            return f" Next, the checker creates a {kind}."
        case DeleteRemediation():
            return " Next, the checker deletes the remediation that is no longer needed."
        case Clear():
            return " Next, the checker removes the annotation that requested its remediation."
        case NoAction():
            return " It is under remediation." if is_remediating(judged.way, machine.marks) else ""
        case Hold():
            return ""
        case _:
            assert_never(request)


def _notes(snapshot: MachineSnapshot, judged: MachineReasoning | None) -> Iterator[str]:
    yield HOW_AGES_COUNT
    if judged is not None:
        if not judged.seen_here:
            yield (
                "Its node is not visible here: this command reads only one API server. A checker that reads"
                " workload clusters knows more, and its last report is shown above."
            )
        if reported(judged.target.check) is None:
            yield (
                f"The checker has not reported on mhc/{judged.target.check.name} yet: it must run with"
                " machineHealthChecks.enabled."
            )
    if snapshot.around.etcd_hosts.unread:
        yield snapshot.around.etcd_hosts.note
    for leader in _absent(snapshot):
        yield f"None of this happens before the {leader.component} runs. {leader.sentence}."


def _absent(snapshot: MachineSnapshot) -> list[LeaderView]:
    return [one for one in snapshot.around.leaders if one.component == _CHECKER and one.absent]


def _next_step(snapshot: MachineSnapshot, machine: MachineRecord, judged: MachineReasoning | None) -> str:
    if _absent(snapshot) or snapshot.unseen:
        return "kubectl mend check"
    if judged is None:
        return _how_to_watch(snapshot, machine)
    if not judged.seen_here and machine.node:
        return f"kubectl get node {machine.node}, with the kubeconfig of its cluster"
    if isinstance(judged.health, Healthy) and judged.request == NoAction():
        return "nothing"
    return "nothing; it continues by itself"


def _how_to_watch(snapshot: MachineSnapshot, machine: MachineRecord) -> str:
    if machine.left_alone_by:
        return f"remove the annotation {machine.left_alone_by}, if it should be watched."
    if unserved := served_by_others(snapshot, machine):
        check, claim = unserved[0], "=".join(CLAIM)
        return f"kubectl label mhc {check.name} -n {check.namespace} {claim}, if Nodemend should serve it."
    return "write a MachineHealthCheck that selects it, if it should be watched."


_UNWATCHED = "Unwatched"


def explain_with_machines(facts: ExplainFacts, snapshot: MachineSnapshot | Unreadable) -> ExplainView:
    """Explain the node and its watched Machines; only the Machine if it alone is watched.

    For a Machine without a check, a note gives the reason.
    """
    if isinstance(snapshot, Unreadable):
        view = explain_node(facts)
        unknown = f"Its Machine cannot be read: {snapshot.why}."
        return replace(view, unread=(*view.unread, unknown))
    # The checker of nodes knows the Machines and their remediations.
    around = replace(facts.view, remedies=snapshot.view.remedies, machines=snapshot.behind)
    view = explain_node(replace(facts, view=around))
    machines = sorted(snapshot.behind.of_node(facts.node.name), key=lambda machine: machine.key)
    behind = [explain_machine(snapshot, machine) for machine in machines]
    watched = [one for one in behind if one.health != _UNWATCHED]
    alone = view.health == _UNWATCHED and facts.open_ is None
    if alone and len(watched) == 1:
        note = f"{facts.node.name} itself is selected by no NodeHealthCheck."
        return replace(watched[0], notes=(*watched[0].notes, note))
    unwatched = tuple(_why_not(one) for one in behind if alone and one.health == _UNWATCHED)
    return replace(
        view, notes=(*view.notes, *unwatched), machines=tuple(_beside(view, one) for one in watched)
    )


def _why_not(machine: ExplainView) -> str:
    why = next(row.because for row in machine.questions if row.key == "watched")
    return f"Its Machine {machine.machine} is not under a MachineHealthCheck that Nodemend serves: {why}."


def _beside(node: ExplainView, machine: ExplainView) -> ExplainView:
    """Return the Machine's view without the notes and unread objects that the node's view already has."""
    return replace(
        machine,
        notes=tuple(note for note in machine.notes if note not in node.notes),
        unread=tuple(one for one in machine.unread if one not in node.unread),
    )
