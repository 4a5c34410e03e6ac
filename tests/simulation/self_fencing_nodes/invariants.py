"""Invariants of self-fencing by the shipped remediator, verified at every write.

The numbers are those of SAFETY.md.
"""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from nodemend.api import well_known
from nodemend.api.agent import AgentReport
from nodemend.api.resources import LEASE, NODE, POD, SELF_REMEDIATION
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request, Selection
from simulation.cluster.machines import Machine
from simulation.cluster.world import FOREIGN_TAINT
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.walking_path.invariants import is_ours

if TYPE_CHECKING:
    from tests.simulation.self_fencing_nodes.cluster import Cluster

Object = dict[str, Any]
NODES: Final = "/api/v1/nodes/"
AGENT_LEASES: Final = f"/namespaces/{well_known.AGENT_NAMESPACE}/leases/"
STATUSES: Final = f"/{SELF_REMEDIATION.plural}/"
PEERS: Final = 2
"""With fewer peers, nothing is proven by time."""
CHANGED: Final = (NODES, AGENT_LEASES, STATUSES)
"""Paths of objects whose changes decide on a release."""
KNOWN_WITHIN: Final = 15.0
"""Seconds after which a manager that writes has read what was written before: no pass takes that long."""


class FencingInvariants:
    """Observes every write of checkers and remediators in a cluster."""

    def __init__(self) -> None:
        self.releases: Counter[str] = Counter()
        """Counts by class of evidence."""
        self.margins: list[float] = []
        """True seconds from the last possible action of a node to its release by time."""
        self.waits: list[float] = []
        """True seconds from a marker to the release by time."""
        self.marked_at: dict[str, float] = {}
        self.stopped_at: float | None = None
        """Time at which the policy stopped every remediation; None if it permits them."""
        self.on_begun: Callable[[str], None] = lambda node: None
        """Called when a remediation begins, just before its marker is written."""
        self.on_marked: Callable[[str], None] = lambda node: None
        self.on_proposed: Callable[[str], None] = lambda node: None
        self.on_evidence: Callable[[str], None] = lambda node: None
        """Called when evidence for a boot is first recorded, before the release."""
        self._known_over: set[str] = set()
        self.on_released: Callable[[str], None] = lambda node: None
        self._cluster: Cluster | None = None

    def watch(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        cluster.world.checker.witnesses.append(self._saw_write)
        cluster.world.remediator.witnesses.append(self._saw_write)
        cluster.world.engine.removed = self._saw_removal

    @property
    def cluster(self) -> "Cluster":
        if self._cluster is None:
            raise RuntimeError("watches nothing yet")
        return self._cluster

    # I1: a released workload runs nowhere.

    def started(self, machine: Machine, workload: str) -> None:
        if self._cluster is None:
            return
        others = [
            other.name
            for other in self.cluster.world.machines.values()
            if other is not machine and workload in other.running.values()
        ]
        if others:
            raise InvariantBrokenError(f"I1: {workload} starts on {machine.name} while {others} run it")

    def _saw_removal(self, pod: Object) -> None:
        machine = self.cluster.world.machines[pod["spec"]["nodeName"]]
        if pod["metadata"]["uid"] in machine.running:
            name = pod["metadata"]["name"]
            raise InvariantBrokenError(f"I1: {name} is removed by force while {machine.name} runs it")

    def _saw_write(self, _user: str, request: Request, answer: ApiResponse) -> None:
        if request.method not in (Method.PATCH, Method.PUT, Method.DELETE):
            return
        body: Object = msgspec.json.decode(request.body)
        self._has_preconditions(request, body)
        name = request.path.removesuffix("/status").rpartition("/")[2]
        if request.path.startswith(NODES) and _asks_for_our_taint(body):
            self._saw_release(msgspec.json.decode(answer.body))
        elif AGENT_LEASES in request.path:
            self._saw_annotations(name, body["metadata"].get("annotations") or {})
        elif STATUSES in request.path and "finalizers" in (body.get("metadata") or {}):
            self._saw_finalizers(msgspec.json.decode(answer.body)["metadata"])
        elif request.path.endswith("/status") and STATUSES in request.path:
            self._saw_status(name, body.get("status") or {})

    def _has_preconditions(self, request: Request, body: Object) -> None:
        """Check I3: a change of a Node, agent's Lease or remediation names the object and its version."""
        if not any(part in request.path for part in CHANGED):
            return
        named = body.get("preconditions") if request.method is Method.DELETE else body.get("metadata")
        if not named or not named.get("uid") or not named.get("resourceVersion"):
            raise InvariantBrokenError(f"I3: {request.method} {request.path} without preconditions")

    def _saw_annotations(self, name: str, changed: Object) -> None:
        if marker := changed.get(well_known.MARKER):
            self._saw_marker(name, msgspec.json.decode(marker)["bootID"])
        elif well_known.MARKER in changed:
            self._saw_marker_removed(name)
        if changed.get(well_known.PEER_PROPOSAL):
            self.on_proposed(name)

    def _may_act(self, what: str) -> None:
        """Check I5: nothing irreversible happens after a policy has forbidden it."""
        if self.stopped_at is not None and self.cluster.scheduler.now - self.stopped_at > KNOWN_WITHIN:
            raise InvariantBrokenError(f"I5: {what} although the policy forbids it")

    def _saw_marker(self, name: str, boot: str) -> None:
        if boot not in self.marked_at:
            self._may_act(f"{boot} is marked")
        self.cluster.around.marked_boots.add(boot)
        self.marked_at[boot] = self.cluster.scheduler.now
        self.cluster.counts["marked"] += 1
        self.cluster.tell(f"{boot} is marked")
        self.on_marked(name)

    def _saw_marker_removed(self, name: str) -> None:
        """Check I1: no gate may open while the pods of its node are removed by force."""
        if self.is_tainted(name) and not self.cluster.nodes[name].runs:
            raise InvariantBrokenError(f"I1: the marker of {name} is removed while our taint is on it")

    def _saw_finalizers(self, metadata: Object) -> None:
        """Check I8: a deleted remediation leaves no marker, unless its write came late."""
        if not metadata.get("deletionTimestamp") or well_known.SAFE_END in metadata.get("finalizers", ()):
            return
        for name in self.cluster.nodes:
            lease = self.cluster.store.read(name)
            marker = lease.marker if lease else None
            if marker is None or marker.remediation_uid != metadata["uid"]:
                continue
            if self.cluster.scheduler.now - self.marked_at.get(marker.boot_id, 0.0) > KNOWN_WITHIN:
                raise InvariantBrokenError(f"I8: a deleted remediation leaves its marker on {name}")

    def _saw_status(self, name: str, status: Object) -> None:
        if status.get("phase") == "Fencing":
            self.on_begun(name)
        evidence = status.get("evidence", "kept")
        if evidence is None:
            self._saw_evidence_forgotten(name)
        elif evidence != "kept" and evidence["class"] == "E4":
            self._is_over(name, evidence["bootID"], "I1: proven over")
        elif evidence != "kept":
            self._is_past(name, evidence["bootID"], "I1: known to be over")
        if evidence not in (None, "kept") and evidence["bootID"] not in self._known_over:
            self._known_over.add(evidence["bootID"])
            self.on_evidence(name)

    def is_tainted(self, name: str) -> bool:
        node = self.cluster.api.get(NODE, name)
        return node is not None and any(map(is_ours, node["spec"].get("taints", ())))

    def _saw_evidence_forgotten(self, name: str) -> None:
        """Check I2: evidence is forgotten only after Nodemend's taint, which depends on it, is removed."""
        if self.is_tainted(name):
            raise InvariantBrokenError(f"I2: evidence is forgotten while our taint is on {name}")

    def _is_past(self, name: str, boot_id: str, what: str) -> None:
        node = self.cluster.nodes[name]
        if node.boot_id == boot_id and node.up:
            raise InvariantBrokenError(f"{what}: {boot_id} while it runs")

    def _is_over(self, name: str, boot_id: str, what: str) -> None:
        self._is_past(name, boot_id, what)
        node, now = self.cluster.nodes[name], self.cluster.scheduler.now
        if now < node.writes_land_until:
            late = node.writes_land_until - now
            raise InvariantBrokenError(f"{what}: {boot_id}, whose last write lands {late:.2f} s later")

    def _saw_release(self, node: Object) -> None:
        name, uid = node["metadata"]["name"], node["metadata"]["uid"]
        boot = node["status"]["nodeInfo"]["bootID"]
        self._may_act(f"{name} is released")
        self._is_released(name)
        self._is_over(name, boot, "I1: released")
        claims = [
            one
            for one in self.cluster.api.list(SELF_REMEDIATION)
            if (one.get("status") or {}).get("nodeUID") == uid and one["status"].get("evidence")
        ]
        evidence = [one["status"]["evidence"] for one in claims]
        if [(one["nodeUID"], one["bootID"]) for one in evidence] != [(uid, boot)]:
            raise InvariantBrokenError(f"I2: {name} is released in {boot} on {evidence}")
        self._holds_the_lock(uid, claims[0]["metadata"]["uid"])
        self._count(evidence[0]["class"], name, boot)
        self.on_released(name)

    def _is_released(self, name: str) -> None:
        node = self.cluster.nodes[name]
        if node.runs:
            raise InvariantBrokenError(f"I1: {name} is released while {node.boot_id} runs")

    def _holds_the_lock(self, node_uid: str, holder: str) -> None:
        lock = self.cluster.api.get(LEASE, f"node-{node_uid}", well_known.SYSTEM_NAMESPACE)
        if lock is None or lock["spec"].get("holderIdentity") != holder:
            raise InvariantBrokenError(f"I4: a node is released by {holder}, who does not hold its lock")

    def _count(self, class_: str, name: str, boot: str) -> None:
        now = self.cluster.scheduler.now
        self.releases[class_] += 1
        self.cluster.tell(f"{name} is released in {boot} by {class_}")
        if class_ == "E4":
            self.margins.append(now - self.cluster.nodes[name].writes_land_until)
            self.waits.append(now - self.marked_at[boot])

    # I8 and I14: after all faults, everything recovers, and Nodemend leaves nothing behind.

    def settled(self) -> None:
        cluster = self.cluster
        for name, node in cluster.nodes.items():
            if not node.runs or not node.agent.alive:
                raise InvariantBrokenError(f"I14: {name} does not serve")
            lease = cluster.store.read(name)
            if lease is None or lease.marker is not None:
                raise InvariantBrokenError(f"I8: {name} has a marker, or no Lease")
            if not isinstance(lease.report, AgentReport) or len(lease.report.peers[-1]) < PEERS:
                raise InvariantBrokenError(f"I14: {name} has no peers that could stand for it")
        left = [
            (one["metadata"]["name"], (one.get("status") or {}).get("message"))
            for one in cluster.api.list(SELF_REMEDIATION)
        ]
        if left:
            raise InvariantBrokenError(f"I14: not closed: {left}")
        for found in cluster.api.list(NODE):
            self._is_clean(found)
        locks = [
            lease["metadata"]["name"]
            for lease in cluster.api.list(LEASE, Selection(namespace=well_known.SYSTEM_NAMESPACE))
            if lease["metadata"]["name"].startswith("node-")
        ]
        if locks:
            raise InvariantBrokenError(f"I8: locks left behind: {locks}")
        running = Counter(
            workload for machine in cluster.world.machines.values() for workload in machine.running.values()
        )
        if running != Counter(cluster.world.workloads):
            pods = [(one["metadata"]["name"], one["spec"].get("nodeName")) for one in cluster.api.list(POD)]
            raise InvariantBrokenError(f"I14: running {dict(running)}, pods {pods}")

    def _is_clean(self, node: Object) -> None:
        name, taints = node["metadata"]["name"], node["spec"].get("taints", ())
        noted = node["metadata"].get("annotations", {})
        if any(is_ours(taint) for taint in taints) or well_known.RELEASE_REVOKED in noted:
            raise InvariantBrokenError(f"I8: something of ours is left on {name}")
        if FOREIGN_TAINT not in taints:
            raise InvariantBrokenError(f"I8: another's taint is gone from {name}")
        reported = (node.get("status") or {}).get("conditions") or ()
        ready = [one["status"] for one in reported if one["type"] == "Ready"]
        if ready != ["True"]:
            raise InvariantBrokenError(f"I14: {name} is not Ready")


def _asks_for_our_taint(body: Object) -> bool:
    return any(is_ours(taint) for taint in (body.get("spec") or {}).get("taints") or ())
