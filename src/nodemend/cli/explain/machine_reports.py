"""What the checker wrote about a Machine whose node cannot be seen from here. Pure.

A command asks one API server. The checker may look into workload clusters, and what it finds there it writes
on the Machine and on its check: so much can be told of it.
"""

from nodemend.api.conditions import ConditionStatus
from nodemend.cli.explain.machine_judging import JudgedMachine
from nodemend.cli.explain.view import Answer, HeldView, Question
from nodemend.cli.words import first_sentence
from nodemend.controllers.machine_health_check.report import ALLOWED
from nodemend.decide.machine_marks import Mark
from nodemend.decide.machine_request import is_at_work
from nodemend.decide.node_health import Healthy, Unhealthy, Unjudged
from nodemend.kube.machine_record import CHECKED


def told_elsewhere(judged: JudgedMachine) -> Mark | None:
    """What it last wrote of its health, where only that tells."""
    machine = judged.target.machine
    blind = not judged.seen_here and isinstance(judged.health, Unjudged) and not machine.deleting
    return machine.marks.checked if blind else None


def health_told(told: Mark) -> str:
    """By the name of the verdict."""
    verdict = Healthy if told.status is ConditionStatus.TRUE else Unhealthy
    return verdict.__name__


def ask_told_health(told: Mark) -> Question:
    well = told.status is ConditionStatus.TRUE
    because = f"the checker wrote {CHECKED}={told.status}"
    return Question(
        key="unhealthy",
        asked="unhealthy for long enough",
        answer=Answer.NO if well else Answer.YES,
        because=because if well else f"{because}: {told.message.removeprefix('Unhealthy: ') or told.reason}",
    )


def verdict_told(judged: JudgedMachine, told: Mark) -> tuple[str, HeldView | None]:
    """What completes "Machine ...", and the hold if the check reports one."""
    if told.status is ConditionStatus.TRUE:
        return "is healthy, as the checker wrote.", None
    if is_at_work(judged.way, judged.target.machine.marks):
        return "is unhealthy, as the checker wrote. It is under remediation.", None
    held = held_by_report(judged)
    if held is None:
        return "is unhealthy, as the checker wrote.", None
    return f"is unhealthy, as the checker wrote, and its remediation is held. {held.sentence}", held


def held_by_report(judged: JudgedMachine) -> HeldView | None:
    """What the check says holds all of its Machines."""
    said = judged.target.check.condition(ALLOWED)
    if said is None or said.get("status") == "True":
        return None
    message = said.get("message", "")
    sentence = first_sentence(message)
    return HeldView(
        reason=said.get("reason", ""),
        sentence=sentence,
        next_step=message.removeprefix(sentence).strip() or "kubectl mend status",
    )
