"""Tracks the state of every Machine and reports changes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from nodemend.guard.evaluator import Clocks, GuardEvaluator
from nodemend.guard.state import PlacedTarget, TargetState, TargetStatus, target_status
from nodemend.health.conditions import UnhealthySince
from nodemend.health.machine import targets
from nodemend.health.machine.events import MachineHealthCheckRecorder
from nodemend.health.machine.index import MachineCheckKey, MachineKey
from nodemend.health.machine.request import RemediationPath
from nodemend.health.machine.targets import MachineObservations, MachineTarget, MachineView, guard_target_of
from nodemend.health.machine.workload_clusters import ClusterNodes
from nodemend.kube.ports import Runtime
from nodemend.kube.tasks import FairSemaphore
from nodemend.records.live_reads import value_of
from nodemend.rules.node import Healthy, NodeHealth
from nodemend.safety.guard import Allowed, guard
from nodemend.safety.holds import Hold

COUNTED_AT_A_TIME: Final = 200


@dataclass(frozen=True, slots=True)
class MachineEvaluation:
    """The evaluation of one target. `before` is its previous entry and the check that owned it then."""

    target: MachineTarget
    placed: PlacedTarget
    health: NodeHealth
    way: RemediationPath
    guarded: Allowed | Hold
    before: tuple[MachineCheckKey, TargetStatus] | None


class MachineTracker:
    """The states of all Machines for one leader term."""

    def __init__(
        self,
        view: MachineView,
        seen: MachineObservations,
        evaluator: GuardEvaluator,
        runtime: Runtime,
        recorder: MachineHealthCheckRecorder,
        ask_for_report: Callable[[MachineCheckKey], None],
    ) -> None:
        self._view = view
        self._seen = seen
        self._evaluator = evaluator
        self._runtime = runtime
        self._recorder = recorder
        self._ask_for_report = ask_for_report
        self.unhealthy_since = UnhealthySince()
        self._counted_by: object = None
        self._checks: dict[str, MachineCheckKey] = {}
        """Checks by their name in the target index."""
        self._connection_counts: dict[str, int] = {}
        self._counting = FairSemaphore(runtime)

    def moment(self) -> Clocks:
        return Clocks(self._runtime.monotonic(), self._runtime.wall())

    def evaluate(self, target: MachineTarget) -> MachineEvaluation:
        """Evaluate a target: its health, the counts including it, and the guard."""
        moment = self.moment()
        health, placed = self._place(target, moment)
        self.unhealthy_since.note(placed.target.name, health, moment.now)
        before = self._evaluator.count(placed, healthy=isinstance(health, Healthy))
        if isinstance(self._view.clusters.nodes_of(target.machine), ClusterNodes):
            # Machines of an invisible cluster are Unjudged. That is no storm and needs no cooldown.
            self._evaluator.update_storms(placed, moment)
        guarded = guard(self._evaluator.evaluate(placed, moment))
        way = targets.way_of(self._view, target, value_of(self._evaluator.policy(moment)), moment.now)
        previous = (self._checks[before[0].check], before[1]) if before is not None else None
        return MachineEvaluation(target, placed, health, way, guarded, previous)

    def upsert(self, case: MachineEvaluation, entry: TargetStatus) -> None:
        self._evaluator.target_index.upsert(case.placed.target.name, case.placed.place, entry)
        here, before = case.target.check_key, case.before
        if before == (here, entry):
            return
        self._recorder.judged(case.target, before[1] if before else None, entry)
        self._ask_for_report(here)
        if before is not None and before[0] != here:
            self._ask_for_report(before[0])

    def remove(self, key: MachineKey) -> None:
        self.unhealthy_since.forget(str(key))
        place = self._evaluator.target_index.remove(str(key))
        if place is not None:
            self._ask_for_report(self._checks[place.check])
        self._report(self._evaluator.target_index.overlaps.forget(str(key)))

    def _report(self, checks: Iterable[str]) -> None:
        for check in checks:
            self._ask_for_report(self._checks[check])

    async def rebuild_counts(self) -> None:
        """Count all Machines before any is evaluated by changed rules: a storm is a share of all of them."""
        while (rules := self._view.current_rules()) != self._counted_by:
            # One worker counts; the others wait for it.
            async with self._counting.taken():
                if rules == self._counted_by:
                    continue
                await self._for_each(self._view.machine_index.machine_keys(), self._count)
                self._counted_by = rules
            for check in list(self._view.machine_index.check_keys()):
                self._ask_for_report(check)

    async def _for_each(self, keys: Iterable[MachineKey], act: Callable[[MachineKey], None]) -> None:
        """Yield to the event loop after each batch: the leader must renew its Lease in between."""
        for number, key in enumerate(list(keys), start=1):
            act(key)
            if number % COUNTED_AT_A_TIME == 0:
                await self._runtime.sleep(0)

    async def count_cluster(self, cluster: str) -> None:
        """Evaluate all Machines of a cluster that became visible before any of them reaches the guard.

        Otherwise the first would find all others Unjudged, which looks like a storm.
        """
        connections = self._view.clusters.connections(cluster)
        if connections == self._connection_counts.get(cluster, 0):
            return
        await self._for_each(self._view.machine_index.in_cluster(cluster), self._reevaluate)
        self._connection_counts[cluster] = connections

    def _reevaluate(self, key: MachineKey) -> None:
        """Evaluate a Machine again that was Unjudged."""
        target = targets.find_target(self._view.machine_index, key)
        known = self._evaluator.target_index.find(str(key))
        if target is None or known is None or known.state is not TargetState.UNJUDGED:
            return
        health, placed = self._place(target, self.moment())
        entry = target_status(health, None, remediating=False)
        if self._evaluator.target_index.upsert(placed.target.name, placed.place, entry):
            self._recorder.judged(target, known, entry)
            self._ask_for_report(target.check_key)

    def _count(self, key: MachineKey) -> None:
        target = targets.find_target(self._view.machine_index, key)
        if target is None:
            self.remove(key)
            return
        health, placed = self._place(target, self.moment())
        marked = target.machine.marks.asks_owner
        remediating = marked or targets.find_remediation(self._view, target) is not None
        entry = self._evaluator.target_index.find(placed.target.name) or target_status(
            health, None, remediating=remediating
        )
        self._evaluator.target_index.upsert(placed.target.name, placed.place, entry)

    def _place(self, target: MachineTarget, moment: Clocks) -> tuple[NodeHealth, PlacedTarget]:
        self._checks.update((str(one), one) for one in (target.check_key, *target.overlapping))
        others = tuple([str(one) for one in target.overlapping])
        self._report(
            self._evaluator.target_index.overlaps.note(str(target.key), str(target.check_key), others)
        )
        facts = targets.machine_facts(self._view, target, self._seen, moment.now)
        guard_target = guard_target_of(self._view, target, value_of(self._evaluator.policy(moment)))
        return targets.evaluate_target(target, facts), self._evaluator.place_target(guard_target, moment)
