"""The status of a MachineHealthCheck, in its project's format, and the history of its remediations.

The status of another project's check has no field for the history, so the status of the RemediationPolicy
stores one bounded list for all checks. It is derived from the current state: each active remediation gets an
entry, and an open entry without an active remediation has ended. So a change of leader loses only a
remediation that started and ended between two leader terms.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from nodemend.api import condition_reasons, condition_types, well_known
from nodemend.api.meta import ConditionStatus, print_time
from nodemend.api.node_health_check import HowEnded
from nodemend.api.remediation_policy import MachineRemediation
from nodemend.guard import state
from nodemend.guard.evaluator import Clocks, GuardEvaluator
from nodemend.guard.state import (
    CheckCounts,
    GuardTarget,
    TargetIndex,
    TargetState,
    limit_usage_of_check,
    limit_usages_of_cluster,
)
from nodemend.health.creation import Writer
from nodemend.health.machine import preflight, targets
from nodemend.health.machine.events import MachineHealthCheckRecorder, reference_to_object
from nodemend.health.machine.external_annotation import is_annotation
from nodemend.health.machine.index import MachineCheckKey
from nodemend.health.machine.request import BY_DELETION, BY_OWNER
from nodemend.health.machine.targets import MachineView, check_facts
from nodemend.health.reporting import WHILE_WAITING, HoldReminders, after_report
from nodemend.kube.controller import Done, Outcome, RequeueAfter
from nodemend.records.live_reads import BoundedMap, value_of
from nodemend.records.machine import (
    OPENSHIFT,
    MachineApiFlavor,
    MachineCheckRecord,
    MachineRecord,
    flavor_of,
    replaced,
)
from nodemend.rules.machine import HealthCondition
from nodemend.safety.facts import Present
from nodemend.safety.guard import Allowed
from nodemend.safety.holds import Hold
from nodemend.safety.limits import LimitSemantics, can_never_act, max_allowed_unhealthy

KEPT: Final = 50


_Key = tuple[str, str, str]
"""A Machine's UID, the kind of its remediation, and the creation time if the remediation is an object."""


@dataclass(frozen=True, slots=True)
class _Work:
    """An active remediation of a Machine. `began` is empty if nothing records its start."""

    machine: MachineRecord
    check: str
    kind: str
    began: str = ""
    contradicted: bool = False

    @property
    def key(self) -> "_Key":
        return self.machine.uid, self.kind, self.began


@dataclass(eq=False, slots=True)
class MachineHistory:
    """The history as maintained by one leader term."""

    view: MachineView
    target_index: TargetIndex
    _ring: tuple[MachineRemediation, ...] | None = None
    _first_seen: dict[_Key, str] = field(default_factory=dict)
    _deleted: list[_Work] = field(default_factory=list)
    _contradicted: BoundedMap[_Key, bool] = field(default_factory=BoundedMap)

    def note_deletion(self, machine: MachineRecord, check: str, now: str) -> None:
        """Record a deletion by Nodemend: a deletion timestamp alone does not show who deleted the Machine."""
        self._deleted.append(_Work(machine, check, BY_DELETION, now))

    def update(self, written: Sequence[MachineRemediation], now: str) -> tuple[MachineRemediation, ...]:
        """Return the current history, newest first. `written` is used only on the first call."""
        ring = tuple(written) if self._ring is None else self._ring
        in_progress = {work.key: work for work in self._in_progress()}
        self._first_seen = {key: self._first_seen.get(key, now) for key in in_progress}
        for key in (key for key, work in in_progress.items() if work.contradicted):
            self._contradicted.keep(key, True)
        known = {_key_of(one) for one in ring if not one.ended}
        begun = [work for key, work in in_progress.items() if key not in known] + self._deleted
        self._deleted = []
        reported = [
            one
            if one.ended or self._goes_on(one, in_progress)
            else one.but(ended=now, outcome=self._outcome(one))
            for one in (*ring, *map(self._entry, begun))
        ]
        newest = sorted(reported, key=lambda one: (one.began, one.machine), reverse=True)
        self._ring = tuple(newest[:KEPT])
        return self._ring

    def _in_progress(self) -> Iterator[_Work]:
        """Yield owner requests under Nodemend's checks, and the remediations created from templates."""
        machine_index = self.view.machine_index
        for key in list(machine_index.asked()):
            target = targets.find_target(machine_index, key)
            if target is not None and not target.by_annotation:
                yield _Work(target.machine, target.check.name, BY_OWNER)
        for record in self.view.remedies.all():
            owners = (machine_index.by_uid(uid) for uid in record.owners)
            owner = next((key for key in owners if key is not None), None)
            machine = machine_index.machine(owner) if owner is not None else None
            if machine is not None and well_known.CHECK_UID in record.annotations:
                check = record.labels.get(well_known.CHECK, "")
                yield _Work(machine, check, record.resource.kind, record.created, record.contradicted)

    def _entry(self, work: _Work) -> MachineRemediation:
        """Return the entry for a remediation; always the same, even if the bounded list dropped it before."""
        return MachineRemediation(
            machine=work.machine.key,
            uid=work.machine.uid,
            node=work.machine.node,
            check=work.check,
            kind=work.kind,
            began=work.began or self._first_seen[work.key],
        )

    def _goes_on(self, one: MachineRemediation, in_progress: Container[_Key]) -> bool:
        """True while the remediation is active. A deletion stays active until the Machine is gone."""
        deleted = one.kind == BY_DELETION and self.view.machine_index.by_uid(one.uid) is not None
        return deleted or _key_of(one) in in_progress

    def _outcome(self, one: MachineRemediation) -> HowEnded:
        if self._contradicted.find(_key_of(one)):
            return HowEnded.CONTRADICTED
        key = self.view.machine_index.by_uid(one.uid)
        if key is None:
            return HowEnded.GONE
        stands = self.target_index.find(str(key))
        well = stands is not None and stands.state is TargetState.HEALTHY
        return HowEnded.HEALED if well else HowEnded.WITHDRAWN


def _key_of(one: MachineRemediation) -> _Key:
    return one.uid, one.kind, "" if one.kind in (BY_OWNER, BY_DELETION) else one.began


MOST_TARGETS: Final = 10_000
ALLOWED: Final = condition_types.REMEDIATION_ALLOWED
_NEVER: Final = "With this limit one unhealthy machine is already too many: nothing is ever remediated."


def status_of(  # noqa: PLR0913 - the inputs of one status
    check: MachineCheckRecord,
    flavor: MachineApiFlavor,
    counts: CheckCounts,
    targets: Sequence[str],
    guarded: Allowed | Hold,
    reading: LimitSemantics,
    *,
    left: Mapping[str, int],
    now: str,
) -> dict[str, Any]:
    """Return the fields that Nodemend writes. Conditions of other writers are kept.

    `left` is the number of selected Machines that other checks own, by the owning check's name.
    """
    held = guarded.reason if isinstance(guarded, Hold) else None
    marks = {
        ALLOWED: HealthCondition(
            ConditionStatus.FALSE if held else ConditionStatus.TRUE,
            held.reason if held else condition_reasons.REMEDIATION_ALLOWED,
            str(held.explain()) if held else "",
        ),
        condition_types.STALLED: _stalled(check, len(counts), reading, left),
        condition_types.OVERLAPPING: _overlapping(len(counts), left),
    }
    status = {
        "expectedMachines": len(counts),
        "currentHealthy": counts.count(TargetState.HEALTHY),
        "remediationsAllowed": 0 if held else _allowed(check, counts, reading),
        "conditions": replaced(check.status.get("conditions") or (), marks, flavor, now),
    }
    if check.resource.group == OPENSHIFT:
        return status
    return status | {
        "observedGeneration": check.generation,
        "targets": sorted(targets)[:MOST_TARGETS],
    }


def differs(status: dict[str, Any], written: dict[str, Any]) -> bool:
    """True if any of these fields is written differently. The API server does not store an empty list."""
    return any((written.get(key) or None) != (value or None) for key, value in status.items())


def _allowed(check: MachineCheckRecord, counts: CheckCounts, reading: LimitSemantics) -> int:
    """Return the number of further remediations before the check's own limit closes."""
    total, unhealthy = len(counts), len(counts) - counts.count(TargetState.HEALTHY)
    most = (
        total
        if check.rules.gate is None
        else min(total, max_allowed_unhealthy(check.rules.gate, total, reading))
    )
    return max(0, most - unhealthy)


def _overlapping(total: int, left: Mapping[str, int]) -> HealthCondition | None:
    """Return the condition while other checks own Machines that this check selects; None otherwise."""
    reported = state.spell_overlap(left, total, "Machine")
    return (
        HealthCondition(ConditionStatus.TRUE, condition_reasons.OTHERS_COME_FIRST, reported)
        if reported
        else None
    )


def _stalled(
    check: MachineCheckRecord, total: int, reading: LimitSemantics, left: Mapping[str, int]
) -> HealthCondition | None:
    """Return the condition while the check can never act; None otherwise."""
    if check.rules.unread:
        return HealthCondition(
            ConditionStatus.TRUE, condition_reasons.UNSUPPORTED_SETTING, "; ".join(check.rules.unread)
        )
    if left and not total:
        return HealthCondition(ConditionStatus.TRUE, condition_reasons.NO_TARGETS_LEFT, state.NOTHING_LEFT)
    gate = check.rules.gate
    if gate is not None and can_never_act(gate, total, reading):
        return HealthCondition(ConditionStatus.TRUE, condition_reasons.LIMIT_TOO_LOW, _NEVER)
    return None


@dataclass(eq=False, slots=True)
class MachineReporter:
    view: MachineView
    evaluator: GuardEvaluator
    history: MachineHistory
    writer: Writer
    recorder: MachineHealthCheckRecorder
    _reminders: HoldReminders = field(default_factory=lambda: HoldReminders("machine"))
    _clusters: dict[MachineCheckKey, str] = field(default_factory=dict)
    """The cluster of every check served so far: its usage is exported again after the check is gone."""

    async def report(self, key: MachineCheckKey, moment: Clocks) -> Outcome:
        if is_annotation(key):
            return self._tell_annotation(key, moment)
        check = self.view.machine_index.check(key)
        if check is None or not self.view.machine_index.serves(key):
            self.recorder.counted(key.full_name, None)
            self._reminders.forget(str(key))
            self._tell_cluster(key, moment)
            return Done()
        counts = self.evaluator.target_index.of_check(str(key))
        self.recorder.counted(key.full_name, counts)
        facts = check_facts(self.view, check, str(key), None, value_of(self.evaluator.policy(moment)))
        cluster = f"{check.namespace}/{check.rules.cluster}" if check.rules.cluster else ""
        self._clusters[key] = cluster
        self._tell_cluster(key, moment)
        anybody = GuardTarget(name="", labels={}, check=facts, cluster=cluster)
        guarded = self.evaluator.of_check(anybody, moment)
        self.recorder.guarded(
            key.full_name, guarded, limit_usage_of_check(self.evaluator.target_index, facts)
        )
        status = status_of(
            check,
            flavor_of(check.resource),
            counts,
            self._targets_of(key, check),
            guarded,
            facts.reading,
            left=self._left_by(key),
            now=print_time(moment.wall),
        )
        if differs(status, check.status):
            outcome = await self.writer.write(preflight.report_status(check, status))
            if outcome != Done():
                return outcome
            reported = next(
                (one for one in status["conditions"] if one["type"] == condition_types.OVERLAPPING), None
            )
            if reported is not None and check.condition(condition_types.OVERLAPPING) is None:
                self.recorder.overlapped(check.key, reference_to_object(check), reported["message"])
        note, again_in = self._reminders.update(str(key), counts, moment.now)
        if note:
            self.recorder.still_held(check.key, reference_to_object(check), note)
        return after_report(guarded, again_in)

    def _tell_annotation(self, key: MachineCheckKey, moment: Clocks) -> Outcome:
        """Report on an annotation, which has no status: by metrics, by log, and on each Machine."""
        counts = self.evaluator.target_index.of_check(str(key))
        self.recorder.counted(key.full_name, counts if len(counts) else None)
        note, again_in = self._reminders.update(str(key), counts, moment.now)
        if note:
            self.recorder.still_held(key.full_name, None, note)
        return Done() if again_in is None else RequeueAfter(again_in)

    def _left_by(self, key: MachineCheckKey) -> Mapping[str, int]:
        """Return the count of Machines per owning check. Two projects' checks of one name are added up."""
        left: Counter[str] = Counter()
        for check, number in self.evaluator.target_index.overlaps.of_check(str(key)).items():
            left[f"mhc/{check.rpartition('/')[2]}"] += number
        return left

    def _targets_of(self, key: MachineCheckKey, check: MachineCheckRecord) -> list[str]:
        """Return the names of a check's targets.

        Searches only the check's scope: a thousand clusters have a hundred thousand targets in all.
        """
        under, place_of = str(key), self.evaluator.target_index.place_of
        places = (
            (machine.name, place_of(str(machine))) for machine in self.view.machine_index.in_reach(check)
        )
        return [name for name, place in places if place is not None and place.check == under]

    async def report_history(self, moment: Clocks) -> Outcome:
        """Write the history, once all kinds are cached: until then a missing object is not proven deleted."""
        policy = self.view.policies.get(well_known.POLICY_NAME)
        if policy is None:
            return Done()
        if not self.view.machine_index.settled:
            return RequeueAfter(WHILE_WAITING)
        written = policy.status.machine_history
        history = self.history.update(written, print_time(moment.wall))
        if history == written:
            return Done()
        return await self.writer.write(preflight.report_history(policy, history))

    def _tell_cluster(self, key: MachineCheckKey, moment: Clocks) -> None:
        cluster, policy = self._clusters.get(key), self.evaluator.policy(moment)
        if cluster is not None and isinstance(policy, Present):
            usages = limit_usages_of_cluster(self.evaluator.target_index, policy.value, cluster)
            self.recorder.filled(cluster, usages)
