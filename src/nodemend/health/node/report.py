"""The status of a NodeHealthCheck and of the policy, with history, which users and the next leader read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import msgspec

from nodemend.api import condition_reasons, condition_types, well_known
from nodemend.api.meta import Condition, ConditionStatus, find, find_true, merged, print_time
from nodemend.api.node_health_check import (
    HowEnded,
    NodeHealthCheck,
    NodeHealthCheckStatus,
    PastRemediation,
    RecoveryPhase,
    RecoveryReport,
    TargetReport,
)
from nodemend.api.remediation_policy import Mode, RemediationPolicy, RemediationPolicyStatus
from nodemend.guard import state
from nodemend.guard.evaluator import Clocks, GuardEvaluator
from nodemend.guard.state import (
    CheckCounts,
    TargetIndex,
    TargetState,
    limit_usage_of_check,
    limit_usages_of_cluster,
)
from nodemend.health.conditions import CompletedRemediation, CompletedRemediations
from nodemend.health.creation import Writer
from nodemend.health.node import preflight
from nodemend.health.node.events import NodeHealthCheckRecorder, reference_to_check
from nodemend.health.node.targets import NodeView, anybody_under
from nodemend.health.node.tracker import RecoveryTracker
from nodemend.health.reporting import WHILE_WAITING, HoldReminders, after_report
from nodemend.kube.controller import Done, Outcome, RequeueAfter
from nodemend.records.live_reads import BoundedMap, active_pause
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.request import Unserved
from nodemend.safety.facts import Present
from nodemend.safety.guard import Allowed, HealthCounts
from nodemend.safety.guard_holds import CheckDryRun, DryRun, Paused, PolicyProblem
from nodemend.safety.holds import Hold, HoldReason, spell_count
from nodemend.safety.limits import LimitSemantics, can_never_act, parse_comparison

KEPT: Final = 20


@dataclass(eq=False, slots=True)
class History:
    """Outcomes that one leader term observed. Entries already in the status stay as they are written."""

    completed: CompletedRemediations
    target_index: TargetIndex
    _expected: BoundedMap[str, HowEnded] = field(default_factory=BoundedMap)
    _reported: BoundedMap[str, PastRemediation] = field(default_factory=BoundedMap)

    def expect(self, record: RemediationRecord, how: HowEnded) -> None:
        """Record the outcome before the deletion is sent: the result of the write may never be known."""
        self._expected.keep(record.uid, how)

    def of(self, check: NodeHealthCheck) -> tuple[PastRemediation, ...]:
        """Return the newest `KEPT` entries, newest first.

        The cached status may lag behind the last write, so entries reported in this term are merged in.
        """
        past = {_key(one): one for one in check.status.history}
        for ending in self.completed.of_check(check.metadata.uid):
            reported = self._tell(ending, check)
            past.setdefault(_key(reported), reported)
        return tuple(sorted(past.values(), key=lambda one: one.ended, reverse=True)[:KEPT])

    def _tell(self, ending: CompletedRemediation, check: NodeHealthCheck) -> PastRemediation:
        """Return the entry of an ended remediation; the first result is kept, so every report is equal."""
        record = ending.record
        known = self._reported.find(record.uid)
        if known is not None:
            return known
        reported = PastRemediation(
            node=record.name,
            kind=record.resource.kind,
            began=record.created,
            ended=ending.at,
            outcome=self._outcome(ending, check),
            ordered_by=record.annotations.get(well_known.ORDERED_BY, ""),
        )
        self._reported.keep(record.uid, reported)
        return reported

    def _outcome(self, ending: CompletedRemediation, check: NodeHealthCheck) -> HowEnded:
        record = ending.record
        if record.contradicted:
            # Contradicted wins over every other outcome: workloads may have run twice, even if the node is
            # healthy again.
            return HowEnded.CONTRADICTED
        expected = self._expected.find(record.uid)
        if expected is not None:
            return expected
        if ending.with_node:
            return HowEnded.GONE
        if record.recovers:
            done = record.says(condition_types.SUCCEEDED) == ConditionStatus.TRUE
            return HowEnded.RECOVERED if done else HowEnded.WITHDRAWN
        # The last leader or a user may have deleted it. The node's escalation step and its health show
        # whether it was escalated, healed or withdrawn.
        stands = self.target_index.find(record.name)
        if stands is not None and stands.remedy > _remedy_number(check, record):
            return HowEnded.ESCALATED
        well = stands is not None and stands.state is TargetState.HEALTHY
        succeeded = record.says(condition_types.SUCCEEDED) == ConditionStatus.TRUE
        return HowEnded.HEALED if well or succeeded else HowEnded.WITHDRAWN


def _remedy_number(check: NodeHealthCheck, record: RemediationRecord) -> int:
    """Return the remedy it was made from, counted from 1; one past the last if the check names none."""
    made_from = (record.resource.api_version, f"{record.resource.kind}Template", record.namespace)
    templates = [remedy.template for remedy in check.spec.remedies]
    named = [(template.api_version, template.kind, template.namespace) for template in templates]
    return named.index(made_from) + 1 if made_from in named else len(named) + 1


def _key(past: PastRemediation) -> tuple[str, str, str]:
    return past.node, past.kind, past.began


MOST_REPORTS = 50
MOST_NAMED: Final = 5
_NEVER: Final = "With this maxUnhealthy one unhealthy node is already too many: nothing is ever remediated."


_Fact = tuple[str, bool, str, str]
"""A condition: its type, if it holds, its reason and its message."""


def status_of(  # noqa: PLR0913 - the inputs of one status
    check: NodeHealthCheck,
    counts: CheckCounts,
    guarded: Allowed | Hold,
    *,
    unusable: str,
    left: Mapping[str, int],
    history: tuple[PastRemediation, ...],
    recoveries: tuple[RecoveryReport, ...],
    now: str,
) -> NodeHealthCheckStatus:
    """Return the status of a check.

    `unusable` says what is wrong with its remedies; empty if they are usable. `left` is the number of
    selected nodes that another check owns, by the name of that check.
    """
    facts = (
        *_conditions(counts, guarded, *_stall(check, counts, unusable, left)),
        *_overlap_condition(check, counts, left),
        *_recovery_condition(check, recoveries),
    )
    generation = check.metadata.generation
    return NodeHealthCheckStatus(
        observed_generation=generation,
        targets=_watched(counts),
        healthy=counts.count(TargetState.HEALTHY),
        remediating=counts.count(TargetState.REMEDIATING),
        reports=tuple(
            TargetReport(name=name, verdict=entry.state, message=entry.message, remedy=entry.remedy)
            for name, entry in counts.worst(MOST_REPORTS)
        ),
        history=history,
        recoveries=recoveries,
        conditions=merged(check.status.conditions, _as_conditions(facts, generation, now)),
    )


def _watched(counts: CheckCounts) -> int:
    """Return the number of targets that exist. The guard's counts include some that were deleted."""
    return len(counts) - counts.count(TargetState.DELETED)


def policy_status(
    policy: RemediationPolicy,
    health_counts: HealthCounts,
    storm_state: str,
    problem: PolicyProblem | None,
    wall: datetime,
) -> RemediationPolicyStatus:
    paused = active_pause(policy.spec.pause, wall) is not None
    acting = policy.spec.mode is Mode.ACT
    facts: tuple[_Fact, ...] = (
        _fact(condition_types.DRY_RUN, not acting, condition_reasons.DRY_RUN, condition_reasons.ACTING),
        _fact(condition_types.PAUSED, paused, condition_reasons.PAUSED, condition_reasons.NOT_PAUSED),
        _fact(condition_types.STORM, bool(storm_state), storm_state, condition_reasons.NO_STORM),
    )
    if problem is not None:
        facts += ((condition_types.ADMISSION_POLICY_UNPROVEN, True, problem.reason, str(problem.explain())),)
    elif find(policy.status.conditions, condition_types.ADMISSION_POLICY_UNPROVEN) is not None:
        facts += ((condition_types.ADMISSION_POLICY_UNPROVEN, False, condition_reasons.PROVEN, ""),)
    return RemediationPolicyStatus(
        observed_generation=policy.metadata.generation,
        targets=health_counts.total,
        unhealthy=health_counts.unhealthy,
        remediating=health_counts.remediating,
        conditions=merged(
            policy.status.conditions, _as_conditions(facts, policy.metadata.generation, print_time(wall))
        ),
    )


def _fact(type_: str, holds: bool, reason: str, otherwise: str, message: str = "") -> _Fact:
    return type_, holds, reason if holds else otherwise, message


def _conditions(counts: CheckCounts, guarded: Allowed | Hold, stalled: str, stall: str) -> tuple[_Fact, ...]:
    held = guarded.reason if isinstance(guarded, Hold) else None
    why = held.reason if held else condition_reasons.ALLOWED
    watched = f"{_watched(counts)} nodes are watched."
    return (
        # A check that cannot act is not Ready, even if it watches nodes.
        _fact(condition_types.READY, not stall, condition_reasons.WATCHING, stalled, stall or watched),
        (condition_types.STALLED, bool(stall), stalled, stall),
        (condition_types.REMEDIATION_ALLOWED, held is None, why, str(held.explain()) if held else ""),
        _fact(condition_types.PAUSED, isinstance(held, Paused), why, condition_reasons.NOT_PAUSED),
        (condition_types.DRY_RUN, *_dry_run(held, counts)),
    )


def _overlap_condition(
    check: NodeHealthCheck, counts: CheckCounts, left: Mapping[str, int]
) -> tuple[_Fact, ...]:
    """Return the overlap condition of a check that leaves nodes to other checks (True) or did (False)."""
    if not left and find(check.status.conditions, condition_types.OVERLAPPING) is None:
        return ()
    named = {f"nhc/{name}": number for name, number in left.items()}
    reported = state.spell_overlap(named, _watched(counts), "node")
    return (
        _fact(
            condition_types.OVERLAPPING,
            bool(reported),
            condition_reasons.OTHERS_COME_FIRST,
            condition_reasons.NO_OVERLAP,
            reported,
        ),
    )


def _recovery_condition(check: NodeHealthCheck, recoveries: tuple[RecoveryReport, ...]) -> tuple[_Fact, ...]:
    """Return RecoveryFailed: True while a recovery is failed or overdue.

    Only for checks that have a recovery or had one.
    """
    type_ = condition_types.RECOVERY_FAILED
    if check.spec.recovery is None and find(check.status.conditions, type_) is None:
        return ()
    bad = [one.node for one in recoveries if one.phase in (RecoveryPhase.FAILED, RecoveryPhase.OVERDUE)]
    more = f" and {len(bad) - MOST_NAMED} more" if len(bad) > MOST_NAMED else ""
    reported = f"Failed or overdue: {', '.join(bad[:MOST_NAMED])}{more}." if bad else ""
    reasons = condition_reasons.RECOVERY_FAILED, condition_reasons.NO_RECOVERY_FAILED
    return (_fact(type_, bool(bad), *reasons, reported),)


def _stall(
    check: NodeHealthCheck, counts: CheckCounts, unusable: str, left: Mapping[str, int]
) -> tuple[str, str]:
    """Return the Stalled reason and the message why the check could remediate no node; empty if it could."""
    if unusable:
        return condition_reasons.REMEDY_UNUSABLE, unusable
    if unserved := _unserved(counts):
        return condition_reasons.REMEDIATION_UNSERVED, unserved
    if left and not _watched(counts):
        return condition_reasons.NO_TARGETS_LEFT, state.NOTHING_LEFT
    never = can_never_act(
        parse_comparison(check.spec.max_unhealthy), _watched(counts), LimitSemantics.ALLOW_ONE
    )
    return (condition_reasons.LIMIT_TOO_LOW, _NEVER) if never else (condition_reasons.NOT_STALLED, "")


def _dry_run(held: HoldReason | None, counts: CheckCounts) -> tuple[bool, str, str]:
    """Return whether the check is in dry run (by policy or by its spec), the reason, and an example node."""
    if not isinstance(held, DryRun | CheckDryRun):
        return False, condition_reasons.ACTING, ""
    waiting = {name: one.message for name, one in counts.unwell.items() if one.cause == held.reason}
    if not waiting:
        return True, held.reason, ""
    first = min(waiting)
    many = f"{spell_count(len(waiting), 'node')} would be remediated, or held by the guard."
    return True, held.reason, f"{many} {first}: {waiting[first]}"


def _unserved(counts: CheckCounts) -> str:
    """Describe nodes whose remediation exists but is unserved; empty if every remediation is served."""
    found = {name: entry for name, entry in counts.unwell.items() if entry.cause == Unserved.reason}
    if not found:
        return ""
    first = min(found)
    return f"Nodes whose remediation has not started: {len(found)}. {first}: {found[first].message}"


def _as_conditions(facts: Iterable[_Fact], generation: int, now: str) -> tuple[Condition, ...]:
    return tuple(
        Condition(
            type=type_,
            status=ConditionStatus.TRUE if holds else ConditionStatus.FALSE,
            reason=reason,
            message=message,
            observed_generation=generation,
            last_transition_time=now,
        )
        for type_, holds, reason, message in facts
    )


@dataclass(eq=False, slots=True)
class NodeReporter:
    view: NodeView
    evaluator: GuardEvaluator
    history: History
    recoveries: RecoveryTracker
    writer: Writer
    recorder: NodeHealthCheckRecorder
    _reminders: HoldReminders = field(default_factory=lambda: HoldReminders("node"))

    async def report_check(self, name: str, moment: Clocks) -> Outcome:
        check = self.view.checks.get(name)
        if check is None:
            self.recorder.counted(name, None)
            self._reminders.forget(name)
            return Done()
        target_index = self.evaluator.target_index
        counts = target_index.of_check(name)
        self.recorder.counted(name, counts)
        anybody = anybody_under(check, moment.wall)
        guarded = self.evaluator.of_check(anybody, moment)
        self.recorder.guarded(name, guarded, limit_usage_of_check(target_index, anybody.check))
        outcome = await self._write(check, guarded, moment)
        if outcome != Done():
            return outcome
        note, again_in = self._reminders.update(name, counts, moment.now)
        if note:
            self.recorder.still_held(name, reference_to_check(check), note)
        return after_report(guarded, again_in)

    async def write_down(self, check: NodeHealthCheck, moment: Clocks) -> Outcome:
        """Write the check's status from the tracked state, for the next leader. Done once it is stored."""
        guarded = self.evaluator.of_check(anybody_under(check, moment.wall), moment)
        return await self._write(check, guarded, moment)

    async def _write(self, check: NodeHealthCheck, guarded: Allowed | Hold, moment: Clocks) -> Outcome:
        target_index, name = self.evaluator.target_index, check.metadata.name
        status = status_of(
            check,
            target_index.of_check(name),
            guarded,
            unusable=self._unusable(check),
            left=target_index.overlaps.of_check(name),
            history=self.history.of(check),
            recoveries=self.recoveries.reports(check, moment),
            now=print_time(moment.wall),
        )
        if status != check.status:
            outcome = await self.writer.write(preflight.report_status(check, msgspec.to_builtins(status)))
            if outcome != Done():
                return outcome
        self.recorder.recovering(check, status.recoveries)
        self.recorder.stalled(check, status)
        if begun := _begun_overlap(check, status):
            self.recorder.overlapped(check.metadata.name, reference_to_check(check), begun)
        return Done()

    def _unusable(self, check: NodeHealthCheck) -> str:
        """Describe the first remedy that cannot be used; reported before a node needs it."""
        remedies = self.view.remedies
        found = ((one.kind, remedies.unusable(one) or remedies.missing(one)) for one in check.spec.templates)
        return next((f"The remedy {kind} cannot be used: {why}." for kind, why in found if why), "")

    async def report_policy(self, moment: Clocks) -> Outcome:
        policy = self.view.policies.get(well_known.POLICY_NAME)
        if policy is None:
            return Done()
        target_index = self.evaluator.target_index
        health_counts, storm_state = target_index.health_counts(), self.evaluator.storm_state(moment)
        known = self.evaluator.policy(moment)
        if isinstance(known, Present):
            self.recorder.filled("", limit_usages_of_cluster(target_index, known.value, ""))
        problem = known.value.problem if isinstance(known, Present) else None
        status = policy_status(policy, health_counts, storm_state, problem, moment.wall)
        # The machine history belongs to the machine controller's field manager.
        if status != policy.status.but(machine_history=()):
            write = preflight.report_policy(policy, msgspec.to_builtins(status))
            outcome = await self.writer.write(write)
            if outcome != Done():
                return outcome
        waits = bool(storm_state) or policy.spec.pause is not None
        return RequeueAfter(WHILE_WAITING) if waits else Done()


def _begun_overlap(check: NodeHealthCheck, now: NodeHealthCheckStatus) -> str:
    """Return the overlap message if the condition was not True before; else empty."""
    was, reported = (find_true(one.conditions, condition_types.OVERLAPPING) for one in (check.status, now))
    return reported.message if reported is not None and was is None else ""
