"""The view and the text of `kubectl mend status`: checks, nodes, Machines, and the last remediations."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final

from nodemend.api import condition_reasons, condition_types, well_known
from nodemend.api.manual_remediation import ManualRemediationPhase
from nodemend.api.meta import Condition, ConditionStatus, find, find_true, written_moment
from nodemend.api.metal3_remediation import Metal3Remediation, Metal3RemediationPhase
from nodemend.api.node_health_check import NodeHealthCheck, PastRemediation
from nodemend.api.remediation_policy import MachineRemediation, RemediationPolicy
from nodemend.cli.cluster import LeaderState, LeaderView, spell_unread, unread_leaders
from nodemend.cli.listing import (
    AnyRemediation,
    Listing,
    MachineListing,
    age_of,
    contradiction_of,
    is_open,
    may_need_a_person,
    node_of,
    unserved,
)
from nodemend.cli.text import align, first_sentence, spell_seconds
from nodemend.guard.state import NOTHING_LEFT, TargetState
from nodemend.records.live_reads import active_pause, policy_facts
from nodemend.rules.request import DRY_RUN_COULD_NOT, DRY_RUN_WOULD
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.guard import closes_at, most_at_once
from nodemend.safety.holds import spell_count


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRow:
    """One Machine whose conditions show that it is unhealthy or under remediation."""

    machine: str
    node: str
    state: str
    for_seconds: float | None
    check: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCheckRow:
    """One check that Nodemend serves.

    `remediating` is None if the checker writes no conditions on Machines.
    """

    name: str
    targets: int
    healthy: int
    remediating: int | None
    allowed: bool | None
    why: str
    overlap: str = ""
    """Machines that the check selects and another check owns."""


@dataclass(frozen=True, slots=True)
class MachinesShown:
    checks: tuple[MachineCheckRow, ...] = ()
    machines: tuple[MachineRow, ...] = ()
    untold: int = 0
    """Number of further Machines that are unhealthy by their checks' counts, without conditions on them."""


SHOWN_OF_PAST: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRow:
    """One remediation that ended, of a node or of machine/NAMESPACE/NAME.

    Times are in seconds, None if the written time is invalid.
    """

    node: str
    kind: str
    outcome: str
    ended_ago: float | None
    took: float | None
    check: str
    ordered_by: str


def past_rows(
    checks: Sequence[NodeHealthCheck], policy: RemediationPolicy | None, now: datetime
) -> tuple[PastRow, ...]:
    """Collect the past remediations of nodes from their checks, and of Machines from the policy."""
    rows = [
        (one.ended, _past_row(one, one.node, check.metadata.name, one.ordered_by, now))
        for check in checks
        for one in check.status.history
    ]
    rows += [
        (one.ended, _past_row(one, f"machine/{one.machine}", f"mhc/{one.check}", "", now))
        for one in (policy.status.machine_history if policy is not None else ())
        if one.ended
    ]
    newest = sorted(rows, key=lambda found: found[0], reverse=True)[:SHOWN_OF_PAST]
    return tuple(row for _, row in newest)


def _past_row(
    one: PastRemediation | MachineRemediation, target: str, check: str, ordered_by: str, now: datetime
) -> PastRow:
    return PastRow(
        node=target,
        kind=one.kind,
        outcome=one.outcome,
        ended_ago=seconds_between(one.ended, now),
        took=seconds_between(one.began, written_moment(one.ended)),
        check=check,
        ordered_by=ordered_by,
    )


def seconds_between(written: str, end: datetime | None) -> float | None:
    begin = written_moment(written)
    return None if begin is None or end is None else (end - begin).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    """The RemediationPolicy.

    `mode` is empty if it is missing, or if `unread` has the reason why it is unreadable.
    """

    mode: str
    max_concurrent: int
    paused: bool
    paused_by: str = ""
    pause_reason: str = ""
    pause_until: str = ""
    """Time at which the pause ends by itself; empty if a user must end it."""
    targets: int = 0
    unhealthy: int = 0
    closes_at: int = 0
    """Number of unhealthy nodes at which the guard closes for the whole cluster."""
    storm_state: str = condition_reasons.NO_STORM
    """Storm state: inactive, active, or cooldown after a storm."""
    unread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One check by its own status. `allowed` is None until the checker has reported it."""

    name: str
    targets: int
    healthy: int
    remediating: int
    allowed: bool | None
    why: str
    paused: str = ""
    """End, author and reason of the pause; empty if the check is not paused."""
    overlap: str = ""
    """Nodes that the check selects and another check owns."""
    stalled: str = ""
    """Reason that prevents the check from acting on any failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One node that is not simply healthy. `for_seconds` is the age of its remediation.

    A recovery of the node has a separate row.
    """

    node: str
    state: str
    for_seconds: float | None
    check: str
    why: str
    host: str = ""
    """The host of the node's power cycle; empty for other remediations."""
    failed: bool = False
    """The remediation has failed permanently; `why` says what an operator must do."""
    recovering: bool = False
    """The row describes the recovery after a remediation, not the node's health."""
    may_need_a_person: bool = False
    """The remediation may never continue by itself; `why` says what an operator must do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusView:
    kind: ClassVar[str] = "Status"
    policy: PolicyView
    leaders: tuple[LeaderView, ...]
    checks: tuple[CheckRow, ...]
    nodes: tuple[NodeRow, ...]
    unread: tuple[str, ...]
    """Objects that could not be read, as sentences. Nothing about them is reported as healthy."""
    nodes_untold: int = 0
    """Number of further unhealthy nodes, by the counts of the guard or of the checks."""
    past: tuple[PastRow, ...] = ()
    """The last few remediations that ended, the newest first."""
    machine_checks: tuple[MachineCheckRow, ...] = ()
    machines: tuple[MachineRow, ...] = ()
    machines_untold: int = 0
    """Number of further unhealthy Machines without conditions on them."""

    @property
    def led(self) -> bool:
        """True if every controller has a live leader or if that is unknown; `unread` then has the reason."""
        return not any(leader.absent for leader in self.leaders)

    @property
    def healthy(self) -> bool:
        """True if every source was read and none reports an unhealthy node."""
        return not self.nodes and not self.unread and not self.nodes_untold


def status_view(
    policy: ReadResult[RemediationPolicy],
    leaders: Iterable[LeaderView],
    checks: Present[list[NodeHealthCheck]] | Unreadable,
    remediations: Listing,
    machines: MachineListing | Unreadable,
    now: datetime,
) -> StatusView:
    known_checks = checks.value if isinstance(checks, Present) else []
    shown = _machines(machines, now)
    leaders, policy_view = tuple(leaders), _policy(policy, now)
    nodes = _nodes(known_checks, remediations.visible, now)
    looked_at = {
        "The RemediationPolicy": policy,
        "Health checks": checks,
        **remediations.by_kind,
        "Machines": machines,
    }
    return StatusView(
        policy=policy_view,
        leaders=leaders,
        checks=tuple(_check(check, now) for check in sorted(known_checks, key=lambda one: one.metadata.name)),
        nodes=nodes,
        nodes_untold=_nodes_untold(policy_view, known_checks, nodes),
        past=past_rows(known_checks, policy.value if isinstance(policy, Present) else None, now),
        machine_checks=shown.checks,
        machines=shown.machines,
        machines_untold=shown.untold,
        unread=(*spell_unread(looked_at), *unread_leaders(leaders)),
    )


def _machines(machines: MachineListing | Unreadable, now: datetime) -> MachinesShown:
    if isinstance(machines, Unreadable) or not machines.checks:
        return MachinesShown()
    # Imported here because most clusters have no Machines and this import is half of the startup time.
    from nodemend.cli.status.machines import show_machines  # noqa: PLC0415

    return show_machines(machines, now)


def without_ages(view: StatusView) -> StatusView:
    """Return the view without the fields that change with time alone."""
    return replace(
        view,
        leaders=tuple(replace(leader, renewed_ago=None) for leader in view.leaders),
        nodes=tuple(replace(node, for_seconds=None) for node in view.nodes),
        machines=tuple(replace(machine, for_seconds=None) for machine in view.machines),
        past=tuple(replace(row, ended_ago=None) for row in view.past),
    )


def _policy(policy: ReadResult[RemediationPolicy], now: datetime) -> PolicyView:
    match policy:
        case Present(found):
            facts, status = policy_facts(found, now), found.status
            storm = find(status.conditions, condition_types.STORM)
            return PolicyView(
                mode=facts.mode,
                max_concurrent=most_at_once(facts, status.targets),
                paused=facts.pause is not None,
                paused_by=facts.pause.by if facts.pause else "",
                pause_reason=facts.pause.reason if facts.pause else "",
                pause_until=(found.spec.pause.until or "") if facts.pause and found.spec.pause else "",
                targets=status.targets,
                unhealthy=status.unhealthy,
                closes_at=closes_at(facts, status.targets),
                storm_state=storm.reason if storm else condition_reasons.NO_STORM,
            )
        case Absent():
            return PolicyView(mode="", max_concurrent=0, paused=False)
        case Unreadable(why):
            return PolicyView(mode="", max_concurrent=0, paused=False, unread=why)


def spell_pause(by: str, reason: str, until: str) -> str:
    return f"{f'until {until}' if until else 'until a user resumes'}, by {by or 'an unknown user'}: {reason}"


def _check(check: NodeHealthCheck, now: datetime) -> CheckRow:
    pause = active_pause(check.spec.pause, now)
    said = find(check.status.conditions, condition_types.REMEDIATION_ALLOWED)
    overlap, stalled = (
        find_true(check.status.conditions, type_)
        for type_ in (condition_types.OVERLAPPING, condition_types.STALLED)
    )
    return CheckRow(
        name=check.metadata.name,
        targets=check.status.targets,
        healthy=check.status.healthy,
        remediating=check.status.remediating,
        allowed=None if said is None else said.status is ConditionStatus.TRUE,
        why="the checker has not reported yet" if said is None else first_sentence(said.message),
        paused=spell_pause(pause.by, pause.reason, pause.until or "") if pause is not None else "",
        overlap=overlap.message if overlap is not None else "",
        stalled=_stalled(stalled, overlap),
    )


def _stalled(stalled: Condition | None, overlap: Condition | None) -> str:
    """Return why the check cannot act. If other checks own all its nodes, the overlap's message says why."""
    if stalled is None:
        return ""
    return overlap.message if overlap is not None and stalled.message == NOTHING_LEFT else stalled.message


_DRY_RUN: Final = re.compile(rf" ((?:{re.escape(DRY_RUN_WOULD)}|{re.escape(DRY_RUN_COULD_NOT)})\b.*)")


def _why_held(message: str) -> str:
    """Return the first sentence.

    In a dry run, that of the planned action: the mode is already shown above.
    """
    reported = _DRY_RUN.search(message)
    return first_sentence(reported[1] if reported else message)


def _nodes(
    checks: Sequence[NodeHealthCheck], remediations: Sequence[AnyRemediation], now: datetime
) -> tuple[NodeRow, ...]:
    """Build the rows.

    A node with an open remediation gets its row from that, which has more details than the report. A node
    that is reported as healthy, because its remediation has only just ended, gets none.
    """
    rows = [_remediating(found, now) for found in remediations if is_open(found)]
    known = {row.node for row in rows}
    rows += [
        NodeRow(
            node=report.name,
            state=report.verdict,
            for_seconds=None,
            check=check.metadata.name,
            why=_why_held(report.message),
        )
        for check in checks
        for report in check.status.reports
        if report.name not in known and report.verdict != TargetState.HEALTHY
    ]
    rows += [
        NodeRow(
            node=recovery.node,
            state=f"Recovery{recovery.phase}",
            recovering=True,
            for_seconds=seconds_between(recovery.since, now),
            check=check.metadata.name,
            why=first_sentence(recovery.message),
        )
        for check in checks
        for recovery in check.status.recoveries
    ]
    return tuple(sorted(rows, key=lambda row: row.node))


def _nodes_untold(policy: PolicyView, checks: Sequence[NodeHealthCheck], nodes: Sequence[NodeRow]) -> int:
    """Number of unhealthy nodes without a row.

    The checker writes each status at a different time and reports only the worst nodes, so the counts may be
    higher than the number of rows.
    """
    sick = max(policy.unhealthy, sum(check.status.targets - check.status.healthy for check in checks))
    return max(0, sick - len({row.node for row in nodes if not row.recovering}))


def _remediating(remediation: AnyRemediation, now: datetime) -> NodeRow:
    metadata, status = remediation.metadata, remediation.status
    host = remediation.status.host if isinstance(remediation, Metal3Remediation) else None
    failed, stuck = status.phase is Metal3RemediationPhase.FAILED, may_need_a_person(remediation)
    unserved_reason, twice = unserved(remediation, now), contradiction_of(remediation)
    state = "Ending" if metadata.deleting else status.phase
    why = status.message if failed or stuck else first_sentence(status.message)
    if unserved_reason is not None:
        state, why = unserved_reason.reason, unserved_reason.explain().sentence
    elif twice is not None:
        state, why = Metal3RemediationPhase.CONTRADICTED.capitalize(), twice.message
    return NodeRow(
        node=node_of(remediation),
        state=state,
        for_seconds=age_of(metadata.creation_timestamp, now),
        check=metadata.labels.get(well_known.CHECK, ""),
        why=why,
        host=str(host or ""),
        failed=failed,
        may_need_a_person=stuck or unserved_reason is not None,
    )


_SAID: Final = {True: "yes", False: "no", None: "unknown"}


def render(view: StatusView) -> Iterator[str]:
    yield f"Mode      {_mode(view.policy)}"
    yield f"Paused    {_pause(view.policy)}"
    for check in view.checks:
        if check.paused:
            yield f"{'':<10}nhc/{check.name}: {check.paused}"
    if view.policy.mode:
        yield f"Guard     {_guard(view.policy)}"
    for number, leader in enumerate(view.leaders):
        unknown = leader.state is LeaderState.UNKNOWN
        said = f"{leader.component}: cannot be read" if unknown else leader.sentence
        yield f"{'Leaders' if number == 0 else '':<10}{said}"
    yield ""
    yield from _checks(view)
    yield ""
    yield from _node_lines(view)
    yield from _machine_lines(view)
    yield from _past(view)
    for unread in view.unread:
        yield f"Warning: {unread}"
    yield f"Next: {_next_step(view)}"


def _mode(policy: PolicyView) -> str:
    if policy.unread:
        return "cannot be read"
    match policy.mode:
        case "Act":
            return f"Act: at most {spell_count(policy.max_concurrent, 'node')} under remediation at once"
        case "DryRun":
            return "DryRun: nothing is remediated, only reported"
        case _:
            return "DryRun, as there is no RemediationPolicy: nothing is remediated, only reported"


def _pause(policy: PolicyView) -> str:
    if policy.unread:
        return "cannot be read"
    if not policy.paused:
        return "no"
    return spell_pause(policy.paused_by, policy.pause_reason, policy.pause_until)


def _guard(policy: PolicyView) -> str:
    said = f"{policy.unhealthy} of {spell_count(policy.targets, 'node')} not healthy"
    match policy.storm_state:
        case condition_reasons.STORM_ACTIVE:
            return f"closed: {said}; no remediation starts while this lasts"
        case condition_reasons.COOLING_DOWN:
            return f"cooling down after a storm: {said}; no remediation starts yet"
        case _:
            return f"no storm: {said}; it closes at {policy.closes_at}"


def _checks(view: StatusView) -> Iterator[str]:
    if not view.checks and not view.machine_checks:
        yield "The watched nodes are unknown." if view.unread else "There is no health check."
        return
    rows = [("CHECK", "TARGETS", "HEALTHY", "REMEDIATING", "MAY-BEGIN", "WHY-NOT")]
    for check in view.checks:
        counts = (str(check.targets), str(check.healthy), str(check.remediating))
        rows.append((check.name, *counts, _SAID[check.allowed], check.why))
    for served in view.machine_checks:
        in_progress = "-" if served.remediating is None else str(served.remediating)
        counts = (str(served.targets), str(served.healthy), in_progress)
        rows.append((f"mhc/{served.name}", *counts, _SAID[served.allowed], served.why))
    yield from align(rows)
    for check in view.checks:
        for said in dict.fromkeys((check.stalled, check.overlap)):
            if said:
                yield f"Warning: nhc/{check.name}: {said}"
    for served in view.machine_checks:
        if served.overlap:
            yield f"Warning: mhc/{served.name}: {served.overlap}"


def _node_lines(view: StatusView) -> Iterator[str]:
    if view.nodes:
        yield from _node_rows(view)
    if view.nodes_untold:
        more = "more " if view.nodes else ""
        said = spell_count(view.nodes_untold, f"{more}node is", f"{more}nodes are")
        yield f"{said} not healthy by the counts above; no check reports which."
    elif view.unread and not view.nodes:
        yield "Whether the nodes are healthy is not known: not everything could be read."
    elif view.healthy and view.checks:
        yield "Every watched node is healthy."
    elif view.healthy and not view.machine_checks:
        yield "No node is watched."


def _node_rows(view: StatusView) -> Iterator[str]:
    rows = [("NODE", "STATE", "FOR", "CHECK", "WHY")]
    for node in view.nodes:
        age = "-" if node.for_seconds is None else spell_seconds(node.for_seconds)
        rows.append((node.node, node.state, age, node.check, _why(node)))
    yield from align(rows)


def _why(node: NodeRow) -> str:
    return ": ".join(part for part in (f"host {node.host}" if node.host else "", node.why) if part)


def _machine_lines(view: StatusView) -> Iterator[str]:
    if not view.machine_checks:
        return
    if view.nodes or view.checks:
        yield ""
    if view.machines:
        rows = [("MACHINE", "NODE", "STATE", "FOR", "CHECK", "WHY")]
        for row in view.machines:
            age = "-" if row.for_seconds is None else spell_seconds(row.for_seconds)
            rows.append((row.machine, row.node or "-", row.state, age, row.check, row.why))
        yield from align(rows)
    if view.machines_untold:
        more = spell_count(view.machines_untold, "Machine is", "Machines are")
        yield f"{more} not healthy by the counts above, with nothing written on them."
    elif not view.machines and not view.unread:
        yield "Every watched Machine is healthy."


def _past(view: StatusView) -> Iterator[str]:
    if not view.past:
        return
    yield ""
    rows = [("LAST", "OUTCOME", "ENDED", "TOOK", "KIND", "CHECK", "ORDERED-BY")]
    for past in view.past:
        ended = "-" if past.ended_ago is None else f"{spell_seconds(past.ended_ago)} ago"
        took = "-" if past.took is None else spell_seconds(past.took)
        rows.append((past.node, past.outcome, ended, took, past.kind, past.check, past.ordered_by or "-"))
    yield from align(rows)


def _next_step(view: StatusView) -> str:
    if not view.led or view.unread:
        return "kubectl mend check"
    waiting = [
        node
        for node in view.nodes
        if node.failed
        or node.may_need_a_person
        or node.state == ManualRemediationPhase.WAITING_FOR_CONFIRMATION
    ]
    if special := (waiting or view.nodes):
        return f"kubectl mend explain {special[0].node}"
    if view.machines:
        namespace, _, name = view.machines[0].machine.partition("/")
        return f"kubectl mend explain machine/{name} -n {namespace}"
    if any(check.stalled or check.overlap for check in view.checks):
        return "kubectl mend check"
    if view.nodes_untold:
        return "kubectl mend status"
    if view.policy.paused:
        return "kubectl mend resume"
    return "nothing"
