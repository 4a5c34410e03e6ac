"""Checks releases against the processes that machines run, while others release and delete Nodes, too."""

from collections import Counter
from typing import Any, ClassVar, Final

import msgspec

from nodemend.api import well_known
from nodemend.api.resources import (
    BARE_METAL_HOST,
    LEASE,
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    NODE,
    REMEDIATION_POLICY,
    SELF_REMEDIATION,
)
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.cluster.machines import Machine
from simulation.cluster.world import World
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.hostile.attribution import NODES, Attribution, node_in, taints_of
from tests.simulation.hostile.clusters import FAR
from tests.simulation.hostile.fault_context import CANARY
from tests.simulation.hostile.policies import Policies
from tests.simulation.hostile.versions import LATER
from tests.simulation.power.invariants import PowerInvariants
from tests.simulation.walking_path.invariants import EVIDENCE, Invariants, forgets_evidence, is_ours

Object = dict[str, Any]

OURS: Final = "nodemend.io/"
ONE_AT_A_TIME: Final = 0.4
"""Share of the seeds of power cycles with a limit of one remediation at a time."""
ENDED: Final = ("succeeded", "failed", "")
"""Phases in which a remediation releases its lock."""
AGENT_LEASES: Final = f"/namespaces/{well_known.AGENT_NAMESPACE}/leases/"
LOCKS: Final = f"/namespaces/{well_known.SYSTEM_NAMESPACE}/leases/node-"


class HostileInvariants(Invariants):
    """The usual invariants with attribution, and with counters."""

    removes_nodes = False
    strict_release = True
    """True if the machine is known to be off at the moment of the write that releases it."""

    def __init__(self, policies: Policies) -> None:
        super().__init__()
        self.checked: Counter[str] = Counter()
        self._policies = policies
        self._writes = ""
        """User of the write that is being checked."""
        self.marked = 0
        self._attribution: Attribution | None = None
        self._begun: set[tuple[str, str]] = set()
        """UIDs of SelfRemediations, with the boots that they marked."""

    @property
    def attribution(self) -> Attribution:
        if self._attribution is None:
            raise RuntimeError("watches nothing yet")
        return self._attribution

    def watch(self, world: World) -> None:
        self._attribution = Attribution(world)
        super().watch(world)
        world.engine.removed = self._saw_removal
        for account in (world.checker, world.remediator):
            account.witnesses.append(self._saw_secret)
        world.remediator.witnesses.append(self._saw_node)

    # I1

    def started(self, machine: Machine, workload: str) -> None:
        self.starts[workload] += 1
        self.checked["I1"] += 1
        self.attribution.started(machine, workload)

    def _saw_removal(self, pod: Object) -> None:
        self.checked["I1"] += 1
        self.attribution.removed(pod)

    def restored(self) -> None:
        """Handle a restore of etcd: some counted writes never happened."""
        self._orders.clear()
        self._released_confirmations.clear()
        self._policies.restored()
        self.note_policy()
        self.attribution.restored()

    def remember(self, request: Request) -> None:
        """Record the state before a write by Nodemend. Call it before every write."""
        if request.writes and request.path.startswith(NODES):
            name = node_in(request)
            before = self.attribution.remember(name)
            if before and request.method is Method.PATCH:
                self._asks_for_ours_alone(name, before, msgspec.json.decode(request.body))
        elif request.writes and LOCKS in request.path:
            self._leaves_locks_alone(request)

    def _leaves_locks_alone(self, request: Request) -> None:
        """Check I4: no write takes a lock from an existing remediation, or from one of an unknown kind."""
        lock = self.world.admin_api.get(LEASE, request.path.rpartition("/")[2], well_known.SYSTEM_NAMESPACE)
        if lock is None:
            return
        self.checked["I4"] += 1
        metadata, holder = lock["metadata"], lock["spec"].get("holderIdentity", "")
        if metadata.get("annotations", {}).get(well_known.HOLDER) == LATER:
            raise InvariantBrokenError(f"I4: {request.method} of the lock of a later version")
        body = msgspec.json.decode(request.body)
        named = body.get("preconditions") or body.get("metadata") or {}
        if named.get("resourceVersion") != metadata["resourceVersion"]:
            return
        taken = (body.get("spec") or {}).get("holderIdentity", holder) != holder
        if (taken or request.method is Method.DELETE) and self._is_in_progress(holder):
            raise InvariantBrokenError(f"I4: {request.method} of the lock of {holder}, which is at work")

    def _is_in_progress(self, uid: str) -> bool:
        """Return whether the remediation exists and is not about to end by itself."""
        kinds = (MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION)
        found = [one for kind in kinds for one in self.world.admin_api.list(kind)]
        return any(
            one["metadata"]["uid"] == uid
            and "deletionTimestamp" not in one["metadata"]
            and (one.get("status") or {}).get("phase", "").lower() not in ENDED
            for one in found
        )

    def _saw_node(self, _user: str, request: Request, answer: ApiResponse) -> None:
        if not request.path.startswith(NODES):
            return
        name = node_in(request)
        before, after = self.attribution.saw_node(name, request, answer)
        if after:
            self._changes_ours_alone(name, before, after)

    def _asks_for_ours_alone(self, name: str, before: Object, asked: Object) -> None:
        """Check I8 even if a policy would refuse the write: that policy may be missing one day."""
        current = before["metadata"]["resourceVersion"]
        if "taints" not in (asked.get("spec") or {}) or asked["metadata"].get("resourceVersion") != current:
            return
        wanted = asked["spec"]["taints"] or []
        if lost := [one for one in taints_of(before) if not is_ours(one) and one not in wanted]:
            raise InvariantBrokenError(f"I8: {name} is to lose {lost}, which is not ours")

    def _changes_ours_alone(self, name: str, before: Object, after: Object) -> None:
        """Check I8: Nodemend changes only its taint and annotations on a Node, but may add to a new one."""
        self.checked["I8"] += 1
        if not before or before["metadata"]["uid"] != after["metadata"]["uid"]:
            return
        was, is_ = _of_others(before), _of_others(after)
        kept = was == is_ or (self.removes_nodes and _contains(is_, was))
        if not kept:
            raise InvariantBrokenError(f"I8: {name} had {was}, and after our write {is_}")

    # Counted here, checked by the base class.

    def _saw_write(self, user: str, request: Request, answer: ApiResponse) -> None:
        self._writes = user
        super()._saw_write(user, request, answer)

    def _has_preconditions(self, request: Request) -> None:
        self.checked["I3"] += 1
        super()._has_preconditions(request)

    def _saw_release(self, name: str, uid: str, boot: str | None) -> None:
        self.checked.update(("I1", "I2", "I4", "I11"))
        machine = self.world.machines[name]
        alive = self.attribution.running(machine)
        if self.strict_release and alive:
            raise InvariantBrokenError(f"I1: {name} is released while it runs {sorted(alive.values())}")
        super()._saw_release(name, uid, boot)

    def _was_allowed(self, node: str) -> None:
        self.checked["I5"] += 1
        self._policies.may_begin(self._writes, node)
        super()._was_allowed(node)

    def _saw_secret(self, _user: str, request: Request, _answer: ApiResponse) -> None:
        """Check I12: no write of Nodemend has the content of a Secret."""
        self.checked["I12"] += 1
        if CANARY.encode() in request.body or "/secrets" in request.path:
            raise InvariantBrokenError(f"I12: {request.method} {request.path} tells what is in a Secret")

    def saw_read(self, request: Request, _answer: ApiResponse) -> None:
        """Check I12: no program reads Secrets. Call it for every request of Nodemend."""
        if "/secrets" in request.path:
            raise InvariantBrokenError(f"I12: {request.path} is read")

    def settled(self) -> None:
        self.checked.update(("I8", "I14"))
        super().settled()


class HostilePowerInvariants(HostileInvariants, PowerInvariants):
    """Invariants of power cycles. metal3 may report a power-off late, so forced removals are checked."""

    removes_nodes = True
    strict_release = False
    evidence: ClassVar = {**EVIDENCE, SELF_REMEDIATION: ("E2", "E4")}

    def watch(self, world: World) -> None:
        """Set a limit of one remediation at a time in some worlds, which reveals errors in the count."""
        if world.scheduler.chance("one at a time").random() < ONE_AT_A_TIME:
            world.admin_api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"maxConcurrent": 1}})
        super().watch(world)
        world.remediator.witnesses.append(self._saw_marker)
        world.remediator.witnesses.append(self._saw_evidence_go)

    def _saw_evidence_go(self, _user: str, request: Request, answer: ApiResponse) -> None:
        """Forget a release whose evidence is forgotten.

        For I11, evidence that is gathered again under a new leader is other evidence (decision 59).
        """
        if f"/{SELF_REMEDIATION.plural}/" in request.path and forgets_evidence(request):
            uid = msgspec.json.decode(answer.body)["metadata"]["uid"]
            for confirmation in [one for one in self._released_confirmations if one.startswith(uid)]:
                del self._released_confirmations[confirmation]

    def _saw_marker(self, user: str, request: Request, _answer: ApiResponse) -> None:
        """Check I4, I5, I9: the writer holds the lock, may start, and the node reported the boot."""
        if AGENT_LEASES not in request.path:
            return
        noted = (msgspec.json.decode(request.body).get("metadata") or {}).get("annotations") or {}
        if not noted.get(well_known.MARKER):
            return
        self.checked.update(("I4", "I5", "I9"))
        self._writes, name = user, request.path.rpartition("/")[2]
        marker = msgspec.json.decode(noted[well_known.MARKER])
        self.marked += 1
        remediation = self.world.admin_api.get(SELF_REMEDIATION, name, well_known.SYSTEM_NAMESPACE)
        if remediation is None or not (remediation.get("status") or {}).get("nodeUID"):
            raise InvariantBrokenError(f"I4: {name} is marked, and nobody asked for that")
        begun = (remediation["metadata"]["uid"], marker["bootID"])
        if begun not in self._begun:
            # A new leader that repeats a marker starts nothing.
            self._was_allowed(name)
        self._begun.add(begun)
        self._holds_the_lock(remediation)
        if self._is_held(name):
            raise InvariantBrokenError(f"I4: {name} is marked while its host is switched")
        reported = self._boots.within(name, self.read_within)
        if marker["bootID"] not in reported:
            raise InvariantBrokenError(
                f"I9: {marker['bootID']} is marked, and {name} told {sorted(reported)}"
            )

    def _is_held(self, name: str) -> bool:
        found = [one for one in self.world.admin_api.list(BARE_METAL_HOST) if one["metadata"]["name"] == name]
        return any(
            key.startswith(well_known.POWER_OFF_REQUEST_PREFIX)
            for one in found
            for key in one["metadata"].get("annotations", {})
        )

    def _saw_hold(self, key: str, version: str, host: Object) -> None:
        self.checked.update(("I3", "I4", "I5", "I6", "I9", "I11"))
        if host["metadata"]["name"] == FAR:
            raise InvariantBrokenError("I9: a host of another cluster is switched off for a node of ours")
        self._is_unmarked(host["metadata"]["name"])
        super()._saw_hold(key, version, host)

    def _is_unmarked(self, name: str) -> None:
        """Check I4: a SelfRemediation of the node has ended or given way, and its marker is removed."""
        lease = self.world.admin_api.get(LEASE, name, well_known.AGENT_NAMESPACE) or {"metadata": {}}
        if lease["metadata"].get("annotations", {}).get(well_known.MARKER):
            raise InvariantBrokenError(f"I4: the host of {name} is switched while {name} is marked")

    def restored(self) -> None:
        super().restored()
        self._placed.clear()
        for node in self.world.admin_api.list(NODE):
            self._boots.note(node)
            self._members.note(node)
            self._limits.note(node)

    def settled(self) -> None:
        self.checked["I7"] += 1
        super().settled()


def _of_others(node: Object) -> dict[str, Any]:
    metadata, spec = node["metadata"], node.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    return {
        "labels": metadata.get("labels") or {},
        "annotations": {key: value for key, value in annotations.items() if not key.startswith(OURS)},
        "taints": {
            f"{one['key']}:{one['effect']}": one.get("value") for one in taints_of(node) if not is_ours(one)
        },
        "cordon": {"unschedulable": True} if spec.get("unschedulable") else {},
    }


def _contains(larger: dict[str, Any], smaller: dict[str, Any]) -> bool:
    return all(smaller[part].items() <= larger[part].items() for part in smaller)
