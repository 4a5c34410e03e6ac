"""A simulated cluster: the checker's caches, and the changes of the nodes and remediations in them.

The functions that the checker runs in a real cluster decide here too.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from nodemend.api import condition_types, well_known
from nodemend.api.meta import ConditionStatus, print_micro_time
from nodemend.cli.listing import written_age
from nodemend.cli.simulate.input import Snapshot
from nodemend.cli.simulate.scenario import Symptom
from nodemend.guard.evaluator import Clocks, GuardEvaluator
from nodemend.guard.state import (
    HEALTHY,
    REMEDIATING,
    CountScope,
    PlacedTarget,
    TargetState,
    TargetStatus,
)
from nodemend.health.conditions import ObservationCache
from nodemend.health.node import targets
from nodemend.health.node.targets import (
    FoundRemediation,
    NodeGuardInputs,
    NodeTarget,
    NodeView,
    anybody_under,
    guard_target_of,
)
from nodemend.health.node.tracker import EscalationTracker
from nodemend.health.remediation_index import NotServed, RemediationIndex, RemedyKind, TemplateKind
from nodemend.kube.store import Change, Store
from nodemend.records.node import NodeConditionRecord, NodeRecord
from nodemend.records.remediation import RemediationRecord, RemediationWire, as_record
from nodemend.rules.node import Healthy, NodeHealth
from nodemend.rules.request import Create, ExistingRemediation, RemedyPolicy, Request, decide
from nodemend.safety.guard import Allowed, guard
from nodemend.safety.holds import Hold, HoldReason


class Remediations:
    """Changes the cache that the checker reads, and records when the checker would have observed it."""

    def __init__(self, remedies: RemediationIndex, seen: ObservationCache) -> None:
        self._remedies = remedies
        self._seen = seen
        self._made = 0
        self._named: Counter[str] = Counter()
        self._note((Change(_key(record), None, record) for record in remedies.all()), 0.0)

    def has(self, name: str) -> bool:
        """Return whether a remediation of this name exists. A fast path: most nodes have none."""
        return self._named[name] > 0

    def open(self, target: NodeTarget, kind: RemedyKind, index: int, now: float) -> RemediationRecord:
        self._made += 1
        check, template = target.check.metadata, target.check.spec.remedies[index].template
        metadata = {
            "name": target.node.name,
            "namespace": template.namespace,
            "uid": f"simulated-{self._made}",
            "labels": {well_known.CHECK: check.name},
            "annotations": {well_known.CHECK_UID: check.uid},
            "finalizers": [well_known.SAFE_END],  # Marks it as served.
        }
        wire = msgspec.convert({"metadata": metadata}, RemediationWire)
        record = as_record(kind.remediation, wire)
        self._put(record, now)
        return record

    def end(self, record: RemediationRecord, *, succeeded: bool, now: float) -> None:
        """Set the condition Succeeded. The checker then deletes the remediation."""
        status = ConditionStatus.TRUE if succeeded else ConditionStatus.FALSE
        conditions = [{"type": condition_types.SUCCEEDED, "status": status}]
        reported = msgspec.convert({"metadata": {}, "status": {"conditions": conditions}}, RemediationWire)
        self._put(replace(record, conditions=reported.status.conditions), now)

    def withdraw(self, record: RemediationRecord, now: float) -> None:
        """Delete the remediation at once."""
        changes: list[Change[RemediationRecord]] = []
        self._remedies.caches[record.resource].drop(_key(record), changes)
        self._note(changes, now)

    def find(self, record: RemediationRecord) -> RemediationRecord | None:
        """Return the current version of the remediation; None if it was deleted."""
        found = self._remedies.caches[record.resource].get(_key(record))
        return found if found is not None and found.uid == record.uid else None

    def _put(self, record: RemediationRecord, now: float) -> None:
        changes: list[Change[RemediationRecord]] = []
        self._remedies.caches[record.resource].put(_key(record), record, changes)
        self._note(changes, now)

    def _note(self, changes: Iterable[Change[RemediationRecord]], now: float) -> None:
        for change in changes:
            self._seen.note_remediation(change, now)
            self._named[change.key.rpartition("/")[2]] += (change.old is None) - (change.new is None)


def remedies_of(
    kinds: Mapping[TemplateKind, RemedyKind | NotServed], records: Iterable[RemediationRecord]
) -> RemediationIndex:
    """Build the caches that the checker would have."""
    remedies = RemediationIndex(kinds=dict(kinds))
    for kind in kinds.values():
        if isinstance(kind, RemedyKind):
            mine = {_key(one): one for one in records if one.resource == kind.remediation}
            remedies.caches[kind.remediation] = _cache(mine, lambda record: record.uid)
    return remedies


def _key(record: RemediationRecord) -> str:
    return f"{record.namespace}/{record.name}"


R = TypeVar("R")

READY: Final = "Ready"


class SimulatedCluster:
    """Simulated time is an argument: whole seconds after the snapshot. Labels and checks never change."""

    def __init__(self, snapshot: Snapshot, symptom: Symptom) -> None:
        self._taken_at = snapshot.taken_at
        self._symptom = symptom
        policies = {} if snapshot.policy is None else {well_known.POLICY_NAME: snapshot.policy}
        self.view = NodeView(
            nodes=_cache(_trimmed(snapshot, symptom), lambda node: node.uid),
            checks=_cache({one.metadata.name: one for one in snapshot.checks}, lambda one: one.metadata.uid),
            remedies=remedies_of(snapshot.kinds, snapshot.remediations),
            policies=_cache(policies, lambda one: one.metadata.uid),
            # A simulation has no orders.
            orders=_cache({}, lambda one: one.metadata.uid),
        )
        self.seen = ObservationCache()
        self.view.remedies.first_seen = self.seen.remediations
        self.remediations = Remediations(self.view.remedies, self.seen)
        self._targets = {name: targets.find_target(self.view, name) for name in snapshot.nodes}
        self.seen.control_plane_index.note_etcd(snapshot.etcd_hosts, self.view.nodes.get)
        for node in self.view.nodes.all():
            self.seen.control_plane_index.observe(node)

    def moment(self, now: float) -> Clocks:
        return Clocks(now, self._taken_at + timedelta(seconds=now))

    def target(self, name: str) -> NodeTarget | None:
        """Return the target with its current Node. None if no check selects the node or it does not exist."""
        known, node = self._targets.get(name), self.view.nodes.get(name)
        if known is None or node is None:
            return None
        return known if known.node is node else NodeTarget(node, known.check, known.overlapping)

    def remember(self, node: NodeRecord) -> None:
        """Observe the node's conditions at the times written in them, as a checker would that had watched."""
        since = {
            one.type: -int(written_age(one.last_transition_time, self._taken_at)) for one in node.conditions
        }
        reported = node.conditions
        for begin in sorted(set(since.values())):
            self.seen.ages.observe(node.uid, [one for one in reported if since[one.type] <= begin], begin)

    def is_sick(self, name: str) -> bool:
        """Return whether the node has a condition that its check calls unhealthy, or the failure symptom."""
        return bool(self._sick_conditions(name))

    def fail(self, name: str, now: float) -> None:
        self._show(name, {self._symptom.type: self._symptom.status}, now)

    def heal(self, name: str, now: float) -> None:
        """Reset all unhealthy conditions and set Ready."""
        well = {type_: _well(type_, status) for type_, status in self._sick_conditions(name)}
        self._show(name, {READY: ConditionStatus.TRUE, **well}, now)

    def _sick_conditions(self, name: str) -> list[tuple[str, str]]:
        node, known = self.view.nodes.get(name), self._targets.get(name)
        shown = [(one.type, one.status) for one in node.conditions] if node is not None else []
        bad = [(one.type, one.status) for one in known.check.spec.thresholds] if known is not None else []
        bad.append((self._symptom.type, self._symptom.status))
        return [one for one in shown if one in bad]

    def _show(self, name: str, statuses: Mapping[str, str], now: float) -> None:
        node = self.view.nodes.get(name)
        if node is None:
            return
        kept = tuple(one for one in node.conditions if statuses.get(one.type, one.status) == one.status)
        known, at = {one.type for one in kept}, print_micro_time(self.moment(now).wall)
        new = tuple(
            NodeConditionRecord(type_, str(status), at)
            for type_, status in statuses.items()
            if type_ not in known
        )
        changes: list[Change[NodeRecord]] = []
        self.view.nodes.put(name, replace(node, conditions=kept + new), changes)
        for change in changes:
            self.seen.note(change, now)


def _trimmed(snapshot: Snapshot, symptom: Symptom) -> dict[str, NodeRecord]:
    """Remove conditions that no check uses. They are most of the cost of evaluating a node."""
    specs = [check.spec for check in snapshot.checks]
    asked = {READY, symptom.type}
    asked |= {one.type for spec in specs for one in spec.thresholds}
    asked |= {one.type for spec in specs for one in spec.maintenance}
    return {
        name: replace(node, conditions=tuple(one for one in node.conditions if one.type in asked))
        for name, node in snapshot.nodes.items()
    }


def _cache(records: dict[str, R], uid_of: Callable[[R], str]) -> Store[R]:
    """Return a cache that is always fresh: the simulated API server never fails."""
    cache = Store(uid_of)
    cache.replace(records, [])
    cache.synced_at = cache.last_contact = inf
    return cache


def _well(type_: str, status: str) -> ConditionStatus:
    """Return the healthy status of a condition: True for Ready, otherwise the opposite of `status`."""
    if type_ == READY or status == ConditionStatus.FALSE:
        return ConditionStatus.TRUE
    return ConditionStatus.FALSE


SICK: Final = TargetStatus(TargetState.UNHEALTHY)
"""Shared entry of all nodes that are neither healthy nor under remediation. Only their count matters."""


@dataclass(frozen=True, slots=True)
class SimulatedEvaluation:
    """A target and its evaluation at one time."""

    target: NodeTarget
    health: NodeHealth
    found: FoundRemediation | None
    existing: ExistingRemediation | None
    placed: PlacedTarget

    @property
    def ours(self) -> FoundRemediation | None:
        return self.found if self.existing is not None and self.existing.ours else None


class SimulatedChecker:
    """The checker in one leader term that starts with the snapshot. Its observations began long before."""

    def __init__(self, world: SimulatedCluster) -> None:
        self._world = world
        self._around = NodeGuardInputs(world.view, world.seen.control_plane_index)
        self.evaluator = GuardEvaluator(self._around, now=0.0, last_start=-inf)
        self.escalation = EscalationTracker(world.view)
        self._placed: dict[str, PlacedTarget] = {}
        self._known_policies: dict[str, RemedyPolicy] = {}

    def rebuild_counts(self, moment: Clocks) -> Iterator[str]:
        """Count all targets before the first decision.

        Yields the names of those that are not simply healthy.
        """
        for node in list(self._world.view.nodes.all()):
            case = self.case_of(node.name, moment)
            if case is None:
                continue
            entry = self._upsert(case, remediating=case.found is not None)
            if entry is not HEALTHY:
                self._world.remember(node)
                yield node.name

    def case_of(self, name: str, moment: Clocks) -> SimulatedEvaluation | None:
        """Evaluate a node. Returns None if no check selects it."""
        view, seen = self._world.view, self._world.seen
        target = self._world.target(name)
        if target is None:
            return None
        found = targets.find_remediation(view, target) if self._world.remediations.has(name) else None
        existing = None
        if found is not None:
            since = seen.remediations.get(found.record.uid, moment.now)
            existing = targets.as_existing(found, target, view, moment.now - since)
        health = targets.evaluate_target(target, seen.ages, moment.now)
        return SimulatedEvaluation(target, health, found, existing, self._place(target, moment))

    def _place(self, target: NodeTarget, moment: Clocks) -> PlacedTarget:
        """Return the guard target and its scope from a cache: labels do not change in a simulation.

        A check with a pause or maintenance conditions is computed each time, because a pause may end and
        conditions change.
        """
        name, spec = target.node.name, target.check.spec
        known = self._placed.get(name)
        if known is None or spec.pause is not None or spec.maintenance:
            guard_target = guard_target_of(target, moment.wall)
            known = self._placed[name] = self.evaluator.place_target(guard_target, moment)
        return known

    def _remedy_policy(self, target: NodeTarget) -> RemedyPolicy:
        check = target.check.metadata.name
        if check not in self._known_policies:
            self._known_policies[check] = targets.remedy_policy_of(target)
        return self._known_policies[check]

    def wish(self, case: SimulatedEvaluation) -> Request:
        """Return the action that the target needs if the guard allows everything."""
        return decide(case.health, case.existing, Allowed(), self._remedy_policy(case.target))

    def ask(self, case: SimulatedEvaluation, moment: Clocks) -> Request:
        """Return the action that the target needs, with the guard's answer."""
        guarded = guard(self.evaluator.evaluate(case.placed, moment))
        return decide(case.health, case.existing, guarded, self._remedy_policy(case.target))

    def ask_for_all(self, moment: Clocks) -> dict[str, HoldReason | None]:
        """Return by check the reason that holds every target; None if the answer depends on the target."""
        answers: dict[str, HoldReason | None] = {}
        for check in self._world.view.checks.all():
            name = check.metadata.name
            anybody = PlacedTarget(anybody_under(check, moment.wall), CountScope(name))
            guarded = guard(self.evaluator.evaluate(anybody, moment))
            answers[name] = guarded.reason if isinstance(guarded, Hold) else None
        return answers

    def note(self, case: SimulatedEvaluation, request: Request) -> None:
        """Record the target's state before the guard is asked."""
        self._upsert(case, remediating=case.ours is not None)
        self.escalation.note(case.target, case.health, case.ours, request)

    def begin(self, case: SimulatedEvaluation, moment: Clocks) -> None:
        """Record that the target's remediation starts now."""
        self.evaluator.last_start = moment.now
        self._upsert(case, remediating=True)
        self.escalation.note(case.target, case.health, case.ours, Create())

    def _upsert(self, case: SimulatedEvaluation, *, remediating: bool) -> TargetStatus:
        healthy = isinstance(case.health, Healthy)
        entry = REMEDIATING if remediating else HEALTHY if healthy else SICK
        self.evaluator.target_index.upsert(case.target.node.name, case.placed.place, entry)
        return entry

    @property
    def in_progress(self) -> int:
        """Number of nodes under remediation."""
        return len(targets.under_remediation(self._world.view.remedies.all()))
