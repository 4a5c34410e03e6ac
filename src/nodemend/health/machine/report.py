"""The status of a MachineHealthCheck, in its project's format.

Writes the status of each served check, and exports its counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from nodemend.api import condition_reasons, condition_types, well_known
from nodemend.api.meta import ConditionStatus, print_time
from nodemend.guard import state
from nodemend.guard.evaluator import Clocks, GuardEvaluator
from nodemend.guard.state import (
    CONDITION,
    CheckCounts,
    GuardTarget,
    LimitUsage,
    TargetState,
    limit_usage_of_check,
    limit_usages_of_cluster,
)
from nodemend.health.creation import Writer
from nodemend.health.machine import preflight
from nodemend.health.machine.external_annotation import is_annotation
from nodemend.health.machine.history import MachineHistory
from nodemend.health.machine.index import MachineCheckKey
from nodemend.health.machine.targets import MachineView, check_facts
from nodemend.health.reporting import WHILE_WAITING, HoldReminders, after_report
from nodemend.kube.controller import Done, Outcome, RequeueAfter
from nodemend.records.live_reads import value_of
from nodemend.records.machine import OPENSHIFT, MachineApiFlavor, MachineCheckRecord, flavor_of, replaced
from nodemend.rules.machine import HealthCondition
from nodemend.safety.facts import Present
from nodemend.safety.guard import Allowed
from nodemend.safety.holds import Hold
from nodemend.safety.limits import LimitSemantics, can_never_act, max_allowed_unhealthy

MOST_TARGETS: Final = 10_000
ALLOWED: Final = condition_types.REMEDIATION_ALLOWED
STALLED: Final = condition_types.STALLED
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
        STALLED: _stalled(check, len(counts), reading, left),
        state.CONDITION: _overlapping(len(counts), left),
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
    return HealthCondition(ConditionStatus.TRUE, state.OTHERS_FIRST, reported) if reported else None


def _stalled(
    check: MachineCheckRecord, total: int, reading: LimitSemantics, left: Mapping[str, int]
) -> HealthCondition | None:
    """Return the condition while the check can never act; None otherwise."""
    if check.rules.unread:
        return HealthCondition(
            ConditionStatus.TRUE, condition_reasons.NOT_UNDERSTOOD, "; ".join(check.rules.unread)
        )
    if left and not total:
        return HealthCondition(ConditionStatus.TRUE, condition_reasons.NOTHING_LEFT, state.NOTHING_LEFT)
    gate = check.rules.gate
    if gate is not None and can_never_act(gate, total, reading):
        return HealthCondition(ConditionStatus.TRUE, condition_reasons.LIMIT_TOO_LOW, _NEVER)
    return None


class MachineCountsRecorder(Protocol):
    def counted(self, check: MachineCheckKey, counts: CheckCounts | None) -> None:
        """Export the counts of a check; None if the check was deleted or is not served any longer."""
        ...

    def still_held(self, check: MachineCheckRecord, note: str) -> None:
        """A check has had held targets for long."""
        ...

    def still_held_by_annotation(self, key: MachineCheckKey, note: str) -> None:
        """Requests by annotation in the key's namespace have been held for long."""
        ...

    def overlapped(self, check: MachineCheckRecord, note: str) -> None:
        """Other checks now own Machines that this check selects."""
        ...

    def guarded(self, check: MachineCheckKey, guarded: Allowed | Hold, usage: LimitUsage | None) -> None:
        """Export if the guard is closed for a check, and the usage of the check's own limit."""
        ...

    def filled(self, cluster: str, usages: Iterable[LimitUsage]) -> None:
        """Export the usage of the policy's limits in a cluster."""
        ...


class MachineReporter:
    def __init__(
        self,
        view: MachineView,
        evaluator: GuardEvaluator,
        history: MachineHistory,
        writer: Writer,
        counts: MachineCountsRecorder,
    ) -> None:
        self._view = view
        self._evaluator = evaluator
        self._history = history
        self._writer = writer
        self._counts = counts
        self._reminders = HoldReminders("machine")
        self._clusters: dict[MachineCheckKey, str] = {}
        """The cluster of every check served so far: its usage is exported again after the check is gone."""

    async def report(self, key: MachineCheckKey, moment: Clocks) -> Outcome:
        if is_annotation(key):
            return self._tell_annotation(key, moment)
        check = self._view.machine_index.check(key)
        if check is None or not self._view.machine_index.serves(key):
            self._counts.counted(key, None)
            self._reminders.forget(str(key))
            self._tell_cluster(key, moment)
            return Done()
        counts = self._evaluator.target_index.of_check(str(key))
        self._counts.counted(key, counts)
        facts = check_facts(self._view, check, str(key), None, value_of(self._evaluator.policy(moment)))
        cluster = f"{check.namespace}/{check.rules.cluster}" if check.rules.cluster else ""
        self._clusters[key] = cluster
        self._tell_cluster(key, moment)
        anybody = GuardTarget(name="", labels={}, check=facts, cluster=cluster)
        guarded = self._evaluator.of_check(anybody, moment)
        self._counts.guarded(key, guarded, limit_usage_of_check(self._evaluator.target_index, facts))
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
            outcome = await self._writer.write(preflight.report_status(check, status))
            if outcome != Done():
                return outcome
            reported = next((one for one in status["conditions"] if one["type"] == CONDITION), None)
            if reported is not None and check.condition(CONDITION) is None:
                self._counts.overlapped(check, reported["message"])
        note, again_in = self._reminders.update(str(key), counts, moment.now)
        if note:
            self._counts.still_held(check, note)
        return after_report(guarded, again_in)

    def _tell_annotation(self, key: MachineCheckKey, moment: Clocks) -> Outcome:
        """Report on an annotation, which has no status: by metrics, by log, and on each Machine."""
        counts = self._evaluator.target_index.of_check(str(key))
        self._counts.counted(key, counts if len(counts) else None)
        note, again_in = self._reminders.update(str(key), counts, moment.now)
        if note:
            self._counts.still_held_by_annotation(key, note)
        return Done() if again_in is None else RequeueAfter(again_in)

    def _left_by(self, key: MachineCheckKey) -> Mapping[str, int]:
        """Return the count of Machines per owning check. Two projects' checks of one name are added up."""
        left: Counter[str] = Counter()
        for check, number in self._evaluator.target_index.overlaps.of_check(str(key)).items():
            left[f"mhc/{check.rpartition('/')[2]}"] += number
        return left

    def _targets_of(self, key: MachineCheckKey, check: MachineCheckRecord) -> list[str]:
        """Return the names of a check's targets.

        Searches only the check's scope: a thousand clusters have a hundred thousand targets in all.
        """
        under, place_of = str(key), self._evaluator.target_index.place_of
        places = (
            (machine.name, place_of(str(machine))) for machine in self._view.machine_index.in_reach(check)
        )
        return [name for name, place in places if place is not None and place.check == under]

    async def report_history(self, moment: Clocks) -> Outcome:
        """Write the history, once all kinds are cached: until then a missing object is not proven deleted."""
        policy = self._view.policies.get(well_known.POLICY_NAME)
        if policy is None:
            return Done()
        if not self._view.machine_index.settled:
            return RequeueAfter(WHILE_WAITING)
        written = policy.status.machine_history
        history = self._history.update(written, print_time(moment.wall))
        return (
            Done()
            if history == written
            else await self._writer.write(preflight.report_history(policy, history))
        )

    def _tell_cluster(self, key: MachineCheckKey, moment: Clocks) -> None:
        cluster, policy = self._clusters.get(key), self._evaluator.policy(moment)
        if cluster is not None and isinstance(policy, Present):
            usages = limit_usages_of_cluster(self._evaluator.target_index, policy.value, cluster)
            self._counts.filled(cluster, usages)
