"""What every replica of the remediator watches beside remediations: Nodes, NodeHealthChecks and the policy.

Caches count and wake; what a step rests on is read afresh. Nothing but the guard waits for them.
"""

from collections.abc import Callable, Coroutine, Sequence
from math import inf
from typing import Any, Final, TypeVar

from nodemend.api.group_versions import NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.controllers.checking.guarding import CALM_NEEDED, VIEW_GOOD_FOR
from nodemend.controllers.checking.ward import Busy, Ward
from nodemend.controllers.remediating.node_claims import NodeClaims
from nodemend.controllers.remediating.switch_guard import is_ready
from nodemend.decide.guard_facts import Blind, ControlPlane, Sight
from nodemend.kube.node_record import NodeRecord, node_records
from nodemend.kube.object_cache import Change, ObjectCache
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.projection import Projection, Wire, whole
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_loop import run_reflector
from nodemend.kube.reflector_steps import ReflectorTimings

W = TypeVar("W", bound=Wire)
R = TypeVar("R")

Follow = Callable[[Change[NodeRecord]], None]
_NODES: Final = "nodes"


class ClusterView:
    """The surroundings that the guard looks at, and since when each node has been seen not Ready."""

    def __init__(self, runtime: Runtime, transport: Transport, timings: ReflectorTimings) -> None:
        self._runtime = runtime
        self._transport = transport
        self._timings = timings
        self._nodes = self._reflect(node_records(identity=True))
        self.claims = NodeClaims(self._nodes, runtime)
        self._checks = self._reflect(whole(NODE_HEALTH_CHECK, NodeHealthCheck))
        self._policies = self._reflect(whole(REMEDIATION_POLICY, RemediationPolicy))
        self._not_ready_since: dict[str, float] = {}
        """By UID. A node that is Ready is not in it."""
        self.on_node: Follow | None = None
        """Told of every change of a Node, by whoever leads."""

    @property
    def nodes(self) -> ObjectCache[NodeRecord]:
        return self._nodes.cache

    @property
    def checks(self) -> ObjectCache[NodeHealthCheck]:
        return self._checks.cache

    @property
    def policies(self) -> ObjectCache[RemediationPolicy]:
        return self._policies.cache

    @property
    def caches(self) -> dict[str, ObjectCache[Any]]:
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
        """Seconds; 0 for a node that was not seen so."""
        since = self._not_ready_since.get(uid)
        return 0.0 if since is None else self._runtime.monotonic() - since

    # What the guard looks at around a target: controllers/checking/guarding.

    def sight(self, _ward: Ward, now: float) -> Sight | Blind:
        missing = [name for name, cache in self.caches.items() if cache.synced_at is None]
        if missing:
            return Blind(f"the remediator has not listed all {missing[0]} yet")
        troubled = self.nodes.troubled_at
        calm_for = inf if troubled is None else now - troubled
        age = max(cache.age(now) for cache in self.caches.values())
        return Sight(age, VIEW_GOOD_FOR, calm_for, CALM_NEEDED)

    def busy(self, _ward: Ward, _now: float) -> Busy:
        """Read afresh instead."""
        return Busy()

    def control_plane(self, _ward: Ward, _busy: Busy) -> ControlPlane | None:
        """Read afresh instead."""
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
