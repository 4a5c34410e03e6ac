"""The guard before a remediation starts, and the caches that it uses.

It counts nodes, storms and the last start, for one leader term. Counts follow the changes of Nodes, so an
evaluation costs as much as there are open remediations, not Nodes.

Caches count and wake; the facts of a step are read live. Only the guard waits for the caches to sync. The
index of identity claims (provider ID, the host named in it, system UUID, each of which must be unique) can
only hold a remediation, never allow one: the Node itself, its Machine and its host are read live as well.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.resources import NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.api.upstream_types import Node
from nodemend.guard.evaluator import (
    VIEW_GOOD_FOR,
    Clocks,
    GuardEvaluator,
    GuardInputs,
    cache_freshness,
    current_rules,
)
from nodemend.guard.state import (
    HEALTHY,
    Busy,
    CountScope,
    DeletedTargets,
    GuardTarget,
    TargetState,
    TargetStatus,
    check_facts,
    is_ready,
    maintained_by,
    meets_threshold,
    selecting,
)
from nodemend.kube.informer import run_reflector
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.reflector import Reflector
from nodemend.kube.store import Change, Store, whole
from nodemend.kube.tasks import FairSemaphore
from nodemend.records.live_reads import excluded_by, node_facts, project
from nodemend.records.node import NodeRecord, NodeWire, node_records
from nodemend.remediation.node_state import NOT_ASKED, ConcurrencyTracker, OtherRemediations
from nodemend.safety.facts import Absent, LeaseFacts, PolicyFacts, Present, ReadResult, Unreadable
from nodemend.safety.guard import (
    CacheFreshness,
    CacheUnavailable,
    CheckFacts,
    ControlPlane,
    GuardFacts,
    HealthCounts,
)
from nodemend.safety.guard_holds import StartInterval
from nodemend.safety.holds import Hold
from nodemend.safety.identity import node_claims
from nodemend.safety.switch_guard import (
    RemediationGrounds,
    RemediatorGuardFacts,
    TargetObservation,
    may_begin,
)

COUNTED_AT_A_TIME: Final = 500
COUNTS_ON_AFTER: Final = 120.0
"""Seconds a Node must have been observed not Ready to stay counted after its deletion.

When a cluster shrinks, Nodes are deleted sooner than that.
"""
_UNWELL: Final = TargetStatus(TargetState.UNHEALTHY)
_NO_CHECK: Final = CheckFacts("")


Members = Callable[[Node, ReadResult[OtherRemediations]], Coroutine[Any, Any, ReadResult[ControlPlane]]]
"""Signature of the function that reads the control plane around a node."""


class RemediatorView(GuardInputs, Protocol):
    """The cluster as the guard sees it: the remediator's caches, or the lists of a CLI command."""

    @property
    def nodes(self) -> Store[NodeRecord]: ...
    @property
    def checks(self) -> Store[NodeHealthCheck]: ...
    @property
    def synced(self) -> bool: ...

    def not_ready_for(self, uid: str) -> float:
        """Return the seconds for which a node has been observed not Ready; 0 if it was not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRequest:
    """Live reads about one remediation that may start."""

    uid: str
    """UID of the remediation."""
    name: str
    """Name of the node, whether it exists or not."""
    node: Node | None
    lease: ReadResult[LeaseFacts]
    policy: ReadResult[PolicyFacts]
    grounds: RemediationGrounds
    begun: bool = False
    """The remediation has recorded its start, so others count it."""
    asks: Callable[[ReadResult[RemediatorGuardFacts]], Hold | None] = may_begin
    """The check that must pass before the start."""
    members: Members | None = None
    """Reads the control plane around the node; None if it does not matter."""


class _GuardedCluster:
    """The guard's counts over a set of Nodes."""

    def __init__(self, view: RemediatorView, now: float) -> None:
        self.evaluator = GuardEvaluator(view, now=now, last_start=now)
        self.deleted = DeletedTargets(self.evaluator.target_index)

    def upsert(self, guard_target: GuardTarget, entry: TargetStatus, moment: Clocks) -> None:
        self.deleted.forget(guard_target.name)
        placed = self.evaluator.place_target(guard_target, moment)
        self.evaluator.target_index.upsert(guard_target.name, placed.place, entry)

    def leave(self, name: str, now: float, *, counts_on: bool) -> None:
        if not counts_on or self.deleted.count_on(name, now) is None:
            self.deleted.forget(name)
            self.evaluator.target_index.remove(name)

    def update_storms(self, guard_target: GuardTarget, moment: Clocks) -> None:
        self.evaluator.update_storms(self.evaluator.place_target(guard_target, moment), moment)

    def expire(self, now: float) -> None:
        for name in self.deleted.names:
            self.leave(name, now, counts_on=True)


class RemediatorGuard:
    """The guard at the start of a remediation.

    A node under a NodeHealthCheck counts among all checked nodes, as in the checker; any other among all
    nodes.
    """

    def __init__(
        self, view: RemediatorView, runtime: Runtime, in_progress: ConcurrencyTracker, *, last_start: float
    ) -> None:
        """`last_start` is the latest time at which a remediation may have started."""
        self.in_progress = in_progress
        self._view = view
        self._runtime = runtime
        self._last_start = last_start
        self._checked = _GuardedCluster(view, runtime.monotonic())
        self._all = _GuardedCluster(view, runtime.monotonic())
        self._counted_by: object = None
        """None before the first count and during a count."""
        self._listening = False
        self._counting = FairSemaphore(runtime)
        self._claims: dict[str, tuple[float, float]] = {}

    async def ask(self, asked: GuardRequest) -> Present[RemediatorGuardFacts]:
        """Return the facts for the guard. The remediation takes a slot only if nothing else holds it."""
        await self._rebuild_counts()
        alone = Present(self._facts(asked, Present(OtherRemediations()), Absent()))
        if not asked.begun and asked.asks(alone) is not None:
            return alone
        others = await self.in_progress.others(asked.uid, asked.name, may_begin=not asked.begun)
        around: ReadResult[ControlPlane] = Absent()
        if asked.members is not None and asked.node is not None:
            # Others already count a started remediation as away. If each of two counted the other as lost,
            # both would wait forever.
            around = await asked.members(asked.node, NOT_ASKED if asked.begun else others)
        return Present(self._facts(asked, others, around))

    def _facts(
        self,
        asked: GuardRequest,
        others: ReadResult[OtherRemediations],
        control_plane: ReadResult[ControlPlane],
    ) -> RemediatorGuardFacts:
        moment = self._moment()
        node = asked.node
        labels = node.metadata.labels if node is not None else {}
        check = next(iter(selecting(self._view.checks.all(), labels)), None) if node is not None else None
        scope = self._all if check is None else self._checked
        scope.expire(moment.now)
        guard_target = _guard_target_of(node, check, moment)
        guarded = replace(
            self._guard_facts(scope.evaluator, guard_target, moment, others), policy=asked.policy
        )
        return RemediatorGuardFacts(guarded, control_plane, self._target(node, asked.lease), asked.grounds)

    def claim(self, uid: str, facts: ReadResult[RemediatorGuardFacts]) -> Hold | None:
        """Claim the start interval right before the write that starts a remediation, or return a hold.

        Two passes may both have found the interval over. It counts from here even if the write's outcome is
        never known.
        """
        now = self._runtime.monotonic()
        if isinstance(facts, Present) and isinstance(policy := facts.value.guard.policy, Present):
            missing = policy.value.min_interval - (now - self._last_start)
            if missing > 0 and not facts.value.grounds.past_guard:
                return Hold(StartInterval(missing))
        self._claims[uid] = self._last_start, now
        self._last_start = now
        return None

    def answered(self, uid: str, *, refused: bool) -> None:
        """End the claim. A refused write started nothing, so the interval is restored."""
        before, claimed = self._claims.pop(uid, (0.0, None))
        if refused and claimed == self._last_start:
            self._last_start = before

    def node_changed(self, change: Change[NodeRecord]) -> None:
        if not self._listening:
            return
        moment = self._moment()
        if change.new is not None:
            # During the first count the few nodes counted so far could look like a storm.
            self._upsert(change.new, moment, update_storms=self._counted_by is not None)
        elif change.old is not None:
            lasting = self._view.not_ready_for(change.old.uid) >= COUNTS_ON_AFTER
            for scope in (self._all, self._checked):
                scope.leave(change.key, moment.now, counts_on=lasting)

    async def _rebuild_counts(self) -> None:
        """Recount all nodes if the rules changed, before the guard is asked under the new rules.

        A storm is a share of all nodes: a partial count would report one falsely.
        """
        if not self._view.synced or current_rules(self._view.checks, self._view.policies) == self._counted_by:
            return
        async with self._counting.taken():
            rules = current_rules(self._view.checks, self._view.policies)
            if rules == self._counted_by:
                return
            self._counted_by, self._listening = None, True
            names = list(self._view.nodes.keys())
            for first in range(0, len(names), COUNTED_AT_A_TIME):
                moment = self._moment()
                for name in names[first : first + COUNTED_AT_A_TIME]:
                    if (record := self._view.nodes.get(name)) is not None:
                        self._upsert(record, moment, update_storms=False)
                await self._runtime.sleep(0)
            self._counted_by = rules

    def _upsert(self, node: NodeRecord, moment: Clocks, *, update_storms: bool) -> None:
        check = next(iter(selecting(self._view.checks.all(), node.labels)), None)
        guard_target = GuardTarget(
            node.name, node.labels, check_facts(check, moment.wall) if check else _NO_CHECK
        )
        well = is_ready(node) and not (check and meets_threshold(check, node.conditions))
        entry = HEALTHY if well else _UNWELL
        self._all.upsert(guard_target, entry, moment)
        if check is not None:
            self._checked.upsert(guard_target, entry, moment)
        else:
            self._checked.leave(node.name, moment.now, counts_on=False)
        if update_storms:
            self._all.update_storms(guard_target, moment)
            if check is not None:
                self._checked.update_storms(guard_target, moment)

    def _guard_facts(
        self,
        evaluator: GuardEvaluator,
        guard_target: GuardTarget,
        moment: Clocks,
        seen: ReadResult[OtherRemediations],
    ) -> GuardFacts:
        """Return guard facts: counts and storms from the caches, open remediations as just read."""
        placed = evaluator.place_target(guard_target, moment)
        evaluator.update_storms(placed, moment)
        others = seen.value if isinstance(seen, Present) else OtherRemediations()
        facts, place = evaluator.evaluate(placed, moment, Busy()), placed.place
        away = [
            place_of
            for name in others.away | {guard_target.name}
            if (place_of := _counted_healthy(evaluator, name))
        ]
        busy = [there for name in others.nodes if (there := evaluator.target_index.place_of(name))]
        released = others.released - {guard_target.name}
        gone = [there for name in released if (there := evaluator.target_index.place_of(name))]
        domain = facts.of_domain
        if domain is not None:
            here = sum(one.domain == place.domain for one in away)
            in_progress = sum(one.domain == place.domain for one in busy)
            elsewhere = sum(one.domain == place.domain for one in gone)
            domain = replace(
                domain, health_counts=_with(domain.health_counts, here, in_progress), released=elsewhere
            )
        return replace(
            facts,
            of_check=_with(facts.of_check, sum(one.check == place.check for one in away), len(busy)),
            of_cluster=_with(facts.of_cluster, len(away), len(busy)),
            of_domain=domain,
            others=project(seen, lambda found: found.in_progress),
            released=len(released),
            since_last_start=moment.now - self._last_start,
        )

    def _target(self, node: Node | None, lease: ReadResult[LeaseFacts]) -> TargetObservation | None:
        if node is None:
            return None
        silent = isinstance(lease, Present) and lease.value.silent
        seen_for = self._view.not_ready_for(node.metadata.uid)
        return TargetObservation(node.metadata.name, node_facts(node).ready, seen_for, silent)

    def _moment(self) -> Clocks:
        return Clocks(self._runtime.monotonic(), self._runtime.wall())


def _guard_target_of(node: Node | None, check: NodeHealthCheck | None, moment: Clocks) -> GuardTarget:
    """Return the guard target of the Node as just read."""
    if node is None:
        return GuardTarget("", {}, _NO_CHECK)
    metadata = node.metadata
    return GuardTarget(
        name=metadata.name,
        labels=metadata.labels,
        check=check_facts(check, moment.wall) if check is not None else _NO_CHECK,
        excluded_by=excluded_by(metadata.labels, metadata.annotations),
        maintained_by=maintained_by(check, node.status.conditions) if check is not None else "",
    )


def _counted_healthy(evaluator: GuardEvaluator, name: str) -> CountScope | None:
    """Return the count scope of a node that counts as healthy although a remediation holds it."""
    previous = evaluator.target_index.previous(name)
    return previous[0] if previous is not None and previous[1] == HEALTHY else None


def _with(health_counts: HealthCounts, away: int, remediating: int) -> HealthCounts:
    return HealthCounts(health_counts.total, health_counts.unhealthy + away, remediating)


class NodeClaims:
    """Kept by every replica, leader or not. The owner must pass every change of `nodes` to `note`."""

    def __init__(self, nodes: Reflector[NodeWire, NodeRecord], runtime: Runtime) -> None:
        self._nodes = nodes
        self._runtime = runtime
        self._names: dict[int, str | set[str]] = {}
        """Names of Nodes with a claim, by the hash of the claim.

        Nearly always one name, so stored without a set; the claim itself is long, so only its hash is kept.
        """

    def others(self, claims: frozenset[str], node: str) -> ReadResult[tuple[str, ...]]:
        """Return the names of all Nodes except `node` with one of these claims."""
        age = self._nodes.cache.age(self._runtime.monotonic())
        if age > VIEW_GOOD_FOR:
            since = f"for {age:.0f} s" if age < float("inf") else "yet"
            return Unreadable(f"the watch of Nodes has received nothing {since}")
        if unreadable := self._nodes.unreadable:
            return Unreadable(f"the Node {min(unreadable)} cannot be decoded")
        found = {name for claim in claims for name in self._stated_by(hash(claim))} - {node}
        return Present(tuple(sorted(name for name in found if self._states(name, claims))))

    def note(self, change: Change[NodeRecord]) -> None:
        before, after = _hashes(change.old), _hashes(change.new)
        for claim in before - after:
            names = self._names[claim]
            if isinstance(names, set) and len(names) > 1:
                names.discard(change.key)
            else:
                del self._names[claim]
        for claim in after - before:
            names = self._names.setdefault(claim, change.key)
            if isinstance(names, set):
                names.add(change.key)
            elif names != change.key:
                self._names[claim] = {names, change.key}

    def _stated_by(self, claim: int) -> set[str]:
        names = self._names.get(claim, set())
        return names if isinstance(names, set) else {names}

    def _states(self, name: str, claims: frozenset[str]) -> bool:
        """Check that the Node really has one of these claims: two claims may have the same hash."""
        record = self._nodes.cache.get(name)
        return record is not None and not claims.isdisjoint(_claims_of(record))


def _claims_of(node: NodeRecord) -> frozenset[str]:
    return node_claims(node.provider_id, node.system_uuid)


def _hashes(node: NodeRecord | None) -> frozenset[int]:
    return frozenset(map(hash, _claims_of(node))) if node is not None else frozenset()


_NODES: Final = "nodes"


class ClusterView:
    """The guard's inputs, and since when each node has been observed not Ready."""

    def __init__(self, runtime: Runtime, transport: Transport) -> None:
        self._runtime = runtime
        self._transport = transport
        self._nodes = Reflector(node_records(identity=True), chance=runtime.random)
        self.claims = NodeClaims(self._nodes, runtime)
        self._checks = Reflector(whole(NODE_HEALTH_CHECK, NodeHealthCheck), chance=runtime.random)
        self._policies = Reflector(whole(REMEDIATION_POLICY, RemediationPolicy), chance=runtime.random)
        self._not_ready_since: dict[str, float] = {}
        """By Node UID, monotonic seconds. Ready nodes are not in it."""
        self.on_node: Callable[[Change[NodeRecord]], None] | None = None
        """The leader's callback for every change of a Node."""

    @property
    def nodes(self) -> Store[NodeRecord]:
        return self._nodes.cache

    @property
    def checks(self) -> Store[NodeHealthCheck]:
        return self._checks.cache

    @property
    def policies(self) -> Store[RemediationPolicy]:
        return self._policies.cache

    @property
    def caches(self) -> dict[str, Store[Any]]:
        return {_NODES: self.nodes, "nodehealthchecks": self.checks, "remediationpolicies": self.policies}

    @property
    def unreadable(self) -> dict[str, Callable[[], int]]:
        reflectors: dict[str, Reflector[Any, Any]] = {_NODES: self._nodes, "nodehealthchecks": self._checks}
        return {name: lambda found=found: len(found.unreadable) for name, found in reflectors.items()}  # type: ignore[misc]

    @property
    def synced(self) -> bool:
        return all(cache.synced_at is not None for cache in self.caches.values())

    def follow(self) -> dict[str, Coroutine[Any, Any, None]]:
        transport, runtime = self._transport, self._runtime
        return {
            "view of Nodes": run_reflector(self._nodes, transport, runtime, self._nodes_changed),
            "view of checks": run_reflector(self._checks, transport, runtime, lambda _: None),
            "view of the policy": run_reflector(self._policies, transport, runtime, lambda _: None),
        }

    def not_ready_for(self, uid: str) -> float:
        """Return the seconds since the node was first observed not Ready; 0 for a node that was not."""
        since = self._not_ready_since.get(uid)
        return 0.0 if since is None else self._runtime.monotonic() - since

    # The guard's inputs: see guard/evaluator.

    def freshness(self, _guard_target: GuardTarget, now: float) -> CacheFreshness | CacheUnavailable:
        missing = [name for name, cache in self.caches.items() if cache.synced_at is None]
        if missing:
            return CacheUnavailable(f"the remediator has not listed all {missing[0]} yet")
        age = max(cache.age(now) for cache in self.caches.values())
        return cache_freshness(self.nodes, age, now)

    def busy(self, _guard_target: GuardTarget, _now: float) -> Busy:
        """Return nothing: the caller reads this live."""
        return Busy()

    def control_plane(self, _guard_target: GuardTarget, _busy: Busy) -> ControlPlane | None:
        """Return nothing: the caller reads this live."""
        return None

    def _nodes_changed(self, changes: Sequence[Change[NodeRecord]]) -> None:
        now = self._runtime.monotonic()
        for change in changes:
            if change.new is not None and is_ready(change.new):
                self._not_ready_since.pop(change.new.uid, None)
            elif change.new is not None:
                self._not_ready_since.setdefault(change.new.uid, now)
            self.claims.note(change)
            if self.on_node is not None:
                self.on_node(change)
            if change.new is None and change.old is not None:
                self._not_ready_since.pop(change.old.uid, None)
