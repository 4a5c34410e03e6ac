"""What `kubectl mend pause` and `resume` say."""

from collections.abc import Iterable
from dataclasses import dataclass

from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.pause import Pause
from nodemend.api.self_remediation import SelfRemediation
from nodemend.cli.pause.writing import Change
from nodemend.cli.remediations import Remediation, node_of


@dataclass(frozen=True, slots=True, kw_only=True)
class GoingOn:
    """A remediation that is open during the pause, and what becomes of it meanwhile."""

    node: str
    phase: str
    meanwhile: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedView:
    check: str
    """Which check is paused; empty for the whole cluster."""
    by: str
    reason: str
    until: str
    """When it ends by itself; empty when somebody must end it."""
    before_by: str
    before_reason: str
    before_until: str
    """Of the pause that stood; empty where there was none, or without an end."""
    created_policy: bool
    going_on: tuple[GoingOn, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedView:
    """`was_paused` is False when there was nothing to end."""

    check: str
    was_paused: bool
    by: str
    reason: str
    dry_run: bool


def paused_view(
    pause: Pause,
    change: Change,
    remediations: Iterable[Remediation],
    *,
    check: str = "",
    dry_run: bool,
) -> PausedView:
    return PausedView(
        check=check,
        by=pause.by,
        reason=pause.reason,
        until=pause.until or "",
        before_by=change.before.by if change.before else "",
        before_reason=change.before.reason if change.before else "",
        before_until=(change.before.until or "") if change.before else "",
        created_policy=change.created,
        going_on=tuple(
            GoingOn(
                node=node_of(found),
                phase=found.status.phase,
                meanwhile="goes on" if check else _meanwhile(found),
            )
            for found in remediations
        ),
        dry_run=dry_run,
    )


def resumed_view(change: Change, *, check: str = "", dry_run: bool) -> ResumedView:
    return ResumedView(
        check=check,
        was_paused=change.before is not None,
        by=change.before.by if change.before else "",
        reason=change.before.reason if change.before else "",
        dry_run=dry_run,
    )


def _meanwhile(remediation: Remediation) -> str:
    """As decide/ has it: a pause stops a release from beginning, never one that has begun."""
    status = remediation.status
    if remediation.metadata.deleting:
        return "goes on ending"
    if status.released:
        return "goes on waiting for the node to come back"
    if status.evidence is not None:
        return "finishes a release that has begun, and begins none"
    if isinstance(remediation, ManualRemediation):
        return "waits; nothing is released on anybody's word"
    if isinstance(remediation, SelfRemediation):
        return "asks no node to reset itself and releases nothing; one that was asked already may reset"
    return "switches no host off and releases nothing; a host that is held off already stays so"
