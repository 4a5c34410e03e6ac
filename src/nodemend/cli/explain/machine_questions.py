"""The questions that stand between a sick Machine and its replacement or repair, answered in order."""

from typing import assert_never

from nodemend.api.conditions import ConditionStatus
from nodemend.api.timestamps import parse_time
from nodemend.cli.explain.machine_facts import MachineSight
from nodemend.cli.explain.machine_judging import JudgedMachine
from nodemend.cli.explain.questions import ask_allowed
from nodemend.cli.explain.view import Answer, Question
from nodemend.cli.words import spell_list, spell_seconds
from nodemend.cli.written_ages import written_age
from nodemend.controllers.checking.remedies import NotServed
from nodemend.controllers.machine_health_check import gather
from nodemend.controllers.machine_health_check.fleet import MachineCheckKey, key_of
from nodemend.controllers.machine_health_check.report import ALLOWED
from nodemend.controllers.node_health_check.orders import Weighed
from nodemend.decide.annotated_machine import ByAnnotation
from nodemend.decide.machine_marks import NO_TEMPLATE
from nodemend.decide.machine_request import ByDeletion, ByNobody, ByOwner, ByTemplate
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_record import CHECKED, EXTERNAL, OWNER, MachineRecord


def ask_watched(sight: MachineSight, machine: MachineRecord, judged: JudgedMachine | None) -> Question:
    asked = "watched by a check"
    if judged is not None:
        others = spell_list([f"mhc/{other.name}" for other in judged.target.overlapping])
        said = f", the first by name; also selected by {others}" if others else ", and by no other"
        because = f"mhc/{judged.target.check.name} in {machine.namespace}{said}"
        return Question(key="watched", asked=asked, answer=Answer.YES, because=because)
    because = "none selects it"
    if machine.left_alone_by:
        because = f"it has the annotation {machine.left_alone_by}, which takes it out of every check"
    elif unserved := served_by_others(sight, machine):
        names = spell_list([f"mhc/{check.name}" for check in unserved])
        because = f"{names} selects it, and is another controller's to serve"
    return Question(key="watched", asked=asked, answer=Answer.NO, because=because)


def served_by_others(sight: MachineSight, machine: MachineRecord) -> list[MachineCheckRecord]:
    """Checks that select it and that are not ours to serve, by name."""
    fleet = sight.view.fleet
    return sorted(
        (
            check
            for book in fleet.books.values()
            for check in book.checks.all()
            if book.of == machine.resource.group
            and check.namespace == machine.namespace
            and gather.selects(check, machine)
            and not fleet.serves(MachineCheckKey(book.group, check.namespace, check.name))
        ),
        key=lambda check: check.name,
    )


def ask_told(sight: MachineSight, machine: MachineRecord) -> Question:
    """What the checker has written down on it, for its owner and for people."""
    asked, mark = "told on the Machine", machine.marks.checked
    if mark is None:
        return Question(key="told", asked=asked, answer=Answer.NO)
    why = f" ({mark.reason})" if mark.status is not ConditionStatus.TRUE and mark.reason else ""
    because = f"{CHECKED}={mark.status}{why} for {_stood_for(sight, machine, CHECKED)}"
    external = machine.marks.external
    if external is not None and external.reason == NO_TEMPLATE:
        because += f"; {EXTERNAL}={external.status}: {external.message}"
    return Question(key="told", asked=asked, answer=Answer.YES, because=because)


def ask_guard(judged: JudgedMachine) -> Question:
    """Of a cluster that is not seen from here, only the checker's own report tells."""
    if judged.seen_here:
        return ask_allowed(judged.guarding, Weighed())
    asked, said = "allowed by the cluster", reported(judged.target.check)
    if said is None:
        because = "its cluster is not seen from here, and the checker has not reported"
        return Question(key="allowed", asked=asked, answer=Answer.OPEN, because=because)
    allowed, message = said
    because = f"the checker reports: {message}" if message else "the checker reports so"
    return Question(key="allowed", asked=asked, answer=Answer.YES if allowed else Answer.NO, because=because)


def reported(check: MachineCheckRecord) -> tuple[bool, str] | None:
    """Whether the checker wrote that remediation is allowed, and its words; None when it wrote nothing."""
    said = check.condition(ALLOWED)
    return None if said is None else (said.get("status") == "True", said.get("message", ""))


def ask_remediating(sight: MachineSight, judged: JudgedMachine) -> Question:
    answer, because = _remediating(sight, judged)
    return Question(key="remediating", asked="under remediation", answer=answer, because=because)


def _remediating(sight: MachineSight, judged: JudgedMachine) -> tuple[Answer, str]:
    machine, way = judged.target.machine, judged.way
    owner = f"its {machine.owner.kind} {machine.owner.name}" if machine.owner is not None else "its owner"
    match way:
        case ByTemplate():
            return _by_template(sight, judged)
        case ByOwner():
            mark = machine.marks.owner
            if mark is None or not machine.marks.asks_owner:
                return Answer.NO, f"{owner} would be asked to replace it"
            since = _stood_for(sight, machine, OWNER)
            return Answer.YES, f"{owner} is asked to replace it ({mark.reason}) for {since}"
        case ByAnnotation(answer=answer):
            return (Answer.YES, answer.open.holder) if answer is not None else (Answer.NO, way.other)
        case ByDeletion():
            return Answer.NO, f"it would be deleted, and {owner} makes another"
        case ByNobody(why):
            return Answer.NO, why
        case _:
            assert_never(way)


def _by_template(sight: MachineSight, judged: JudgedMachine) -> tuple[Answer, str]:
    template = judged.target.check.rules.template
    if template is None:
        raise ValueError(f"{judged.target.check.key} has no template")
    kind = template.kind.removesuffix("Template")
    found = sight.view.remedies.kind_of(template)
    if isinstance(found, NotServed):
        return Answer.OPEN, f"{kind} objects cannot be read: {found.why}"
    record = gather.find_remediation(sight.view, judged.target)
    if record is None:
        return Answer.NO, f"a {kind} would be made from the template {template.name}"
    age = spell_seconds((sight.around.now - parse_time(record.created)).total_seconds())
    if judged.target.machine.uid not in record.owners:
        return Answer.NO, f"{record}, for {age}, belongs to something else of that name"
    return Answer.YES, f"{record}, {'ending' if record.deleting else 'open'}, for {age}"


def _stood_for(sight: MachineSight, machine: MachineRecord, type_: str) -> str:
    conditions = sight.listing.wire(key_of(machine)).status.conditions
    since = next((one.last_transition_time for one in conditions if one.type == type_), None)
    return spell_seconds(written_age(since, sight.around.now))
