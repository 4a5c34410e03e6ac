"""Text output of `kubectl mend status`."""

from collections.abc import Iterator
from typing import Final

from nodemend.api import condition_reasons
from nodemend.api.manual_remediation import ManualRemediationPhase
from nodemend.cli.cluster import LeaderState
from nodemend.cli.status.view import NodeRow, PolicyView, StatusView, spell_pause
from nodemend.cli.text import align, spell_seconds
from nodemend.safety.holds import spell_count

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
    yield from _nodes(view)
    yield from _machines(view)
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
            return "DryRun: nothing is remediated, only told"
        case _:
            return "DryRun, as there is no RemediationPolicy: nothing is remediated, only told"


def _pause(policy: PolicyView) -> str:
    if policy.unread:
        return "cannot be read"
    if not policy.paused:
        return "no"
    return spell_pause(policy.paused_by, policy.pause_reason, policy.pause_until)


def _guard(policy: PolicyView) -> str:
    said = f"{policy.unhealthy} of {spell_count(policy.targets, 'node')} not healthy"
    match policy.weather:
        case condition_reasons.RAGING:
            return f"closed: {said}; nothing begins while it is so"
        case condition_reasons.SETTLING:
            return f"settling after a storm: {said}; nothing begins yet"
        case _:
            return f"open: {said}; it closes at {policy.closes_at}"


def _checks(view: StatusView) -> Iterator[str]:
    if not view.checks and not view.machine_checks:
        yield "Which nodes are watched could not be read." if view.unread else "There is no health check."
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


def _nodes(view: StatusView) -> Iterator[str]:
    if view.nodes:
        yield from _node_rows(view)
    if view.nodes_untold:
        more = "more " if view.nodes else ""
        said = spell_count(view.nodes_untold, f"{more}node is", f"{more}nodes are")
        yield f"{said} not healthy by the counts above; no check has told which."
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


def _machines(view: StatusView) -> Iterator[str]:
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
