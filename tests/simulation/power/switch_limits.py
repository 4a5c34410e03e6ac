"""I5 in its strong form: a power-off exceeds no limit of the policy, for any requester.

A decision uses reads from some time before its write. A limit counts as kept if it was kept at some moment of
that time.
"""

from collections import defaultdict
from collections.abc import Iterator
from math import inf
from typing import Any, Final

import msgspec

from nodemend.api import well_known
from nodemend.api.quantities import parse_duration
from nodemend.api.remediation_policy import RemediationPolicySpec
from nodemend.api.resources import BARE_METAL_HOST, LEASE, NODE
from nodemend.guard.evaluator import VIEW_GOOD_FOR
from nodemend.guard.state import COUNTED_FOR
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from nodemend.safety.limits import LimitSemantics, closed, parse_comparison
from simulation.cluster.world import World
from simulation.network import Fate
from tests.simulation.convergence import InvariantBrokenError

KUBELET_LEASE: Final = 40.0
ON_ITS_WAY: Final = 2.0
"""Seconds by which the interval between two writes may shrink on their way."""

Object = dict[str, Any]


class SwitchLimits:
    """Records the times at which each node was Ready, and at which its kubelet renewed its Lease."""

    def __init__(self, world: World, policy: RemediationPolicySpec, within: float) -> None:
        self._world = world
        self._policy = policy
        self._within = within
        self._ready: defaultdict[str, list[tuple[float, bool]]] = defaultdict(list)
        self._renewed: defaultdict[str, list[float]] = defaultdict(list)
        self._phases: dict[str, str] = {}
        self._last_began: tuple[float, int] | None = None
        self._deleted: dict[str, tuple[float, int]] = {}
        """Time of the deletion of a Node, and the leader term of the remediators at that time."""
        for node in world.admin_api.list(NODE):
            self.note(node)
        world.admin.witnesses.append(self._heard)
        for account in (world.admin, world.remediator):
            account.witnesses.append(self._saw_deletion)

    def began(self, remediation: Object) -> None:
        """Record a status. Call it for every status that is written."""
        metadata, phase = remediation["metadata"], remediation["status"].get("phase", "")
        before = self._phases.get(metadata["uid"])
        self._phases[metadata["uid"]] = phase
        if phase != "power-off" or before == phase:
            return
        now, late, last = self._now, self._late_writes(), self._last_began
        self._last_began = now, late
        if last is None or last[1] != late or _is_past_guard(remediation):
            return
        interval = parse_duration(self._policy.min_interval).total_seconds()
        if now - last[0] < interval - ON_ITS_WAY:
            raise InvariantBrokenError(f"I5: two began within {now - last[0]:.1f} s of {interval:.0f} s")

    def may_be_held(self, host: str, remediation: Object) -> None:
        """Check a power-off request for `host`. Hosts have the names of their nodes."""
        if self._ready[host] and not self._was_sick(host):
            raise InvariantBrokenError(f"I5: {host} is switched off, and its node is well")
        if _is_past_guard(remediation):
            return
        held = self._others_held(host)
        share = self._policy.max_concurrent_percent * len(self._ready) // 100
        most = max(1, min(self._policy.max_concurrent, share))
        if len(held) >= most + self._late_writes():
            raise InvariantBrokenError(f"I5: {host} is switched off beside {held}, and {most} may be")
        if all(self._is_storm(moment, host) for moment in self._moments()):
            raise InvariantBrokenError(f"I5: {host} is switched off in a storm")

    def _was_sick(self, name: str) -> bool:
        since = self._now - self._within
        reported = self._ready[name]
        before = [ready for when, ready in reported if when <= since][-1:]
        if not all((*before, *(ready for when, ready in reported if when > since))):
            return True
        renewed = [when for when in self._renewed[name] if when > since - KUBELET_LEASE]
        gaps = zip([since - KUBELET_LEASE, *renewed], [*renewed, self._now], strict=True)
        return any(later - earlier >= KUBELET_LEASE for earlier, later in gaps)

    def _moments(self) -> Iterator[float]:
        since = self._now - self._within - VIEW_GOOD_FOR
        yield since
        yield from (when for reported in self._ready.values() for when, _ in reported if when > since)

    def _is_storm(self, moment: float, target: str) -> bool:
        counted = [name for name in self._ready if not self._is_forgotten(name)]
        unwell = {name for name in counted if not self._ready_at(name, moment)} | {target}
        gate, total = parse_comparison(self._policy.max_unhealthy), len(counted)
        return closed(gate, len(unwell), total, LimitSemantics.ALLOW_ONE)

    def _is_forgotten(self, name: str) -> bool:
        """Return whether a deleted Node no longer counts.

        It counts for a while, under the leader that observed the deletion.
        """
        if self._world.admin_api.get(NODE, name) is not None:
            return False
        when, leadership = self._deleted.get(name, (-inf, 0))
        return self._now - when > COUNTED_FOR - self._within or leadership != self._leadership

    @property
    def _leadership(self) -> int:
        lease = self._world.admin_api.get(LEASE, "nodemend-remediator", well_known.SYSTEM_NAMESPACE)
        return int(lease["spec"].get("leaseTransitions", 0)) if lease else 0

    def _saw_deletion(self, _user: str, request: Request, _answer: ApiResponse) -> None:
        if request.method is Method.DELETE and request.path.startswith("/api/v1/nodes/"):
            self._deleted[request.path.rpartition("/")[2]] = (self._now, self._leadership)

    def _ready_at(self, name: str, moment: float) -> bool:
        return next((ready for when, ready in reversed(self._ready[name]) if when <= moment), True)

    def _others_held(self, host: str) -> list[str]:
        return [
            one["metadata"]["name"]
            for one in self._world.admin_api.list(BARE_METAL_HOST)
            if one["metadata"]["name"] != host
            and any(
                key.startswith(well_known.POWER_OFF_REQUEST_PREFIX)
                for key in one["metadata"].get("annotations", {})
            )
        ]

    def _late_writes(self) -> int:
        """Return the number of writes that may have been applied after their sender gave up.

        The remediator cannot count these.
        """
        fates = (Fate.LATE, Fate.REPLY_LOST, Fate.RESET)
        return sum(replica.faults.get(fate, 0) for replica in self._world.replicas for fate in fates)

    @property
    def _now(self) -> float:
        return self._world.scheduler.now

    def _heard(self, _user: str, request: Request, answer: ApiResponse) -> None:
        if request.path.startswith("/api/v1/nodes/") and request.path.endswith("/status"):
            self.note(msgspec.json.decode(answer.body))
        elif f"/{well_known.KUBELET_LEASE_NAMESPACE}/" in request.path and (name := _name_in(answer)):
            self._renewed[name].append(self._now)

    def note(self, node: Object) -> None:
        conditions = node.get("status", {}).get("conditions", ())
        ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
        self._ready[node["metadata"]["name"]].append((self._now, ready))


def _name_in(answer: ApiResponse) -> str:
    """Return the object's name; empty for a Status, as in the answer to a deletion or a refusal."""
    name: str = msgspec.json.decode(answer.body).get("metadata", {}).get("name", "")
    return name


def _is_past_guard(remediation: Object) -> bool:
    return well_known.PAST_GUARD in remediation["metadata"].get("annotations", {})
