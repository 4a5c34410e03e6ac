"""The checker: watches nodes and health checks, evaluates them and requests remediations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nodemend.api import well_known
from nodemend.api.meta import print_time
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationOrder, RemediationPolicy
from nodemend.api.resources import NODE_HEALTH_CHECK, REMEDIATION_ORDER, REMEDIATION_POLICY
from nodemend.guard.policy_proof import Admission, AdmissionProof
from nodemend.health.conditions import ObservationCache
from nodemend.health.creation import CreationContext, ExternalLeases
from nodemend.health.machine.manager import MachineChecking, MachineCheckingSettings
from nodemend.health.node.controller import (
    AllTargetsKey,
    BackgroundKey,
    CheckKey,
    Key,
    NodeHealthCheckController,
    PolicyKey,
    TargetKey,
)
from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.health.node.targets import NodeView
from nodemend.health.remediation_index import RemediationInformers, RemediationListCache, template_kind
from nodemend.health.reporting import REPORT_AT_MOST_EVERY
from nodemend.kube.client import ApiClient
from nodemend.kube.controller import Controller, LoopObserver
from nodemend.kube.informer import run_reflector
from nodemend.kube.leader_runner import ElectionObserver, ElectionSettings, Leadership, LeaderTransport, lead
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.reflector import Reflector
from nodemend.kube.store import Change, whole
from nodemend.kube.tasks import FairSemaphore, run_together
from nodemend.records.live_reads import LiveReader
from nodemend.records.node import ETCD_PODS, EtcdPodRecord, NodeRecord, etcd_pod_records, node_records
from nodemend.records.remediation import RemediationRecord

_SYNC_POLL_INTERVAL = 0.02


@dataclass(frozen=True, slots=True)
class CheckerObservers:
    """Observers for logs, metrics and events."""

    election: ElectionObserver
    loop: LoopObserver[Key]
    recorder: NodeHealthCheckRecorder


class Checker:
    """Every replica watches; only the leader evaluates and requests remediations."""

    def __init__(  # noqa: PLR0913 - runtime, observers, and optional features
        self,
        runtime: Runtime,
        transport: Transport,
        election: ElectionSettings,
        observers: CheckerObservers,
        *,
        machines: MachineCheckingSettings | None = None,
        medik8s_leases: str = "",
        admission: Admission | None = None,
    ) -> None:
        """`machines` is set if the checker also serves MachineHealthChecks.

        `admission`: without these policies in force the checker requests nothing; None in test worlds without
        policies.

        `medik8s_leases` is the namespace of the Leases by which medik8s' operators coordinate work on nodes;
        empty if the checker ignores them.
        """
        self._runtime = runtime
        self._transport = transport
        self._election = election
        self._observers = observers
        self._medik8s_leases = medik8s_leases
        self._admission = admission
        self._seen = ObservationCache()
        self._actions: Controller[Key] | None = None
        self._beside: Controller[Key] | None = None
        self._open: RemediationListCache | None = None
        self._as_records = node_records(annotations=(well_known.EXCLUDE,))
        self._nodes = Reflector(self._as_records, chance=runtime.random)
        self._checks = Reflector(whole(NODE_HEALTH_CHECK, NodeHealthCheck), chance=runtime.random)
        self._remedies = RemediationInformers(runtime, transport, self._remediations_changed)
        self._remedies.remedies.first_seen = self._seen.remediations
        self._policies = Reflector(whole(REMEDIATION_POLICY, RemediationPolicy), chance=runtime.random)
        self._etcd_pods = Reflector(etcd_pod_records(), chance=runtime.random, of=ETCD_PODS)
        self.machines = self._check_machines(machines) if machines is not None else None
        self._orders = Reflector(whole(REMEDIATION_ORDER, RemediationOrder), chance=runtime.random)
        self.view = NodeView(
            self._nodes.cache,
            self._checks.cache,
            self._remedies.remedies,
            self._policies.cache,
            self._orders.cache,
            self.machines.behind if self.machines is not None else None,
            self._etcd_pods.cache,
        )

    def _check_machines(self, duty: MachineCheckingSettings) -> MachineChecking:
        return MachineChecking(
            self._runtime,
            self._transport,
            duty,
            nodes=self._nodes.cache,
            projection=self._as_records,
            seen=self._seen,
            remedies=self._remedies,
            policies=self._policies.cache,
            etcd_pods=self._etcd_pods.cache,
        )

    @property
    def synced(self) -> bool:
        return self.view.synced and (self.machines is None or self.machines.synced)

    @property
    def waiting(self) -> int:
        """Number of keys in the queues; 0 while another replica leads."""
        loops = (self._actions, self._beside)
        return sum(loop.waiting for loop in loops if loop is not None)

    async def run(self) -> None:
        """Run until cancelled; raise if one of the tasks fails."""
        transport, runtime = self._transport, self._runtime
        of_machines = {"machines": self.machines.watch()} if self.machines is not None else {}
        await run_together(
            runtime,
            {
                **of_machines,
                "nodes": run_reflector(self._nodes, transport, runtime, self._nodes_changed),
                "checks": run_reflector(self._checks, transport, runtime, self._checks_changed),
                "remedies": self._remedies.run(),
                "policies": run_reflector(self._policies, transport, runtime, self._policies_changed),
                "etcd pods": run_reflector(self._etcd_pods, transport, runtime, self._etcd_pods_changed),
                "orders": run_reflector(self._orders, transport, runtime, self._orders_changed),
                "election": lead(runtime, transport, self._election, self._work, self._observers.election),
            },
        )

    async def _work(self, leadership: Leadership) -> None:
        while not self.view.synced:
            await self._runtime.sleep(_SYNC_POLL_INTERVAL)
        client = ApiClient(LeaderTransport(self._runtime, self._transport, leadership), self._runtime)
        proof = AdmissionProof(client, self._runtime, self._admission)
        reader = LiveReader(client, self._runtime, proof.problem)
        await proof.prove()
        self._open = RemediationListCache(reader, self._remedies.remedies)
        others = ExternalLeases(reader, self._medik8s_leases)
        creation_context = CreationContext(FairSemaphore(self._runtime), others, self._open)
        works = {"node health checks": self._check_nodes(reader, client, creation_context)}
        if self._admission is not None:
            works["admission policies"] = proof.run(lambda: self._ask_for(PolicyKey()))
        if self.machines is not None:
            works["machine health checks"] = self.machines.work(reader, client, creation_context)
        await run_together(self._runtime, works)

    async def _check_nodes(
        self, reader: LiveReader, client: ApiClient, creation_context: CreationContext
    ) -> None:
        controller = NodeHealthCheckController(
            self.view,
            self._seen,
            reader,
            client,
            self._observers.recorder,
            self._ask_later,
            creation_context=creation_context,
        )
        observer = self._observers.loop
        actions: Controller[Key] = Controller(
            self._runtime, controller.reconcile, observer, self._every_target, workers=1
        )
        beside: Controller[Key] = Controller(
            self._runtime, controller.reconcile, observer, self._every_report, workers=1
        )
        self._actions, self._beside = actions, beside
        try:
            self._ask_for(*self._everything())
            await run_together(self._runtime, {"deeds": actions.run(), "beside": beside.run()})
        finally:
            self._actions = self._beside = None

    def _everything(self) -> Iterator[Key]:
        yield from self._every_report()
        yield AllTargetsKey()

    def _every_report(self) -> Iterator[Key]:
        yield PolicyKey()
        yield from self._every_check()

    def _every_target(self) -> Iterator[Key]:
        """Yield one key per target, for a resync that may not rely on knowing what changed."""
        yield from (TargetKey(node.name) for node in self.view.nodes.all())
        yield from (TargetKey(order.metadata.name) for order in self.view.orders.all())
        # Remediations that outlive their deleted Node.
        yield from (TargetKey(record.name) for record in self.view.remedies.all() if not record.owners)

    def _every_check(self) -> Iterator[Key]:
        return (CheckKey(check.metadata.name) for check in self.view.checks.all())

    def _ask_later(self, key: Key, after: float) -> None:
        loop = self._beside if isinstance(key, BackgroundKey) else self._actions
        if loop is not None:
            loop.add(key, after)

    def _ask_for(self, *keys: Key) -> None:
        for key in keys:
            self._ask_later(key, 0.0)

    def _nodes_changed(self, changes: Sequence[Change[NodeRecord]]) -> None:
        now = self._runtime.monotonic()
        for change in changes:
            self._seen.note(change, now)
            self._ask_for(TargetKey(change.key))
        if self.machines is not None:
            self.machines.nodes_changed(changes)

    def _etcd_pods_changed(self, _changes: Sequence[Change[EtcdPodRecord]]) -> None:
        """Requeue nothing: etcd Pods only matter to a start, and held targets are evaluated again anyway."""
        hosts = frozenset(pod.node for pod in self._etcd_pods.cache.all() if pod.node)
        self._seen.control_plane_index.note_etcd(hosts, self.view.nodes.get)

    def _checks_changed(self, changes: Sequence[Change[NodeHealthCheck]]) -> None:
        """Requeue all targets if a spec changed: their assignment to checks may have changed."""
        for change in changes:
            self._ask_for(CheckKey(change.key))
            # The recorded state of a recovery determines its next action.
            self._ask_for(*(TargetKey(node) for node in _recoveries_changed(change)))
        templates = frozenset(
            template for check in self.view.checks.all() for template in check.spec.templates
        )
        self._remedies.want("node health checks", frozenset(map(template_kind, templates)))
        self._remedies.want_templates(templates)
        if any(not change.old or not change.new or change.old.spec != change.new.spec for change in changes):
            self._ask_for(*self._everything())

    def _remediations_changed(self, changes: Sequence[Change[RemediationRecord]]) -> None:
        now = self._runtime.monotonic()
        if self._open is not None:
            self._open.forget()
        for change in changes:
            self._seen.note_remediation(change, now)
            if change.new is None and change.old is not None:
                ended_at, node = print_time(self._runtime.wall()), self.view.nodes.get(change.old.name)
                self._seen.note_ending(change.old, ended_at, node)
        self._ask_for(*(TargetKey(change.key.rpartition("/")[2]) for change in changes))
        for check in self._every_check():
            self._ask_later(check, REPORT_AT_MOST_EVERY)
        if self.machines is not None:
            self.machines.remediations_changed(changes)

    def _policies_changed(self, changes: Sequence[Change[RemediationPolicy]]) -> None:
        if any(not change.old or not change.new or change.old.spec != change.new.spec for change in changes):
            self._ask_for(*self._everything())
            if self.machines is not None:
                self.machines.policies_changed()

    def _orders_changed(self, changes: Sequence[Change[RemediationOrder]]) -> None:
        now = self._runtime.monotonic()
        for change in changes:
            self._seen.note_order(change, now)
            self._ask_for(TargetKey(change.key))


def _recoveries_changed(change: Change[NodeHealthCheck]) -> set[str]:
    old = set(change.old.status.recoveries) if change.old is not None else set()
    new = set(change.new.status.recoveries) if change.new is not None else set()
    return {one.node for one in old ^ new}
