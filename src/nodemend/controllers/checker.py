"""The checker: watches nodes and checks, judges, asks for remediations. One program, over its ports."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nodemend.api import keys
from nodemend.api.group_versions import NODE_HEALTH_CHECK, REMEDIATION_ORDER, REMEDIATION_POLICY
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_order import RemediationOrder
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.timestamps import print_time
from nodemend.controllers.admission_proof import Admission, AdmissionProof
from nodemend.controllers.checking.neighbours import neighbours
from nodemend.controllers.checking.observations import Observations
from nodemend.controllers.checking.open_remediations import OpenRemediations
from nodemend.controllers.checking.precautions import Precautions
from nodemend.controllers.checking.remedies import as_template
from nodemend.controllers.checking.remedy_watch import RemedyWatch
from nodemend.controllers.checking.report_pace import REPORT_AT_MOST_EVERY
from nodemend.controllers.checking.turn import Turn
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.machine_checking import MachineChecking, MachineDuty, Shared
from nodemend.controllers.node_health_check.controller import NodeHealthCheckController, Recorder
from nodemend.controllers.node_health_check.gather import View
from nodemend.controllers.node_health_check.keys import (
    Beside,
    CheckKey,
    EverybodyKey,
    Key,
    PolicyKey,
    TargetKey,
)
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_request import EVERYTHING, Selection
from nodemend.kube.etcd_pod_record import ETCD_PODS, EtcdPodRecord, etcd_pod_records
from nodemend.kube.leader_loop import ElectionObserver, ElectionSettings, Leadership, lead
from nodemend.kube.node_record import NodeRecord, node_records
from nodemend.kube.object_cache import Change
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.projection import Projection, Wire, whole
from nodemend.kube.reconcile_loop import LoopObserver, ReconcileLoop
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_loop import run_reflector
from nodemend.kube.reflector_steps import ReflectorTimings
from nodemend.kube.remediation_record import RemediationRecord
from nodemend.kube.running_together import run_together
from nodemend.kube.write_gate import WriteGate

W = TypeVar("W", bound=Wire)
R = TypeVar("R")

_LOOK_FOR_SYNC_EVERY = 0.02


@dataclass(frozen=True, slots=True)
class CheckerObservers:
    """Who is told what, for logs, metrics and events."""

    election: ElectionObserver
    loop: LoopObserver[Key]
    recorder: Recorder


class Checker:
    """Every replica watches; the leader judges and asks."""

    def __init__(  # noqa: PLR0913 - what it runs on, whom it tells, and what it may leave out
        self,
        runtime: Runtime,
        transport: Transport,
        election: ElectionSettings,
        observers: CheckerObservers,
        timings: ReflectorTimings = ReflectorTimings(),  # noqa: B008 - frozen
        *,
        machines: MachineDuty | None = None,
        medik8s_leases: str = "",
        admission: Admission | None = None,
    ) -> None:
        """`machines` where MachineHealthChecks are served too.

        `admission`: the policies without which nothing is asked for; None in worlds without any.

        `medik8s_leases` is the namespace of the Leases by which medik8s' operators share nodes, where these
        are respected.
        """
        self._runtime = runtime
        self._transport = transport
        self._election = election
        self._observers = observers
        self._timings = timings
        self._medik8s_leases = medik8s_leases
        self._admission = admission
        self._seen = Observations()
        self._deeds: ReconcileLoop[Key] | None = None
        self._beside: ReconcileLoop[Key] | None = None
        self._open: OpenRemediations | None = None
        self._as_records = node_records(annotations=(keys.EXCLUDE,))
        self._nodes = self._reflect(self._as_records)
        self._checks = self._reflect(whole(NODE_HEALTH_CHECK, NodeHealthCheck))
        self._remedies = RemedyWatch(runtime, transport, timings, self._remediations_changed)
        self._remedies.remedies.first_seen = self._seen.remediations
        self._policies = self._reflect(whole(REMEDIATION_POLICY, RemediationPolicy))
        self._etcd_pods = self._reflect(etcd_pod_records(), ETCD_PODS)
        self.machines = self._check_machines(machines) if machines is not None else None
        self._orders = self._reflect(whole(REMEDIATION_ORDER, RemediationOrder))
        self.view = View(
            self._nodes.cache,
            self._checks.cache,
            self._remedies.remedies,
            self._policies.cache,
            self._orders.cache,
            self.machines.behind if self.machines is not None else None,
            self._etcd_pods.cache,
        )

    def _check_machines(self, duty: MachineDuty) -> MachineChecking:
        shared = Shared(
            self._nodes.cache,
            self._as_records,
            self._seen,
            self._remedies,
            self._policies.cache,
            self._etcd_pods.cache,
        )
        return MachineChecking(self._runtime, self._transport, self._timings, shared, duty)

    @property
    def synced(self) -> bool:
        return self.view.synced and (self.machines is None or self.machines.synced)

    @property
    def waiting(self) -> int:
        """Keys in the queue, 0 while another replica leads."""
        loops = (self._deeds, self._beside)
        return sum(loop.status().waiting for loop in loops if loop is not None)

    async def run(self) -> None:
        """Until cancelled, or until something of it fails."""
        of_machines = {"machines": self.machines.watch()} if self.machines is not None else {}
        await run_together(
            self._runtime,
            {
                **of_machines,
                "nodes": self._keep(self._nodes, self._nodes_changed),
                "checks": self._keep(self._checks, self._checks_changed),
                "remedies": self._remedies.run(),
                "policies": self._keep(self._policies, self._policies_changed),
                "etcd pods": self._keep(self._etcd_pods, self._etcd_pods_changed),
                "orders": self._keep(self._orders, self._orders_changed),
                "election": lead(
                    self._runtime, self._transport, self._election, self._work, self._observers.election
                ),
            },
        )

    async def _work(self, leadership: Leadership) -> None:
        while not self.view.synced:
            await self._runtime.sleep(_LOOK_FOR_SYNC_EVERY)
        client = ApiClient(WriteGate(self._runtime, self._transport, leadership), self._runtime)
        proof = AdmissionProof(client, self._runtime, self._admission)
        reader = Reader(client, self._runtime, proof.doubt)
        await proof.prove()
        self._open = OpenRemediations(reader, self._remedies.remedies)
        others = neighbours(reader, self._medik8s_leases)
        precautions = Precautions(Turn(self._runtime), others, self._open)
        works = {"node health checks": self._check_nodes(reader, client, precautions)}
        if self._admission is not None:
            works["admission policies"] = proof.run(lambda: self._ask_for(PolicyKey()))
        if self.machines is not None:
            works["machine health checks"] = self.machines.work(reader, client, precautions)
        await run_together(self._runtime, works)

    async def _check_nodes(self, reader: Reader, client: ApiClient, precautions: Precautions) -> None:
        controller = NodeHealthCheckController(
            self.view,
            self._seen,
            reader,
            client,
            self._observers.recorder,
            self._ask_later,
            precautions=precautions,
        )
        observer = self._observers.loop
        deeds: ReconcileLoop[Key] = ReconcileLoop(
            self._runtime, controller.reconcile, observer, self._every_target, workers=1
        )
        beside: ReconcileLoop[Key] = ReconcileLoop(
            self._runtime, controller.reconcile, observer, self._every_report, workers=1
        )
        self._deeds, self._beside = deeds, beside
        try:
            self._ask_for(*self._everything())
            await run_together(self._runtime, {"deeds": deeds.run(), "beside": beside.run()})
        finally:
            self._deeds = self._beside = None

    def _reflect(self, projection: Projection[W, R], of: Selection = EVERYTHING) -> Reflector[W, R]:
        return Reflector(projection, chance=self._runtime.random, of=of, timings=self._timings)

    async def _keep(self, reflector: Reflector[W, R], changed: Callable[[Sequence[Change[R]]], None]) -> None:
        await run_reflector(reflector, self._transport, self._runtime, changed)

    def _everything(self) -> Iterator[Key]:
        yield from self._every_report()
        yield EverybodyKey()

    def _every_report(self) -> Iterator[Key]:
        yield PolicyKey()
        yield from self._every_check()

    def _every_target(self) -> Iterator[Key]:
        """Each by itself, for when nobody knows who was asked for."""
        yield from (TargetKey(node.name) for node in self.view.nodes.all())
        yield from (TargetKey(order.metadata.name) for order in self.view.orders.all())
        # What is left of a Node that is gone.
        yield from (TargetKey(record.name) for record in self.view.remedies.all() if not record.owners)

    def _every_check(self) -> Iterator[Key]:
        return (CheckKey(check.metadata.name) for check in self.view.checks.all())

    def _ask_later(self, key: Key, after: float) -> None:
        loop = self._beside if isinstance(key, Beside) else self._deeds
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
        """Wakes nobody: it matters to those that are about to begin, and who is held looks again."""
        hosts = frozenset(pod.node for pod in self._etcd_pods.cache.all() if pod.node)
        self._seen.roll.note_etcd(hosts, self.view.nodes.get)

    def _checks_changed(self, changes: Sequence[Change[NodeHealthCheck]]) -> None:
        """Who is whose target may have changed, unless only the status did."""
        for change in changes:
            self._ask_for(CheckKey(change.key))
            # What is written of a recovery decides what is done next about it.
            self._ask_for(*(TargetKey(node) for node in _recoveries_changed(change)))
        templates = frozenset(
            as_template(template) for check in self.view.checks.all() for template in check.spec.templates
        )
        self._remedies.want("node health checks", frozenset(template.asked for template in templates))
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
                self._note_ending(change.old)
        self._ask_for(*(TargetKey(change.key.rpartition("/")[2]) for change in changes))
        for check in self._every_check():
            self._ask_later(check, REPORT_AT_MOST_EVERY)
        if self.machines is not None:
            self.machines.remediations_changed(changes)

    def _note_ending(self, record: RemediationRecord) -> None:
        at = print_time(self._runtime.wall())
        self._seen.note_ending(record, at, self.view.nodes.get(record.name))

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
