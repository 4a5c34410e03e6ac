"""The part of the checker that serves MachineHealthCheck: what wakes it, and what it runs on."""

from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.controllers.checking.observations import Observations
from nodemend.controllers.checking.precautions import Precautions
from nodemend.controllers.checking.remedies import Asked
from nodemend.controllers.checking.remedy_watch import RemedyWatch
from nodemend.controllers.checking.report_pace import REPORT_AT_MOST_EVERY
from nodemend.controllers.checking.turn import Turn
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.machine_health_check.annotated_machine import KINDS
from nodemend.controllers.machine_health_check.asked_owners import list_asked
from nodemend.controllers.machine_health_check.clusters import ClusterNodes, Clusters
from nodemend.controllers.machine_health_check.controller import (
    MachineHealthCheckController,
    MachineRecorder,
)
from nodemend.controllers.machine_health_check.fleet import Fleet, cluster_of, says_other
from nodemend.controllers.machine_health_check.gather import needs_nodes
from nodemend.controllers.machine_health_check.keys import HistoryKey, Key
from nodemend.controllers.machine_health_check.kubeconfig_secrets import KubeconfigSecrets
from nodemend.controllers.machine_health_check.machine_observations import MachineObservations
from nodemend.controllers.machine_health_check.machine_watch import MachineWatch
from nodemend.controllers.machine_health_check.machines_behind import MachinesBehind
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.controllers.machine_health_check.workload_cluster import Access, WorkloadCluster
from nodemend.controllers.machine_health_check.workload_cluster_recorder import ClusterRecorder
from nodemend.controllers.machine_health_check.workload_clusters import WorkloadClusters
from nodemend.decide.facts import Unreadable
from nodemend.kube.api_client import ApiClient
from nodemend.kube.etcd_pod_record import EtcdPodRecord
from nodemend.kube.foreign_nodes import foreign_nodes
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_record import MachineRecord
from nodemend.kube.node_record import NodeRecord, NodeWire
from nodemend.kube.object_cache import Change, ObjectCache
from nodemend.kube.ports import Connector, Runtime, Transport
from nodemend.kube.projection import Projection
from nodemend.kube.reconcile_loop import LoopObserver, ReconcileLoop
from nodemend.kube.reflector_steps import ReflectorTimings
from nodemend.kube.remediation_record import RemediationRecord
from nodemend.kube.running_together import run_together
from nodemend.kube.workload_cluster_record import WorkloadClusterRecord

WORKERS: Final = 16
"""One slow cluster keeps two of them waiting, not all; and marks, at our rate, not all either."""
OPENED_AT_ONCE: Final = 20
"""Workload clusters. One that hangs keeps a place for the few seconds of its first question."""
_LOOK_FOR_SYNC_EVERY: Final = 0.1
_READ_AGAIN_AFTER: Final = 1.0
_ASKER: Final = "machine health checks"


@dataclass(frozen=True, slots=True)
class MachineObservers:
    """Who is told what, for logs, metrics and events."""

    loop: LoopObserver[Key]
    recorder: MachineRecorder
    clusters: ClusterRecorder


@dataclass(frozen=True, slots=True)
class MachineDuty:
    """That MachineHealthChecks are served. With a connector, also those of Machines in other clusters."""

    observers: MachineObservers
    connector: Connector | None = None
    kubeconfig_suffix: str = "kubeconfig"
    """Of the Secrets by which these are connected to: CLUSTER-kubeconfig."""
    annotation_template: str = ""
    """The name of the template for Machines whose remediation an annotation asks for.

    Empty where that is not heeded.
    """


@dataclass(frozen=True, slots=True)
class Shared:
    """What it has in common with the rest of the checker."""

    nodes: ObjectCache[NodeRecord]
    projection: Projection[NodeWire, NodeRecord]
    """How Nodes become records: shared, as many have much in common."""
    seen: Observations
    remedies: RemedyWatch
    policies: ObjectCache[RemediationPolicy]
    etcd_pods: ObjectCache[EtcdPodRecord]


class MachineChecking:
    """Every replica watches; the leader judges and asks."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        timings: ReflectorTimings,
        shared: Shared,
        duty: MachineDuty,
    ) -> None:
        self._runtime = runtime
        self._observers = duty.observers
        self._remedies = shared.remedies
        self._seen = MachineObservations()
        self._loop: ReconcileLoop[Key] | None = None
        self._fleet = Fleet(annotation=duty.annotation_template)
        self._watch = MachineWatch(runtime, transport, timings, self._fleet, self)
        self.workload = (
            WorkloadClusters(
                Access(
                    runtime=runtime,
                    secrets=KubeconfigSecrets(ApiClient(transport, runtime), runtime, duty.kubeconfig_suffix),
                    connector=duty.connector,
                    opening=Turn(runtime, OPENED_AT_ONCE),
                    projection=foreign_nodes(shared.projection),
                    timings=timings,
                ),
                self._fleet,
                lambda cluster: needs_nodes(self.view, cluster),
                self,
            )
            if duty.connector is not None
            else None
        )
        others = self.workload.by_name if self.workload is not None else {}
        self._clusters = Clusters(ClusterNodes(shared.nodes, shared.seen), others)
        self.behind = MachinesBehind(self._fleet, self._clusters)
        self.view = MachineView(
            self._fleet,
            self._clusters,
            shared.remedies.remedies,
            shared.seen.remediations,
            shared.policies,
            shared.etcd_pods,
        )
        self._want_kinds()

    @property
    def synced(self) -> bool:
        return self._watch.looked and self.view.synced

    @property
    def waiting(self) -> int:
        """Keys in the queue, 0 while another replica leads."""
        return self._loop.status().waiting if self._loop is not None else 0

    async def watch(self) -> None:
        works: dict[str, Coroutine[Any, Any, None]] = {"machines": self._watch.run()}
        if self.workload is not None:
            works["workload clusters"] = self.workload.run()
        await run_together(self._runtime, works)

    async def work(self, reader: Reader, client: ApiClient, precautions: Precautions) -> None:
        """For one leadership, from when everything is in sight."""
        while not self.synced:
            await self._runtime.sleep(_LOOK_FOR_SYNC_EVERY)
        # Whose owner is asked is counted from caches, and what the last leader asked may not be in them yet.
        while isinstance(asked := await list_asked(reader, self._fleet), Unreadable):
            await self._runtime.sleep(_READ_AGAIN_AFTER)
        controller = MachineHealthCheckController(
            self.view,
            self._seen,
            reader,
            client,
            self._observers.recorder,
            self._ask_later,
            precautions=precautions,
            asked=asked,
        )
        loop = ReconcileLoop(
            self._runtime, controller.reconcile, self._observers.loop, self._everything, workers=WORKERS
        )
        self._loop = loop
        try:
            self._ask_for(self._everything())
            await loop.run()
        finally:
            self._loop = None

    def machines_changed(self, changes: Sequence[Change[MachineRecord]]) -> None:
        now = self._runtime.monotonic()
        for change in changes:
            key = self._fleet.note_machine(change)
            self._ask_for((key,))
            for record in (change.old, change.new):
                if record is not None:
                    self._reconsider(cluster_of(record))
                    # Whoever names the same node must know that it is not alone any more, or is again.
                    self._ask_for(self._fleet.naming(record.node) if record.node else ())
            if change.new is None:
                if change.old is not None:
                    self._seen.forget(change.old.uid)
                continue
            gap = change.relisted
            self._seen.ages.observe(change.new.uid, change.new.conditions, now, after_gap=gap)
            if self._clusters.learn(change.new):
                self._found_own(cluster_of(change.new))

    def checks_changed(self, group: str, changes: Sequence[Change[MachineCheckRecord]]) -> None:
        """Who is whose target may have changed, unless only the status did."""
        for change in changes:
            key = self._fleet.note_check(group, change)
            self._ask_for((key,))
            if says_other(change):
                for check in (change.old, change.new):
                    reached = self._fleet.in_reach(check) if check is not None else ()
                    self._ask_for(reached)
                    for cluster in self._fleet.clusters_of(reached):
                        self._reconsider(cluster)
        self._want_kinds()

    def clusters_changed(self, changes: Sequence[Change[WorkloadClusterRecord]]) -> None:
        for change in changes:
            self._reconsider(change.key)
            self._ask_for(self._fleet.in_cluster(change.key))

    def nodes_changed(self, changes: Sequence[Change[NodeRecord]]) -> None:
        for change in changes:
            self._ask_for(self._fleet.naming(change.key))
            if change.new is not None:
                for cluster in self._clusters.learn_from_node(self._fleet, change.new):
                    self._found_own(cluster)

    def nodes_changed_in(self, cluster: str, changes: Sequence[Change[NodeRecord]]) -> None:
        """Of another cluster. Machines elsewhere may name nodes alike, and are not meant."""
        for change in changes:
            for key in self._fleet.naming(change.key):
                machine = self._fleet.machine(key)
                if machine is not None and cluster_of(machine) == cluster:
                    self._ask_for((key,))

    def whereabouts_changed(self, cluster: WorkloadCluster) -> None:
        self._observers.clusters.looked(cluster.name, cluster.whereabouts, cluster.trouble)
        self._ask_for(self._fleet.in_cluster(cluster.name))
        self._ask_for(self._fleet.checks_over(cluster.name))

    def remediations_changed(self, changes: Sequence[Change[RemediationRecord]]) -> None:
        for change in changes:
            for record in (change.old, change.new):
                if record is not None:
                    keys = (self._fleet.by_uid(uid) for uid in record.owners)
                    self._ask_for(key for key in keys if key is not None)
        self._ask_later(HistoryKey(), REPORT_AT_MOST_EVERY)

    def policies_changed(self) -> None:
        self._ask_for(self._everything())

    def _found_own(self, cluster: str) -> None:
        self._reconsider(cluster)
        self._ask_for(self._fleet.in_cluster(cluster))

    def _reconsider(self, cluster: str) -> None:
        if self.workload is not None and cluster:
            self.workload.reconsider(cluster)

    def _want_kinds(self) -> None:
        asked = {
            Asked(template.api_version, template.kind)
            for key in self._fleet.check_keys()
            if (check := self._fleet.check(key)) is not None
            and (template := check.rules.template) is not None
            and self._fleet.serves(key)
        }
        if self._fleet.annotation:
            asked |= {Asked(kind.api_version, kind.kind) for kind in KINDS}
        self._remedies.want(_ASKER, frozenset(asked))

    def _everything(self) -> Iterator[Key]:
        yield HistoryKey()
        yield from list(self._fleet.check_keys())
        yield from list(self._fleet.machine_keys())

    def _ask_later(self, key: Key, after: float) -> None:
        if self._loop is not None:
            self._loop.add(key, after)

    def _ask_for(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._ask_later(key, 0.0)
