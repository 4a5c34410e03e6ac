"""The part of the checker that serves MachineHealthChecks: its watches, its requeues and its dependencies."""

from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.resources import Resource
from nodemend.health.conditions import ObservationCache
from nodemend.health.creation import CreationContext
from nodemend.health.machine.controller import HistoryKey, Key, MachineHealthCheckController
from nodemend.health.machine.events import MachineHealthCheckRecorder
from nodemend.health.machine.external_annotation import KINDS
from nodemend.health.machine.index import CheckKind, MachineIndex, MachineKind, cluster_of, says_other
from nodemend.health.machine.targets import MachineObservations, MachineView, list_asked, needs_nodes
from nodemend.health.machine.workload_clusters import (
    Access,
    ClusterNodes,
    Clusters,
    KubeconfigSecrets,
    NodeToMachine,
    WorkloadCluster,
    WorkloadClusters,
)
from nodemend.health.remediation_index import RemediationInformers, template_kind
from nodemend.health.reporting import REPORT_AT_MOST_EVERY
from nodemend.kube.client import ApiClient
from nodemend.kube.controller import Controller, LoopObserver
from nodemend.kube.informer import WatchSet
from nodemend.kube.ports import Connector, Runtime, Transport
from nodemend.kube.store import Change, Projection, Store
from nodemend.kube.tasks import FairSemaphore, run_together
from nodemend.records.live_reads import READ_WITHIN, LiveReader
from nodemend.records.machine import (
    MachineCheckRecord,
    MachineRecord,
    WorkloadClusterRecord,
    machine_check_records,
    machine_records,
    workload_cluster_records,
)
from nodemend.records.node import EtcdPodRecord, NodeRecord, NodeWire, foreign_nodes
from nodemend.records.remediation import RemediationRecord
from nodemend.records.served_kinds import ServedChecks, ServedKinds, ServedMachines, find_served_kinds
from nodemend.safety.facts import Unreadable

R = TypeVar("R")


DISCOVERY_INTERVAL: Final = 15.0


class MachineWatch:
    """Watches the served kinds. It follows kinds that are installed, removed or change their version.

    `listener` receives every change after the caches contain it.
    """

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        machine_index: MachineIndex,
        listener: "MachineChecking",
    ) -> None:
        self._runtime = runtime
        self._client = ApiClient(transport, runtime)
        self._machine_index = machine_index
        self._listener = listener
        self._news = runtime.signal()
        self._watches = WatchSet(runtime, transport, self._news)
        self._served: ServedKinds | None = None

    @property
    def looked(self) -> bool:
        """True if the discovery of the served kinds has succeeded once."""
        return self._served is not None

    async def run(self) -> None:
        """Run until cancelled; raise if one of the watches fails."""
        try:
            while True:
                deadline = self._runtime.monotonic() + READ_WITHIN
                found = await find_served_kinds(self._client, deadline)
                if found is not None and found != self._served:
                    self._machine_index.changing = True
                    await self._follow(found)
                    self._machine_index.changing = False
                await self._watches.raise_failures()
                await self._news.wait(within=DISCOVERY_INTERVAL)
        finally:
            await self._watches.end_all()

    async def _follow(self, served: ServedKinds) -> None:
        before = self._served or ServedKinds({}, {})
        for group, known in before.machines.items():
            if served.machines.get(group) != known:
                await self._stop_machine_kind(group, known)
        for group, check_kind in before.checks.items():
            if served.checks.get(group) != check_kind:
                await self._stop_check_kind(group, check_kind)
        for group, machines in served.machines.items():
            if group not in self._machine_index.machine_kinds:
                self._start_machine_kind(group, machines)
        for group, checks in served.checks.items():
            self._start_check_kind(group, checks, served.machines_for(group))
        self._served = served

    def _start_machine_kind(self, group: str, served: ServedMachines) -> None:
        listener = self._listener
        clusters = (
            self._watches.begin(workload_cluster_records(served.clusters), listener.clusters_changed)
            if served.clusters is not None
            else None
        )
        projection = machine_records(served.machines, served.flavor)
        machines = self._watches.begin(projection, listener.machines_changed)
        self._machine_index.machine_kinds[group] = MachineKind(
            served.flavor, served.machines, machines, clusters
        )

    def _start_check_kind(self, group: str, served: ServedChecks, of: str) -> None:
        known = self._machine_index.check_kinds.get(group)
        if known is not None:
            checks = known.checks
        else:
            changed = partial(self._listener.checks_changed, group)
            checks = self._watches.begin(machine_check_records(served.checks), changed)
        self._machine_index.check_kinds[group] = CheckKind(group, of, checks, served.only_claimed)

    async def _stop_machine_kind(self, group: str, served: ServedMachines) -> None:
        await self._end((served.machines, served.clusters))
        machine_kind = self._machine_index.machine_kinds.pop(group)
        self._listener.machines_changed(_all_gone(machine_kind.machines))

    async def _stop_check_kind(self, group: str, served: ServedChecks) -> None:
        await self._end((served.checks,))
        check_kind = self._machine_index.check_kinds.pop(group)
        self._listener.checks_changed(group, _all_gone(check_kind.checks))

    async def _end(self, resources: Sequence[Resource | None]) -> None:
        await self._watches.end([resource for resource in resources if resource is not None])


def _all_gone(cache: Store[R]) -> list[Change[R]]:
    return [Change(key, record, None) for key in list(cache.keys()) if (record := cache.get(key)) is not None]


WORKERS: Final = 16
"""One slow cluster occupies two workers, not all; nor do condition writes, which wait for the rate limit."""
OPENED_AT_ONCE: Final = 20
"""Workload clusters. A cluster that hangs occupies a slot for the few seconds of its first request."""
_SYNC_POLL_INTERVAL: Final = 0.1
_READ_AGAIN_AFTER: Final = 1.0
_ASKER: Final = "machine health checks"


@dataclass(frozen=True, slots=True)
class MachineCheckingSettings:
    """The settings for serving MachineHealthChecks; with a connector, also for Machines in other clusters."""

    loop: LoopObserver[Key]
    recorder: MachineHealthCheckRecorder
    connector: Connector | None = None
    kubeconfig_suffix: str = "kubeconfig"
    """The suffix of the kubeconfig Secrets of those clusters: CLUSTER-kubeconfig."""
    annotation_template: str = ""
    """The name of the template for Machines whose remediation an annotation requests.

    Empty if the annotation is ignored.
    """


class MachineChecking:
    """Every replica watches; only the leader evaluates and requests remediations."""

    def __init__(  # noqa: PLR0913 - runtime, settings, and caches of the checker
        self,
        runtime: Runtime,
        transport: Transport,
        duty: MachineCheckingSettings,
        *,
        nodes: Store[NodeRecord],
        projection: Projection[NodeWire, NodeRecord],
        seen: ObservationCache,
        remedies: RemediationInformers,
        policies: Store[RemediationPolicy],
        etcd_pods: Store[EtcdPodRecord],
    ) -> None:
        """`projection` converts Nodes to records; shared so that equal parts of many are stored once."""
        self._runtime = runtime
        self._loop_observer, self._recorder = duty.loop, duty.recorder
        self._remedies = remedies
        self._seen = MachineObservations()
        self._loop: Controller[Key] | None = None
        self._machine_index = MachineIndex(annotation=duty.annotation_template)
        self._watch = MachineWatch(runtime, transport, self._machine_index, self)
        self.workload = (
            WorkloadClusters(
                Access(
                    runtime=runtime,
                    secrets=KubeconfigSecrets(ApiClient(transport, runtime), runtime, duty.kubeconfig_suffix),
                    connector=duty.connector,
                    opening=FairSemaphore(runtime, OPENED_AT_ONCE),
                    projection=foreign_nodes(projection),
                ),
                self._machine_index,
                lambda cluster: needs_nodes(self.view, cluster),
                self,
            )
            if duty.connector is not None
            else None
        )
        others = self.workload.by_name if self.workload is not None else {}
        self._clusters = Clusters(ClusterNodes(nodes, seen), others)
        self.behind = NodeToMachine(self._machine_index, self._clusters)
        self.view = MachineView(self._machine_index, self._clusters, remedies.remedies, policies, etcd_pods)
        self._want_kinds()

    @property
    def synced(self) -> bool:
        return self._watch.looked and self.view.synced

    @property
    def waiting(self) -> int:
        """Number of keys in the queue; 0 while another replica leads."""
        return self._loop.waiting if self._loop is not None else 0

    async def watch(self) -> None:
        works: dict[str, Coroutine[Any, Any, None]] = {"machines": self._watch.run()}
        if self.workload is not None:
            works["workload clusters"] = self.workload.run()
        await run_together(self._runtime, works)

    async def work(self, reader: LiveReader, client: ApiClient, creation_context: CreationContext) -> None:
        """Work for one leader term, once all caches are synced."""
        while not self.synced:
            await self._runtime.sleep(_SYNC_POLL_INTERVAL)
        # The count of owner requests comes from caches, which may lack the previous leader's last requests.
        while isinstance(asked := await list_asked(reader, self._machine_index), Unreadable):
            await self._runtime.sleep(_READ_AGAIN_AFTER)
        controller = MachineHealthCheckController(
            self.view,
            self._seen,
            reader,
            client,
            self._recorder,
            self._ask_later,
            creation_context=creation_context,
            asked=asked,
        )
        loop = Controller(
            self._runtime, controller.reconcile, self._loop_observer, self._everything, workers=WORKERS
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
            key = self._machine_index.note_machine(change)
            self._ask_for((key,))
            for record in (change.old, change.new):
                if record is not None:
                    self._reconsider(cluster_of(record))
                    # Machines that name the same node must learn that their claim is no longer, or again,
                    # unique.
                    self._ask_for(self._machine_index.naming(record.node) if record.node else ())
            if change.new is None:
                if change.old is not None:
                    self._seen.forget(change.old.uid)
                continue
            gap = change.relisted
            self._seen.ages.observe(change.new.uid, change.new.conditions, now, after_gap=gap)
            if self._clusters.learn(change.new):
                self._found_own(cluster_of(change.new))

    def checks_changed(self, group: str, changes: Sequence[Change[MachineCheckRecord]]) -> None:
        """Requeue the Machines in scope if a check's rules changed: other checks may select them now."""
        for change in changes:
            key = self._machine_index.note_check(group, change)
            self._ask_for((key,))
            if says_other(change):
                for check in (change.old, change.new):
                    reached = self._machine_index.in_reach(check) if check is not None else ()
                    self._ask_for(reached)
                    for cluster in self._machine_index.clusters_of(reached):
                        self._reconsider(cluster)
        self._want_kinds()

    def clusters_changed(self, changes: Sequence[Change[WorkloadClusterRecord]]) -> None:
        for change in changes:
            self._reconsider(change.key)
            self._ask_for(self._machine_index.in_cluster(change.key))

    def nodes_changed(self, changes: Sequence[Change[NodeRecord]]) -> None:
        for change in changes:
            self._ask_for(self._machine_index.naming(change.key))
            if change.new is not None:
                for cluster in self._clusters.learn_from_node(self._machine_index, change.new):
                    self._found_own(cluster)

    def nodes_changed_in(self, cluster: str, changes: Sequence[Change[NodeRecord]]) -> None:
        """Requeue this workload cluster's Machines only: others may name a Node of the same name."""
        for change in changes:
            for key in self._machine_index.naming(change.key):
                machine = self._machine_index.machine(key)
                if machine is not None and cluster_of(machine) == cluster:
                    self._ask_for((key,))

    def node_visibility_changed(self, cluster: WorkloadCluster) -> None:
        self._recorder.looked(cluster.name, cluster.node_visibility, cluster.failure)
        self._ask_for(self._machine_index.in_cluster(cluster.name))
        self._ask_for(self._machine_index.checks_over(cluster.name))

    def remediations_changed(self, changes: Sequence[Change[RemediationRecord]]) -> None:
        for change in changes:
            for record in (change.old, change.new):
                if record is not None:
                    keys = (self._machine_index.by_uid(uid) for uid in record.owners)
                    self._ask_for(key for key in keys if key is not None)
        self._ask_later(HistoryKey(), REPORT_AT_MOST_EVERY)

    def policies_changed(self) -> None:
        self._ask_for(self._everything())

    def _found_own(self, cluster: str) -> None:
        self._reconsider(cluster)
        self._ask_for(self._machine_index.in_cluster(cluster))

    def _reconsider(self, cluster: str) -> None:
        if self.workload is not None and cluster:
            self.workload.reconsider(cluster)

    def _want_kinds(self) -> None:
        asked = {
            template_kind(template)
            for key in self._machine_index.check_keys()
            if (check := self._machine_index.check(key)) is not None
            and (template := check.rules.template) is not None
            and self._machine_index.serves(key)
        }
        if self._machine_index.annotation:
            asked |= {template_kind(kind) for kind in KINDS}
        self._remedies.want(_ASKER, frozenset(asked))

    def _everything(self) -> Iterator[Key]:
        yield HistoryKey()
        yield from list(self._machine_index.check_keys())
        yield from list(self._machine_index.machine_keys())

    def _ask_later(self, key: Key, after: float) -> None:
        if self._loop is not None:
            self._loop.add(key, after)

    def _ask_for(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._ask_later(key, 0.0)
