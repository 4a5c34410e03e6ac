"""Conditions as the kinds of other projects spell them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nodemend.api.conditions import ConditionStatus
from nodemend.decide.machine_marks import Mark, Marks
from nodemend.kube.machine_dialect import ConditionForm, Dialect
from nodemend.kube.machine_record import OUR_MARKS

Shown = Mapping[str, Any]


def spell(mark: Mark, type_: str, dialect: Dialect, shown: Shown | None, now: str) -> dict[str, Any]:
    """One condition. Its time is that of the one shown before, while the status is the same."""
    same = shown is not None and shown.get("status") == mark.status
    since = shown["lastTransitionTime"] if same and shown is not None else now
    reason = dialect.reasons.get(mark.reason, mark.reason)
    condition = {"type": type_, "status": str(mark.status), "lastTransitionTime": since}
    match dialect.form:
        case ConditionForm.STANDARD:
            return condition | {"reason": reason, "message": mark.message}
        case ConditionForm.OLD:
            severity = {"severity": "Warning"} if mark.status is ConditionStatus.FALSE else {}
            told = {"reason": reason, "message": mark.message}
            return condition | severity | {key: value for key, value in told.items() if value}


def with_marks(conditions: Sequence[Shown], marks: Marks, dialect: Dialect, now: str) -> list[dict[str, Any]]:
    """Everybody else's conditions as they are, and ours as they should be."""
    wanted = dict(zip(OUR_MARKS, (marks.checked, marks.owner, marks.external), strict=True))
    return replaced(conditions, wanted, dialect, now)


def replaced(
    conditions: Iterable[Shown], wanted: Mapping[str, Mark | None], dialect: Dialect, now: str
) -> list[dict[str, Any]]:
    """The same list, with these conditions set where there is a mark, and taken out where there is none."""
    before = {one["type"]: one for one in conditions}
    kept = [dict(one) for type_, one in before.items() if type_ not in wanted]
    ours = [
        spell(mark, type_, dialect, before.get(type_), now)
        for type_, mark in wanted.items()
        if mark is not None
    ]
    return kept + ours
