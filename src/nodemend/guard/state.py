"""Keeps the state that the guard evaluates: targets, counts, control-plane nodes, storms and held targets.

Counts per check, failure domain and cluster are updated with each change of a target, so they are free to
read. The control-plane nodes and their readiness are updated with each change of a Node or an etcd Pod. Each
leader term has its own storm tracker, for storms of the cluster, of each check and of each failure domain.

If several checks select a target, the first check by name owns it, and the others report the overlap. The
text of a target's entry changes only if its state does.

Targets whose object was deleted while they were unhealthy keep counting as unhealthy for a while. Otherwise
the deletion of a storm's nodes would seem to end the storm, and the guard would open for the remaining ones.

Held targets are requeued a few at a time, so that a storm of thousands costs no more than one of a few. A
target that only the start interval holds is requeued when that interval ends.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum
from heapq import nsmallest
from itertools import islice
from typing import Final, Generic, TypeVar, assert_never

from nodemend.api import condition_reasons
from nodemend.api.meta import ConditionStatus
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.well_known import CONTROL_PLANE_ROLES
from nodemend.records.live_reads import active_pause
from nodemend.records.node import NodeRecord
from nodemend.rules.node import (
    Healthy,
    NodeHealth,
    ShownCondition,
    Suspect,
    Unhealthy,
    Unjudged,
    spell_finding,
)
from nodemend.rules.request import matches
from nodemend.safety.facts import PolicyFacts
from nodemend.safety.guard import CALM, CheckFacts, ControlPlane, HealthCounts, Storm, cooldown, step
from nodemend.safety.guard_holds import CoolingDown, RecentApiErrors, StartInterval
from nodemend.safety.holds import Hold, spell_count
from nodemend.safety.limits import LimitComparison, LimitSemantics, closes_at, parse_comparison


class ControlPlaneIndex:
    """Members by name, with their readiness. A control-plane label or a static etcd Pod makes a member."""

    def __init__(self) -> None:
        self._ready: dict[str, bool] = {}
        self._labelled: set[str] = set()
        self._hosts: frozenset[str] = frozenset()
        self._silent_hosts: set[str] = set()
        """Nodes whose etcd Pod was deleted while they were not Ready.

        Only a running kubelet can report that etcd is gone, so these nodes stay members until they are Ready.
        """

    def observe(self, node: NodeRecord) -> None:
        if CONTROL_PLANE_ROLES.isdisjoint(node.label_keys):
            self._labelled.discard(node.name)
        else:
            self._labelled.add(node.name)
        ready = is_ready(node)
        if ready:
            self._silent_hosts.discard(node.name)
        self._upsert(node.name, ready=ready)

    def forget(self, node: str) -> None:
        self._labelled.discard(node)
        self._silent_hosts.discard(node)
        self._upsert(node, ready=False)

    def note_etcd(self, hosts: frozenset[str], find: Callable[[str], NodeRecord | None]) -> None:
        """Update the nodes with a static etcd Pod to `hosts`; `find` returns a Node by name."""
        gone, come = self._hosts - hosts, hosts - self._hosts
        self._hosts = hosts
        for name in gone | come:
            node = find(name)
            ready = node is not None and is_ready(node)
            if name in gone and node is not None and not ready:
                self._silent_hosts.add(name)
            self._upsert(name, ready=ready)

    def has(self, node: str) -> bool:
        return node in self._ready

    def around(self, node: str, under_remediation: frozenset[str]) -> ControlPlane | None:
        """Return the guard's facts about a member; None if the node is not a member."""
        if node not in self._ready:
            return None
        busy = sorted((under_remediation & self._ready.keys()) - {node})
        named = busy[0] if busy else ""
        # A kubelet can create a Pod that looks like etcd's, but cannot label its Node. So members by Pod
        # alone must not form a majority for a labelled node: count both sets and use the one with less
        # margin.
        sets = [set(self._ready)] + ([self._labelled & self._ready.keys()] if node in self._labelled else [])
        around = [
            ControlPlane(len(members), sum(self._ready[name] for name in members - {node}), named)
            for members in sets
        ]
        return min(around, key=lambda one: 2 * one.others_ready - one.total)

    def _upsert(self, name: str, *, ready: bool) -> None:
        if name in self._labelled or name in self._hosts or name in self._silent_hosts:
            self._ready[name] = ready
        else:
            self._ready.pop(name, None)


def is_ready(node: NodeRecord) -> bool:
    ready = node.condition("Ready")
    return ready is not None and ready.status == ConditionStatus.TRUE


def selecting(checks: Iterable[NodeHealthCheck], labels: Mapping[str, str]) -> list[NodeHealthCheck]:
    """Return the checks that select a node with these labels. The first by name owns the node."""
    mine = [check for check in checks if matches(check.spec.selector, labels)]
    return sorted(mine, key=lambda check: check.metadata.name) if len(mine) > 1 else mine


def check_facts(check: NodeHealthCheck, wall: datetime) -> CheckFacts:
    return CheckFacts(
        name=check.metadata.name,
        gate=parse_comparison(check.spec.max_unhealthy),
        reading=LimitSemantics.ALLOW_ONE,
        dry_run=check.spec.dry_run,
        pause=active_pause(check.spec.pause, wall),
    )


def maintained_by(check: NodeHealthCheck, conditions: Iterable[ShownCondition]) -> str:
    """Return the condition by which the node reports maintenance, as TYPE=STATUS; "" if it does not."""
    shown = {condition.type: condition.status for condition in conditions}
    for awaited in check.spec.maintenance:
        if shown.get(awaited.type) == awaited.status:
            return f"{awaited.type}={ConditionStatus(awaited.status)}"
    return ""


def meets_threshold(check: NodeHealthCheck, conditions: Iterable[ShownCondition]) -> bool:
    """True if the node meets any threshold now, for any duration."""
    shown = {condition.type: condition.status for condition in conditions}
    return any(shown.get(one.type) == one.status for one in check.spec.thresholds)


MOST_NAMED: Final = 5
NOTHING_LEFT: Final = (
    "All targets that this check selects belong to other checks: see the condition Overlapping."
)


class Overlaps:
    """Counts, per check, the targets that other checks own. A target of a single check costs nothing."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[str, tuple[str, ...]]] = {}
        """By target: the check that owns it, and the other checks that select it."""
        self._counts: dict[str, Counter[str]] = {}

    def note(self, target: str, owner: str, others: tuple[str, ...]) -> set[str]:
        """Update a target's owner and the `others`. Return the checks whose counts changed."""
        before, now = self._left.get(target), (owner, others) if others else None
        if before == now:
            return set()
        changed = self._count(before, -1) | self._count(now, 1)
        if now is None:
            self._left.pop(target, None)
        else:
            self._left[target] = now
        return changed

    def forget(self, target: str) -> set[str]:
        """Remove a target. Return the checks whose counts changed."""
        return self.note(target, "", ())

    def of_check(self, check: str) -> Mapping[str, int]:
        """Return, by owning check, the number of targets that `check` also selects."""
        return self._counts.get(check, {})

    def _count(self, left: tuple[str, tuple[str, ...]] | None, number: int) -> set[str]:
        if left is None:
            return set()
        owner, others = left
        for check in others:
            counts = self._counts.setdefault(check, Counter())
            counts[owner] += number
            if not counts[owner]:
                del counts[owner]
            if not counts:
                del self._counts[check]
        return set(others)


def spell_overlap(left: Mapping[str, int], watched: int, what: str) -> str:
    """Describe which checks own the targets that a check selects; "" if it owns all of them."""
    if not left:
        return ""
    lost = sum(left.values())
    by_number = sorted(left.items(), key=lambda one: (-one[1], one[0]))
    named = ", ".join(f"{number} by {check}" for check, number in by_number[:MOST_NAMED])
    more = f" and others by {len(left) - MOST_NAMED} more checks" if len(left) > MOST_NAMED else ""
    selected, are = spell_count(lost + watched, what), spell_count(lost, "is", "are")
    return (
        f"Of the {selected} that it selects, {are} watched by checks whose name comes first: {named}{more}."
        f" It watches {watched}; its thresholds, limits and remedies apply only to those."
        f" Narrow the selectors until each {what} has one check."
    )


K = TypeVar("K")


class TargetState(StrEnum):
    """The state of a target in one name, for status, logs and metrics."""

    HEALTHY = "Healthy"
    SUSPECT = "Suspect"
    UNHEALTHY = "Unhealthy"
    HELD = "Held"
    REMEDIATING = "Remediating"
    UNJUDGED = "Unjudged"
    DELETED = "Deleted"


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """The state of a target and its cause. `message` is not compared: a new number in it is no change."""

    state: TargetState
    cause: str = ""
    message: str = field(default="", compare=False)
    remedy: int = 0
    """The target's current remedy, counted from 1; 0 before the first."""
    ordered_by: str = ""
    """The user who ordered its remediation; empty if the check requested it."""


HEALTHY = TargetStatus(TargetState.HEALTHY)
REMEDIATING = TargetStatus(TargetState.REMEDIATING)


@dataclass(frozen=True, slots=True)
class CountScope:
    """The scopes in which a target counts: its check, its failure domain ("" for none), its cluster."""

    check: str
    domain: str = ""
    cluster: str = ""


@dataclass(slots=True)
class CheckCounts:
    """The targets of one check: counts by state, and the targets that are not Healthy."""

    counts: Counter[TargetState] = field(default_factory=Counter)
    unwell: dict[str, TargetStatus] = field(default_factory=dict)
    """Targets in any state other than plain Healthy."""

    def __len__(self) -> int:
        return self.counts.total()

    def count(self, state: TargetState) -> int:
        return self.counts[state]

    def worst(self, most: int) -> Iterator[tuple[str, TargetStatus]]:
        """Yield the targets that are not Healthy, sorted by name, at most `most`."""
        for name in nsmallest(most, self.unwell):
            yield name, self.unwell[name]


PreviousState = tuple[CountScope, TargetStatus]
_NO_COUNTS: Final[Counter[TargetState]] = Counter()


class TargetIndex:
    """All targets. Each counts in exactly one place; a move costs as much as an insertion."""

    def __init__(self) -> None:
        self._places: dict[str, CountScope] = {}
        self._shared: dict[CountScope, CountScope] = {}
        """The distinct places: as many as there are combinations of check, domain and cluster."""
        self._check_counts: defaultdict[str, CheckCounts] = defaultdict(CheckCounts)
        self._domains: defaultdict[tuple[str, str], Counter[TargetState]] = defaultdict(Counter)
        self._clusters: defaultdict[str, Counter[TargetState]] = defaultdict(Counter)
        self.overlaps = Overlaps()

    def __len__(self) -> int:
        return len(self._places)

    def find(self, target: str) -> TargetStatus | None:
        place = self._places.get(target)
        return None if place is None else self._check_counts[place.check].unwell.get(target, HEALTHY)

    def previous(self, target: str) -> PreviousState | None:
        place, entry = self._places.get(target), self.find(target)
        return (place, entry) if place is not None and entry is not None else None

    def place_of(self, target: str) -> CountScope | None:
        return self._places.get(target)

    def upsert(self, target: str, place: CountScope, entry: TargetStatus) -> bool:
        """Insert or update a target. Return True if its place or its entry changed."""
        previous = self._places.get(target)
        if previous == place and self.find(target) == entry:
            if entry != HEALTHY:
                self._check_counts[place.check].unwell[target] = entry
            return False
        if previous is not None:
            self.remove(target)
        # Thousands of targets share one place: store it once.
        self._places[target] = place = self._shared.setdefault(place, place)
        self._add(place, entry.state, 1)
        if entry != HEALTHY:
            self._check_counts[place.check].unwell[target] = entry
        return True

    def remove(self, target: str) -> CountScope | None:
        """Remove a target. Return the place where it was counted, or None if it was not a target."""
        entry, place = self.find(target), self._places.pop(target, None)
        if place is None or entry is None:
            return None
        self._add(place, entry.state, -1)
        counts = self._check_counts[place.check]
        counts.unwell.pop(target, None)
        if not len(counts):
            del self._check_counts[place.check]
        _drop_empty(self._domains, (place.cluster, place.domain))
        _drop_empty(self._clusters, place.cluster)
        return place

    def of_check(self, check: str) -> CheckCounts:
        return self._check_counts.get(check) or CheckCounts()

    def unwell(self) -> Iterator[str]:
        """Yield all targets that are not Healthy."""
        for counts in self._check_counts.values():
            yield from counts.unwell

    def health_counts_of_check(self, check: str) -> HealthCounts:
        return _health_counts(self.of_check(check).counts)

    def health_counts_of_domain(self, place: CountScope) -> HealthCounts:
        return _health_counts(self._domains.get((place.cluster, place.domain), _NO_COUNTS))

    def health_counts_of_cluster(self, cluster: str) -> HealthCounts:
        return _health_counts(self._clusters.get(cluster, _NO_COUNTS))

    def domains_of(self, cluster: str) -> list[str]:
        """Return the names of the failure domains that have targets in a cluster, sorted."""
        return sorted(domain for where, domain in self._domains if where == cluster and domain)

    def health_counts(self) -> HealthCounts:
        return _health_counts(sum(self._clusters.values(), _NO_COUNTS))

    def _add(self, place: CountScope, state: TargetState, number: int) -> None:
        self._check_counts[place.check].counts[state] += number
        self._domains[place.cluster, place.domain][state] += number
        self._clusters[place.cluster][state] += number


def _drop_empty(counters: dict[K, Counter[TargetState]], key: K) -> None:
    if not counters[key].total():
        del counters[key]


def _health_counts(counts: Counter[TargetState]) -> HealthCounts:
    total = counts.total()
    return HealthCounts(total, total - counts[TargetState.HEALTHY], counts[TargetState.REMEDIATING])


def held_target_status(hold: Hold) -> TargetStatus:
    explanation = hold.reason.explain()
    # A countdown would be outdated as soon as it is written.
    lasting = not isinstance(hold.reason, CoolingDown | StartInterval | RecentApiErrors)
    message = str(explanation) if lasting else explanation.sentence
    return TargetStatus(TargetState.HELD, hold.reason.reason, message)


def target_status(health: NodeHealth, hold: Hold | None, *, remediating: bool) -> TargetStatus:
    """Return the target's entry. Its text does not change while the target's state does not."""
    if hold is not None:
        held = held_target_status(hold)
        return replace(held, state=TargetState.REMEDIATING) if remediating else held
    if remediating:
        return REMEDIATING
    match health:
        case Healthy():
            return HEALTHY
        case Suspect(match):
            why = spell_finding(match)
            return TargetStatus(TargetState.SUSPECT, why, why)
        case Unhealthy(match, more):
            why = "; ".join(spell_finding(finding) for finding in (match, *more))
            return TargetStatus(TargetState.UNHEALTHY, why, why)
        case Unjudged(why):
            return TargetStatus(TargetState.UNJUDGED, why, why)
        case _:
            assert_never(health)


COUNTED_FOR: Final = 600.0
"""Seconds: about the period of most thresholds plus the cooldown of a storm."""
COUNT_ON: Final = frozenset({TargetState.UNHEALTHY, TargetState.HELD, TargetState.REMEDIATING})
"""Suspect targets do not keep counting: a cluster that scales down deletes nodes in that state."""
DELETED_STATUS: Final = TargetStatus(
    TargetState.DELETED,
    message=f"Its Node was deleted while it was not healthy, and counts as unhealthy for {COUNTED_FOR:.0f} s:"
    " a storm does not end because its Nodes are deleted.",
)


class DeletedTargets:
    """Deleted targets of one leader term. A new leader lacks them, but restarts the cooldown of a storm."""

    def __init__(self, target_index: TargetIndex) -> None:
        self._target_index = target_index
        self._until: dict[str, float] = {}

    @property
    def names(self) -> Iterable[str]:
        return tuple(self._until)

    def count_on(self, target: str, now: float) -> float | None:
        """Count a deleted target. Return the remaining seconds for which it counts; None if it does not."""
        previous = self._target_index.previous(target)
        if previous is not None and previous[1].state in COUNT_ON:
            self._until[target] = now + COUNTED_FOR
            self._target_index.upsert(target, previous[0], DELETED_STATUS)
        left = self._until.get(target, now) - now
        if left > 0:
            return left
        self.forget(target)
        return None

    def forget(self, target: str) -> None:
        self._until.pop(target, None)


RECHECK_INTERVAL: Final = 10.0
"""Seconds after which a held target is re-evaluated if nothing changes before."""
AT_A_TIME: Final = 10
EVERY: Final = 0.2
A_MOMENT: Final = 0.001
"""Seconds after a deadline, so that no rounding error causes a wake-up just before it."""


class HeldQueue(Generic[K]):
    """Wakes the longest waiting targets first, and only as fast as they are reconciled.

    The woken keys share the work queue with all other keys, which must not wait behind a storm.
    """

    def __init__(self) -> None:
        self._asleep: dict[K, None] = {}
        self._paced: dict[K, float] = {}
        """Time at which the start interval ends. These are woken first, but use at most half of a batch."""
        self._woken: set[K] = set()
        """Woken targets that have not been reconciled since."""

    def upsert(self, key: K, hold: Hold | None, now: float) -> float:
        """Add a held target. Return the seconds until the next `wake` is due for it."""
        if hold is not None and isinstance(hold.reason, StartInterval):
            remaining = hold.reason.remaining + A_MOMENT
            self._paced[key] = now + remaining
            return min(remaining, RECHECK_INTERVAL)
        self._asleep[key] = None
        return RECHECK_INTERVAL

    def leave(self, key: K) -> None:
        """Remove a target, because it is being reconciled now."""
        self._asleep.pop(key, None)
        self._paced.pop(key, None)
        self._woken.discard(key)

    def wake(self, now: float) -> list[K]:
        free = AT_A_TIME - len(self._woken)
        paced = list(islice((key for key, until in self._paced.items() if until <= now), (free + 1) // 2))
        for key in paced:
            del self._paced[key]
        woken = paced + list(islice(self._asleep, free - len(paced)))
        for key in woken[len(paced) :]:
            del self._asleep[key]
        self._woken.update(woken)
        return woken

    def again_in(self, now: float) -> float | None:
        """Return the seconds until the next `wake` is due; None if the queue is empty."""
        if self._asleep:
            return EVERY
        return max(EVERY, min(self._paced.values()) - now) if self._paced else None


@dataclass(frozen=True, slots=True)
class Busy:
    """Names of the targets under remediation in a cluster."""

    names: frozenset[str] = frozenset()
    released: frozenset[str] = frozenset()
    """The subset whose workloads are released and run elsewhere."""
    unserved: frozenset[str] = frozenset()
    """The subset whose remediation has not started because no controller serves it."""


@dataclass(frozen=True, slots=True)
class GuardTarget:
    """A target for the guard. `name` is its key in the target index; `labels` give its failure domain."""

    name: str
    labels: Mapping[str, str]
    check: CheckFacts
    cluster: str = ""
    """The workload cluster that the target is in; empty for the cluster that Nodemend runs in."""
    excluded_by: str = ""
    maintained_by: str = ""
    control_plane: bool = False
    """True if its kind states it. Always False for a node: the control-plane index decides by name."""


@dataclass(frozen=True, slots=True)
class PlacedTarget:
    """A guard target, and the scopes in which it counts in this pass."""

    target: GuardTarget
    place: CountScope


class StormScopeKind(Enum):
    CLUSTER = "cluster"
    CHECK = "check"
    DOMAIN = "domain"


@dataclass(frozen=True, slots=True)
class StormScope:
    scope_kind: StormScopeKind
    name: str = ""
    cluster: str = ""


class StormTracker:
    """Tracks storms by scope. It stores only scopes that have had a storm."""

    def __init__(self, *, stormy_before: bool, now: float) -> None:
        """`stormy_before`: the previous term ended in a storm or a cooldown, so the cooldown restarts now."""
        self._inherited = Storm(ended_at=now) if stormy_before else CALM
        self._storms: dict[StormScope, Storm] = {}

    def update(self, scope: StormScope, *, active: bool, now: float) -> None:
        after = step(self._storms.get(scope, CALM), active=active, now=now)
        if after != CALM:
            self._storms[scope] = after

    def cooldown(self, scopes: tuple[StormScope, ...], settle_time: float, now: float) -> float:
        """Return the seconds until the cooldown of all these scopes is over."""
        storms = (self._inherited, *(self._storms.get(scope, CALM) for scope in scopes))
        return max(cooldown(storm, settle_time, now) for storm in storms)

    def storm_state(self, settle_time: float, now: float) -> str:
        """Return the most severe state of all scopes: active, cooldown, or "" for neither.

        Drops scopes whose cooldown is over.
        """
        self._storms = {
            scope: storm
            for scope, storm in self._storms.items()
            if storm.active or cooldown(storm, settle_time, now) > 0
        }
        if any(storm.active for storm in self._storms.values()):
            return condition_reasons.STORM_ACTIVE
        return (
            condition_reasons.COOLING_DOWN
            if self._storms or cooldown(self._inherited, settle_time, now) > 0
            else ""
        )


@dataclass(frozen=True, slots=True)
class LimitUsage:
    """Unhealthy count in a scope, and the count at which the guard closes."""

    scope_kind: StormScopeKind
    name: str
    unhealthy: int
    limit: int


def limit_usage_of_check(target_index: TargetIndex, check: CheckFacts) -> LimitUsage | None:
    """Return the usage of a check's own limit; None for a check without one."""
    if check.gate is None:
        return None
    return _limit_usage(
        StormScopeKind.CHECK,
        check.name,
        target_index.health_counts_of_check(check.name),
        check.gate,
        check.reading,
    )


def limit_usages_of_cluster(
    target_index: TargetIndex, policy: PolicyFacts, cluster: str
) -> Iterator[LimitUsage]:
    """Yield the usage in the cluster and in each failure domain that is large enough to have a limit.

    Yields nothing for a cluster without targets.
    """
    health_counts, ours = target_index.health_counts_of_cluster(cluster), LimitSemantics.ALLOW_ONE
    if not health_counts.total:
        return
    yield _limit_usage(StormScopeKind.CLUSTER, cluster, health_counts, policy.max_unhealthy, ours)
    if policy.domains is None:
        return
    for domain in target_index.domains_of(cluster):
        health_counts = target_index.health_counts_of_domain(CountScope("", domain, cluster))
        if health_counts.total >= policy.domains.min_nodes:
            name = f"{cluster}/{domain}" if cluster else domain
            yield _limit_usage(StormScopeKind.DOMAIN, name, health_counts, policy.domains.max_unhealthy, ours)


def _limit_usage(
    scope_kind: StormScopeKind,
    name: str,
    health_counts: HealthCounts,
    gate: LimitComparison,
    reading: LimitSemantics,
) -> LimitUsage:
    return LimitUsage(
        scope_kind, name, health_counts.unhealthy, closes_at(gate, health_counts.total, reading)
    )
