"""What people should hear of recoveries, from what was written of them and what is now."""

from collections.abc import Iterator
from dataclasses import dataclass

from nodemend.api.node_health_check import RecoveryPhase, RecoveryReport
from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EventReason

_TOLD = {
    RecoveryPhase.RUNNING: event_reasons.RECOVERY_STARTED,
    RecoveryPhase.SUCCEEDED: event_reasons.RECOVERY_SUCCEEDED,
    RecoveryPhase.FAILED: event_reasons.RECOVERY_FAILED,
    RecoveryPhase.OVERDUE: event_reasons.RECOVERY_FAILED,
}
_BEFORE_IT_BEGAN = (None, RecoveryPhase.OWED)


@dataclass(frozen=True, slots=True)
class RecoveryNews:
    """About one Node, by name and UID."""

    name: str
    uid: str
    reason: EventReason
    note: str


def recovery_news(
    before: tuple[RecoveryReport, ...], now: tuple[RecoveryReport, ...]
) -> Iterator[RecoveryNews]:
    known = {one.node_uid: one for one in before}
    for report in now:
        past = known.pop(report.node_uid, None)
        was = past.phase if past is not None else None
        if report.phase is RecoveryPhase.OWED and was not in _BEFORE_IT_BEGAN:
            note = "The recovery gives way to a remediation, and begins anew when the node is well."
            yield RecoveryNews(report.node, report.node_uid, event_reasons.RECOVERY_WITHDRAWN, note)
        elif report.phase in _TOLD and report.phase is not was:
            yield RecoveryNews(report.node, report.node_uid, _TOLD[report.phase], report.message)
    for gone in known.values():
        if gone.phase is not RecoveryPhase.SUCCEEDED:
            note = f"The recovery, which was {gone.phase}, is gone before it succeeded."
            yield RecoveryNews(gone.node, gone.node_uid, event_reasons.RECOVERY_WITHDRAWN, note)
