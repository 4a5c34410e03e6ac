"""Caches that every remediator replica keeps beside remediations: Nodes, NodeHealthChecks, the policy.

Caches count and wake; the facts of a step are read live. Only the guard waits for the caches to sync.

Index of identity claims by Node: provider ID, the host named in it, system UUID. Each must be unique.

It is kept from the remediator's watch of Nodes, so that no decision scans all of them. It can only hold a
remediation, never allow one: the Node itself, its Machine and its host are read live as well.
"""

from collections.abc import Callable, Coroutine, Sequence
from math import inf
from typing import Any, Final, Protocol, TypeVar

from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.resources import NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.guard.evaluator import CALM_NEEDED, VIEW_GOOD_FOR
from nodemend.guard.state import Busy, GuardTarget, is_ready
from nodemend.kube.informer import run_reflector
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.reflector import Reflector, ReflectorTimings
from nodemend.kube.store import Change, DecodedObject, Projection, Store, whole
from nodemend.records.node import NodeRecord, NodeWire, node_records
from nodemend.safety.facts import Present, ReadResult, Unreadable
from nodemend.safety.guard import CacheFreshness, CacheUnavailable, ControlPlane
from nodemend.safety.identity import node_claims


class Claims(Protocol):
    def others(self, claims: frozenset[str], node: str) -> ReadResult[tuple[str, ...]]:
        """Return the names of all Nodes except `node` with one of these claims."""


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
        age = self._nodes.cache.age(self._runtime.monotonic())
        if age > VIEW_GOOD_FOR:
            since = f"for {age:.0f} s" if age < float("inf") else "yet"
            return Unreadable(f"the watch of Nodes has heard nothing {since}")
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


W = TypeVar("W", bound=DecodedObject)
R = TypeVar("R")

Follow = Callable[[Change[NodeRecord]], None]
_NODES: Final = "nodes"


class ClusterView:
    """The guard's inputs, and since when each node has been observed not Ready."""

    def __init__(self, runtime: Runtime, transport: Transport, timings: ReflectorTimings) -> None:
        self._runtime = runtime
        self._transport = transport
        self._timings = timings
        self._nodes = self._reflect(node_records(identity=True))
        self.claims = NodeClaims(self._nodes, runtime)
        self._checks = self._reflect(whole(NODE_HEALTH_CHECK, NodeHealthCheck))
        self._policies = self._reflect(whole(REMEDIATION_POLICY, RemediationPolicy))
        self._not_ready_since: dict[str, float] = {}
        """By Node UID, monotonic seconds. Ready nodes are not in it."""
        self.on_node: Follow | None = None
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
        return {
            "view of Nodes": self._keep(self._nodes, self._nodes_changed),
            "view of checks": self._keep(self._checks, lambda _: None),
            "view of the policy": self._keep(self._policies, lambda _: None),
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
        troubled = self.nodes.troubled_at
        error_free_for = inf if troubled is None else now - troubled
        age = max(cache.age(now) for cache in self.caches.values())
        return CacheFreshness(age, VIEW_GOOD_FOR, error_free_for, CALM_NEEDED)

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

    def _reflect(self, projection: Projection[W, R]) -> Reflector[W, R]:
        return Reflector(projection, chance=self._runtime.random, timings=self._timings)

    async def _keep(self, reflector: Reflector[W, R], changed: Callable[[Sequence[Change[R]]], None]) -> None:
        await run_reflector(reflector, self._transport, self._runtime, changed)
