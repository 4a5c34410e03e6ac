"""Invariants of every simulated run of the walking path, verified at every write.

The numbers are those of SAFETY.md.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from nodemend.api import well_known
from nodemend.api.resources import (
    LEASE,
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    NODE,
    POD,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
    Resource,
)
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request, Selection
from simulation.cluster.machines import Machine
from simulation.cluster.world import FOREIGN_TAINT, World
from tests.simulation.convergence import InvariantBrokenError

EVIDENCE: Mapping[Resource, tuple[str, ...]] = {MANUAL_REMEDIATION: ("E5",), METAL3_REMEDIATION: ("E1",)}
"""Evidence classes on which each kind releases workloads."""
POLICY_READ_WITHIN = 15.0
LATEST_ARRIVAL = 61.0


class Invariants:
    """Observes every write in a world."""

    evidence: ClassVar = EVIDENCE
    latest_arrival: float = LATEST_ARRIVAL
    """Longest time in seconds from the sending of a write to its effect."""

    def __init__(self) -> None:
        self.releases = 0
        self.deletions = 0
        """Number of releases by deleting the Node."""
        self.starts: Counter[str] = Counter()
        self.followed = 0
        self._orders: Counter[str] = Counter()
        self._released_confirmations: Counter[str] = Counter()
        self._allowed: list[tuple[float, bool]] = []
        self._world: World | None = None

    def watch(self, world: World) -> None:
        self._world = world
        world.checker.witnesses.append(self._saw_write)
        world.remediator.witnesses.append(self._saw_write)
        self.note_policy()

    @property
    def world(self) -> World:
        if self._world is None:
            raise RuntimeError("watches no world yet")
        return self._world

    def started(self, machine: Machine, workload: str) -> None:
        """Check I1: a process starts only if no other machine runs the same workload."""
        self.starts[workload] += 1
        others = [
            other.name
            for other in self.world.machines.values()
            if other is not machine and workload in other.running.values()
        ]
        if others:
            raise InvariantBrokenError(f"I1: {workload} starts on {machine.name} while {others} run it")

    def note_policy(self) -> None:
        """Record the policy. Call it after every change of the policy, because I5 depends on its history."""
        policy = self.world.admin_api.get(REMEDIATION_POLICY, well_known.POLICY_NAME)
        spec = policy["spec"] if policy else {}
        self._allowed.append((self.world.scheduler.now, spec.get("mode") == "Act" and "pause" not in spec))

    def _saw_write(self, user: str, request: Request, answer: ApiResponse) -> None:
        self._has_preconditions(request)
        if request.method is Method.POST and request.path.endswith(
            tuple(kind.plural for kind in self.evidence)
        ):
            self._saw_beginning(msgspec.json.decode(answer.body))
        if request.method is Method.PATCH and request.path.startswith("/api/v1/nodes/"):
            node = msgspec.json.decode(answer.body)
            body = msgspec.json.decode(request.body)
            if _asks_for_our_taint(body) and _our_taint_is_on(node):
                metadata, boot = node["metadata"], node["status"]["nodeInfo"]["bootID"]
                self._saw_release(metadata["name"], metadata["uid"], boot)
        if forgets_evidence(request):
            self._saw_evidence_forgotten(msgspec.json.decode(answer.body))
        if request.method is Method.DELETE and request.path.startswith("/api/v1/nodes/"):
            self.deletions += 1
            named = msgspec.json.decode(request.body)["preconditions"]
            # The boot was deleted with the Node. Only this version could be deleted; I3 checks that it was
            # named.
            self._saw_release(request.path.rpartition("/")[2], named["uid"], None)

    def _saw_evidence_forgotten(self, remediation: dict[str, Any]) -> None:
        """Check I2: evidence is forgotten only after Nodemend's taint, which depends on it, is removed."""
        uid = (remediation.get("status") or {}).get("nodeUID")
        for node in self.world.admin_api.list(NODE):
            if node["metadata"]["uid"] == uid and _our_taint_is_on(node) and not self._has_evidence(uid):
                name = node["metadata"]["name"]
                raise InvariantBrokenError(f"I2: evidence is forgotten while our taint is on {name}")

    def _has_evidence(self, uid: str) -> bool:
        """Return whether another remediation has evidence for this Node."""
        found = [one.get("status") or {} for kind in self.evidence for one in self.world.admin_api.list(kind)]
        return any(one.get("nodeUID") == uid and "evidence" in one for one in found)

    def _saw_beginning(self, remediation: dict[str, Any]) -> None:
        """Check I5 at the start, with or without an order, and I11: one order, one remediation."""
        metadata = remediation["metadata"]
        self._was_allowed(metadata["name"])
        order = metadata["annotations"].get(well_known.ORDER)
        if order is None:
            return
        self.followed += 1
        self._orders[order] += 1
        if self._orders[order] > 1:
            raise InvariantBrokenError(f"I11: the order for {metadata['name']} was followed twice")

    def _has_preconditions(self, request: Request) -> None:
        """Check I3: every deletion and every change of a Node name the object and its version."""
        if request.method is Method.DELETE:
            conditions = msgspec.json.decode(request.body).get("preconditions", {})
        elif request.method is Method.PATCH and "/api/v1/nodes/" in request.path:
            conditions = msgspec.json.decode(request.body)["metadata"]
        else:
            return
        if not conditions.get("uid") or not conditions.get("resourceVersion"):
            raise InvariantBrokenError(f"I3: {request.method} {request.path} without preconditions")

    def _saw_release(self, name: str, uid: str, boot: str | None) -> None:
        self.releases += 1
        claims = [
            (kind, remediation)
            for kind in self.evidence
            for remediation in self.world.admin_api.list(kind)
            if (remediation.get("status") or {}).get("nodeUID") == uid
            and "evidence" in remediation["status"]
            and not remediation["status"].get("released")
        ]
        if len(claims) != 1:
            raise InvariantBrokenError(f"I4: {len(claims)} remediations release {name}")
        [(kind, claim)] = claims
        evidence = claim["status"]["evidence"]
        named = (evidence["nodeUID"], evidence["bootID"])
        if evidence["class"] not in self.evidence[kind] or named != (uid, boot or evidence["bootID"]):
            raise InvariantBrokenError(f"I2: released boot {boot} on evidence {evidence}")
        self._holds_the_lock(claim)
        self._was_allowed(name)
        self._only_once(claim)

    def _holds_the_lock(self, remediation: dict[str, Any]) -> None:
        status = remediation["status"]
        name = f"node-{status.get('nodeUID') or status['host']['uid']}"
        lock = self.world.admin_api.get(LEASE, name, well_known.SYSTEM_NAMESPACE)
        if lock is None or lock["spec"].get("holderIdentity") != remediation["metadata"]["uid"]:
            raise InvariantBrokenError(f"I4: {remediation['metadata']['name']} releases without the lock")

    def _was_allowed(self, node: str) -> None:
        """Check I5: the policy allowed it when it was last read, which is before the write was sent."""
        oldest = self.world.scheduler.now - POLICY_READ_WITHIN - self.latest_arrival
        before = [allowed for when, allowed in self._allowed if when <= oldest][-1:]
        since = [allowed for when, allowed in self._allowed if when > oldest]
        if not any((*before, *since)):
            raise InvariantBrokenError(f"I5: something began on {node} while that was not allowed")

    def _only_once(self, remediation: dict[str, Any]) -> None:
        """Check I11: one confirmation or one observed power-off, one release, regardless of crashes."""
        evidence = remediation["status"]["evidence"]
        seen = (evidence.get("host") or {}).get("lastUpdated", "")
        # A confirmation that is withdrawn and repeated counts as another one.
        given = remediation["status"]["observedGeneration"] if evidence["class"] == "E5" else ""
        confirmation = f"{remediation['metadata']['uid']}/{evidence['bootID']}/{seen}{given}"
        self._released_confirmations[confirmation] += 1
        if self._released_confirmations[confirmation] > 1:
            raise InvariantBrokenError(
                f"I11: {confirmation} was released {self._released_confirmations[confirmation]} times"
            )

    def settled(self) -> None:
        """Check I8 and I14, long after the faults: the world has recovered; Nodemend left nothing behind."""
        world = self.world
        left = [one for kind in self.evidence for one in world.admin_api.list(kind)]
        if left:
            said = [(one.get("status") or {}).get("message") for one in left]
            raise InvariantBrokenError(f"I14: {_names(left)} not closed: {said}")
        if orders := world.admin_api.list(REMEDIATION_ORDER):
            raise InvariantBrokenError(f"I8: orders left behind: {_names(orders)}")
        for node in world.admin_api.list(NODE):
            self._is_clean(node)
        locks = [
            lease["metadata"]["name"]
            for lease in world.admin_api.list(LEASE, Selection(namespace=well_known.SYSTEM_NAMESPACE))
            if lease["metadata"]["name"].startswith("node-")
        ]
        if locks:
            raise InvariantBrokenError(f"I8: locks left behind: {locks}")
        self._workloads_run()

    def _is_clean(self, node: dict[str, Any]) -> None:
        name = node["metadata"]["name"]
        if _our_taint_is_on(node) or well_known.RELEASE_REVOKED in node["metadata"].get("annotations", {}):
            raise InvariantBrokenError(f"I8: something of ours is left on {name}")
        if FOREIGN_TAINT not in node["spec"].get("taints", ()):
            raise InvariantBrokenError(f"I8: another's taint is gone from {name}")
        conditions = node["status"].get("conditions", ())
        ready = [one["status"] for one in conditions if one["type"] == "Ready"]
        if ready != ["True"]:
            raise InvariantBrokenError(f"I14: {name} is not Ready")

    def _workloads_run(self) -> None:
        running = Counter(
            workload for machine in self.world.machines.values() for workload in machine.running.values()
        )
        if running != Counter(self.world.workloads):
            pods = [
                (p["metadata"]["name"], p["spec"].get("nodeName")) for p in self.world.admin_api.list(POD)
            ]
            raise InvariantBrokenError(f"I14: running {dict(running)}, pods {pods}")


def _our_taint_is_on(node: dict[str, Any]) -> bool:
    return any(is_ours(taint) for taint in node["spec"].get("taints", ()))


def forgets_evidence(request: Request) -> bool:
    if request.method is not Method.PATCH or not request.path.endswith("/status"):
        return False
    if request.path.startswith("/api/v1/nodes/"):
        return False
    status = msgspec.json.decode(request.body).get("status") or {}
    return status.get("evidence", "kept") is None


def _asks_for_our_taint(body: dict[str, Any]) -> bool:
    return any(is_ours(taint) for taint in (body.get("spec") or {}).get("taints") or ())


def is_ours(taint: dict[str, Any]) -> bool:
    return (taint["key"], taint.get("value")) == (well_known.OUT_OF_SERVICE, well_known.OUR_TAINT_VALUE)


def _names(objects: list[dict[str, Any]]) -> list[str]:
    return [one["metadata"]["name"] for one in objects]
