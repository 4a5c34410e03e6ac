"""What `kubectl mend status` shows."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from nodemend.api import keys
from nodemend.api.conditions import Condition, ConditionStatus, find, find_true
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.power_cycle import Metal3Remediation, Phase
from nodemend.api.remediation_policy import STORM, RemediationPolicy
from nodemend.cli.leaders import LeaderState, LeaderView, unread_leaders
from nodemend.cli.listed_machines import MachineListing
from nodemend.cli.remediations import (
    Listing,
    Remediation,
    contradiction_of,
    is_open,
    may_need_a_person,
    node_of,
    unserved,
)
from nodemend.cli.status.machine_rows import MachineCheckRow, MachineRow, MachinesShown
from nodemend.cli.status.past import PastRow, past_rows, seconds_between
from nodemend.cli.words import first_sentence
from nodemend.cli.written_ages import age_of
from nodemend.controllers.checking.overlaps import CONDITION, NOTHING_LEFT
from nodemend.controllers.fresh_reads import policy_facts
from nodemend.controllers.pauses import in_force
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.hold_explanations import explain
from nodemend.decide.storm_guard import closes_at, most_at_once


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    """`mode` is empty when there is no policy, or when it cannot be read, which `unread` then says."""

    mode: str
    max_concurrent: int
    paused: bool
    paused_by: str = ""
    pause_reason: str = ""
    pause_until: str = ""
    """When it ends by itself; empty when somebody must end it."""
    targets: int = 0
    unhealthy: int = 0
    closes_at: int = 0
    """So many unhealthy close the guard for the whole cluster."""
    weather: str = "Calm"
    """Calm, Raging, or Settling after a storm."""
    unread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One check by its own status. `allowed` is None until the checker has said so."""

    name: str
    targets: int
    healthy: int
    remediating: int
    allowed: bool | None
    why: str
    paused: str = ""
    """Until when, by whom and why; empty where it is not paused."""
    overlap: str = ""
    """Which nodes that it selects are another check's."""
    stalled: str = ""
    """Why it could not act whatever failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One node that is not simply healthy. `for_seconds` is the age of its remediation.

    A node with a recovery has a row for that.
    """

    node: str
    state: str
    for_seconds: float | None
    check: str
    why: str
    host: str = ""
    """The host that is switched off and on, where that is how the node is healed."""
    failed: bool = False
    """Its remediation has given up; `why` says what a person should do."""
    recovering: bool = False
    """The row is about what a remediation left to be undone, and not about the node's health."""
    may_need_a_person: bool = False
    """Its remediation may never get on alone; `why` says what a person should do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusView:
    policy: PolicyView
    leaders: tuple[LeaderView, ...]
    checks: tuple[CheckRow, ...]
    nodes: tuple[NodeRow, ...]
    unread: tuple[str, ...]
    """What could not be read, as sentences. Of that nothing is known, and nothing is said to be well."""
    nodes_untold: int = 0
    """So many more nodes are not healthy, by the counts of the guard or of their checks."""
    past: tuple[PastRow, ...] = ()
    """The last few remediations that have ended, the newest first."""
    machine_checks: tuple[MachineCheckRow, ...] = ()
    machines: tuple[MachineRow, ...] = ()
    machines_untold: int = 0
    """So many more Machines are not healthy, and nothing is written on them."""

    @property
    def led(self) -> bool:
        """Whether every controller lives. Of whom it cannot be told, `unread` says so."""
        return all(leader.state in (LeaderState.ALIVE, LeaderState.UNKNOWN) for leader in self.leaders)

    @property
    def healthy(self) -> bool:
        """Whether every watched node is, as everything says that could tell otherwise."""
        return not self.nodes and not self.unread and not self.nodes_untold


def status_view(
    policy: Seen[RemediationPolicy],
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
        unread=(*_unread(policy, checks, remediations, machines), *unread_leaders(leaders)),
    )


def _unread(
    policy: Seen[RemediationPolicy],
    checks: Seen[list[NodeHealthCheck]],
    remediations: Listing,
    machines: MachineListing | Unreadable,
) -> Iterator[str]:
    looked_at = (
        ("The RemediationPolicy", policy),
        ("Health checks", checks),
        ("ManualRemediations", remediations.manual),
        ("Metal3Remediations", remediations.power),
        ("SelfRemediations", remediations.by_itself),
        ("Machines", machines),
    )
    for what, fact in looked_at:
        if isinstance(fact, Unreadable):
            yield f"{what} cannot be read: {fact.why}."


def _machines(machines: MachineListing | Unreadable, now: datetime) -> MachinesShown:
    if isinstance(machines, Unreadable) or not machines.checks:
        return MachinesShown()
    # Most clusters have none, and what judges them is half of a start.
    from nodemend.cli.status.machines import show_machines  # noqa: PLC0415

    return show_machines(machines, now)


def without_ages(view: StatusView) -> StatusView:
    """What of it does not change by time alone."""
    return replace(
        view,
        leaders=tuple(replace(leader, renewed_ago=None) for leader in view.leaders),
        nodes=tuple(replace(node, for_seconds=None) for node in view.nodes),
        machines=tuple(replace(machine, for_seconds=None) for machine in view.machines),
        past=tuple(replace(row, ended_ago=None) for row in view.past),
    )


def _policy(policy: Seen[RemediationPolicy], now: datetime) -> PolicyView:
    match policy:
        case Present(found):
            facts, status = policy_facts(found, now), found.status
            storm = find(status.conditions, STORM)
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
                weather=storm.reason if storm else "Calm",
            )
        case Absent():
            return PolicyView(mode="", max_concurrent=0, paused=False)
        case Unreadable(why):
            return PolicyView(mode="", max_concurrent=0, paused=False, unread=why)


def spell_pause(by: str, reason: str, until: str) -> str:
    return f"{f'until {until}' if until else 'until somebody resumes'}, by {by or 'somebody'}: {reason}"


def _check(check: NodeHealthCheck, now: datetime) -> CheckRow:
    pause = in_force(check.spec.pause, now)
    said = find(check.status.conditions, "RemediationAllowed")
    overlap, stalled = (find_true(check.status.conditions, type_) for type_ in (CONDITION, "Stalled"))
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
    """Where other checks have all its nodes, what says so says why."""
    if stalled is None:
        return ""
    return overlap.message if overlap is not None and stalled.message == NOTHING_LEFT else stalled.message


def _why_held(message: str) -> str:
    """Of a dry run, what it would do: that it is one is said above."""
    told = re.search(r" (It (?:would|could do nothing)\b.*)", message)
    return first_sentence(told[1] if told else message)


def _nodes(
    checks: Sequence[NodeHealthCheck], remediations: Sequence[Remediation], now: datetime
) -> tuple[NodeRow, ...]:
    """Remediations say more of their node than the check's report does."""
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
        if report.name not in known
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
    """The checker writes each status at its own moment, and names the worst nodes only: the counts may say
    more than the rows."""
    sick = max(policy.unhealthy, sum(check.status.targets - check.status.healthy for check in checks))
    return max(0, sick - len({row.node for row in nodes if not row.recovering}))


def _remediating(remediation: Remediation, now: datetime) -> NodeRow:
    metadata, status = remediation.metadata, remediation.status
    host = remediation.status.host if isinstance(remediation, Metal3Remediation) else None
    failed, stuck = status.phase is Phase.FAILED, may_need_a_person(remediation)
    nobody, twice = unserved(remediation, now), contradiction_of(remediation)
    state = "Ending" if metadata.deleting else status.phase
    why = status.message if failed or stuck else first_sentence(status.message)
    if nobody is not None:
        state, why = type(nobody).__name__, explain(nobody).sentence
    elif twice is not None:
        state, why = Phase.CONTRADICTED.capitalize(), twice.message
    return NodeRow(
        node=node_of(remediation),
        state=state,
        for_seconds=age_of(metadata.creation_timestamp, now),
        check=metadata.labels.get(keys.CHECK, ""),
        why=why,
        host=str(host or ""),
        failed=failed,
        may_need_a_person=stuck or nobody is not None,
    )
