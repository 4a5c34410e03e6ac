"""From a Machine to its explanation, by the code that decides. Pure."""

from collections.abc import Iterator
from typing import Final, assert_never

from nodemend.api.keys import EXTERNAL_REMEDIATION
from nodemend.cli.explain import machine_questions as ask
from nodemend.cli.explain.health_words import spell_health, spell_state
from nodemend.cli.explain.holding import held_view, with_hold
from nodemend.cli.explain.machine_facts import MachineSight
from nodemend.cli.explain.machine_judging import JudgedMachine, judge
from nodemend.cli.explain.machine_reports import (
    ask_told_health,
    health_told,
    told_elsewhere,
    verdict_told,
)
from nodemend.cli.explain.questions import ask_unhealthy
from nodemend.cli.explain.reasoning import HOW_AGES_COUNT
from nodemend.cli.explain.view import ExplainView, HeldView, Question
from nodemend.cli.leaders import LeaderState, LeaderView, unread_leaders
from nodemend.cli.next_steps import Step, split_step
from nodemend.controllers.checking.remedies import NotServed
from nodemend.decide.annotated_machine import Clear
from nodemend.decide.holds import Hold
from nodemend.decide.machine_request import Ask, Delete, Request, is_at_work
from nodemend.decide.node_health import Healthy
from nodemend.decide.remediation_request import Create, Leave, Withdraw
from nodemend.kube.machine_check_record import CLAIM
from nodemend.kube.machine_record import MachineRecord

_CHECKER: Final = "checker"


def explain_machine(sight: MachineSight, machine: MachineRecord) -> ExplainView:
    judged = judge(sight, machine)
    verdict, held = _verdict(sight, machine, judged)
    # What a check reports holds all of its Machines; what else has no row of its own holds this one.
    stands_at = "allowed" if judged is not None and not judged.seen_here else "remediating"
    status = "kubectl mend status"
    if held is None:
        step = split_step(_next_step(sight, machine, judged))
    elif judged is not None and told_elsewhere(judged) is not None:
        # A condition may repeat what others wrote: no command is taken from it.
        step = Step(held.next_step, status)
    else:
        step = split_step(held.next_step, status)
    return ExplainView(
        node=machine.node,
        machine=machine.key,
        health=_health(judged),
        headline=f"Machine {machine.key} {verdict}",
        questions=tuple(with_hold(_rows(sight, machine, judged), held, else_at=stands_at)),
        held=held,
        notes=tuple(_notes(sight, judged)),
        unread=(*sight.unseen, *unread_leaders(sight.around.leaders)),
        advice=step.advice,
        next_step=step.command,
    )


def _health(judged: JudgedMachine | None) -> str:
    """By the name of the verdict: the checker's own, where only that can be known."""
    if judged is None:
        return "Unwatched"
    told = told_elsewhere(judged)
    return type(judged.health).__name__ if told is None else health_told(told)


def _rows(sight: MachineSight, machine: MachineRecord, judged: JudgedMachine | None) -> Iterator[Question]:
    yield ask.ask_watched(sight, machine, judged)
    if judged is None:
        return
    told = told_elsewhere(judged)
    yield ask_unhealthy(judged.health) if told is None else ask_told_health(told)
    if judged.target.dialect.owners_read_conditions:
        yield ask.ask_told(sight, machine)
    yield ask.ask_guard(judged)
    yield ask.ask_remediating(sight, judged)


def _verdict(
    sight: MachineSight, machine: MachineRecord, judged: JudgedMachine | None
) -> tuple[str, HeldView | None]:
    """What completes "Machine ...", and the hold if there is one."""
    if judged is None:
        return _unwatched(machine), None
    if (told := told_elsewhere(judged)) is not None:
        return verdict_told(judged, told)
    if not judged.seen_here:
        return spell_health(judged.health), None
    if isinstance(judged.request, Hold):
        held = held_view(judged.request, machine.node)
        return f"{spell_state(judged.health)}, and its remediation is held. {held.sentence}", held
    return f"{spell_health(judged.health)}{_deed(sight, judged, judged.request)}", None


def _unwatched(machine: MachineRecord) -> str:
    """Whether an annotation is heeded, the checker's settings tell, and they are not seen from here."""
    if machine.asked_externally is None or machine.left_alone_by:
        return "is watched by no check of ours. Nothing will be done about it."
    return (
        f"is watched by no check of ours. {EXTERNAL_REMEDIATION} asks for its remediation: that is heeded"
        " by a checker with externalRemediationAnnotation.enabled, which tells of it in the Machine's events."
    )


def _deed(sight: MachineSight, judged: JudgedMachine, request: Request) -> str:
    """What the checker does next, as one more sentence."""
    machine, template = judged.target.machine, judged.target.check.rules.template
    match request:
        case Ask():
            owner = machine.owner.kind if machine.owner is not None else "owner"
            return f" Next, the checker asks its {owner} to replace it."
        case Delete():
            return " Next, the checker deletes it, to have it replaced."
        case Create():
            if template is None:
                raise ValueError(f"{judged.target.check.key} has no template")
            kind = template.kind.removesuffix("Template")
            if isinstance(sight.view.remedies.kind_of(template), NotServed):
                return f" Whether it has a {kind} is not known here."
            return f" Next, the checker asks for a {kind}."
        case Withdraw():
            return " Next, the checker withdraws the remediation that it needs no longer."
        case Clear():
            return " Next, the checker takes off the annotation that asked for its remediation."
        case Leave():
            return " It is under remediation." if is_at_work(judged.way, machine.marks) else ""
        case Hold():
            return ""
        case _:
            assert_never(request)


def _notes(sight: MachineSight, judged: JudgedMachine | None) -> Iterator[str]:
    yield HOW_AGES_COUNT
    if judged is not None:
        if not judged.seen_here:
            yield (
                "Its node is not seen here: this command asks one API server alone. A checker that looks into"
                " workload clusters knows more, and what it last wrote stands above."
            )
        if ask.reported(judged.target.check) is None:
            yield (
                f"The checker has not reported on mhc/{judged.target.check.name} yet: it must run with"
                " machineHealthChecks.enabled."
            )
    if sight.around.etcd_hosts.unread:
        yield sight.around.etcd_hosts.note
    for leader in _absent(sight):
        yield f"Nothing of this happens before the {leader.component} runs. {leader.sentence}."


def _absent(sight: MachineSight) -> list[LeaderView]:
    alive = (LeaderState.ALIVE, LeaderState.UNKNOWN)
    return [one for one in sight.around.leaders if one.component == _CHECKER and one.state not in alive]


def _next_step(sight: MachineSight, machine: MachineRecord, judged: JudgedMachine | None) -> str:
    if _absent(sight):
        return "kubectl mend check"
    if sight.unseen:
        return "kubectl mend check"
    if judged is None:
        return _how_to_watch(sight, machine)
    if not judged.seen_here and machine.node:
        return f"kubectl get node {machine.node}, with a kubeconfig of its own cluster"
    if isinstance(judged.health, Healthy) and judged.request == Leave():
        return "nothing"
    return "nothing; it goes on without you"


def _how_to_watch(sight: MachineSight, machine: MachineRecord) -> str:
    if machine.left_alone_by:
        return f"take the annotation {machine.left_alone_by} off it, if it should be watched."
    if unserved := ask.served_by_others(sight, machine):
        check, claim = unserved[0], "=".join(CLAIM)
        return f"kubectl label mhc {check.name} -n {check.namespace} {claim}, if Nodemend should serve it."
    return "write a MachineHealthCheck that selects it, if it should be watched."
