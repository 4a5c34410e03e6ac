"""The remediator: serves the remediations that health checks request."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.resources import MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION
from nodemend.api.self_remediation import SelfRemediation
from nodemend.guard.policy_proof import Admission, AdmissionProof
from nodemend.kube.client import ApiClient
from nodemend.kube.controller import Controller, LoopObserver, Outcome
from nodemend.kube.flowcontrol import Rate
from nodemend.kube.informer import run_reflector
from nodemend.kube.leader_runner import ElectionObserver, ElectionSettings, Leadership, LeaderTransport, lead
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.reflector import Reflector
from nodemend.kube.store import Change, Projection, whole
from nodemend.kube.tasks import run_together
from nodemend.records.live_reads import LiveReader
from nodemend.remediation.capm3.controller import Capm3Recorder, Capm3Service
from nodemend.remediation.manual.controller import ManualDriver, ManualRecorder
from nodemend.remediation.metal3.controller import PowerCycleDriver, PowerRecorder
from nodemend.remediation.metal3.sweep import OrphanedPowerOffGC
from nodemend.remediation.node_state import ConcurrencyTracker, NodeReader
from nodemend.remediation.reconciler import RemediationController
from nodemend.remediation.self_fencing.controller import FencingRecorder, SelfFencingDriver
from nodemend.remediation.self_fencing.peer_assignment import AgentSweep
from nodemend.remediation.switch_guard import ClusterView, RemediatorGuard
from nodemend.remediation.writes import LockSweep
from nodemend.safety.lifecycle import LeaderTerm

RATE: Final = Rate(per_second=500.0, at_once=1000)
"""A remediation makes about fifty live reads and writes until it releases its node's workloads, and a whole
rack may fail at once. The chart gives the remediator its own queues in the API server."""
LEFT_BY_READS: Final = 20
"""Requests. Reads queue for the rate limit, so that a write, for which they were made, never does."""
_WORKERS: Final = 16
"""A reconcile makes about ten reads in sequence, each a round trip to the API server."""
_SYNC_POLL_INTERVAL: Final = 0.1
_VIEW_WITHIN: Final = 10.0


class RemediationKey(NamedTuple):
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class RemediatorObservers:
    """Observers for logs, metrics and events."""

    election: ElectionObserver
    loop: LoopObserver[RemediationKey]
    manual: ManualRecorder
    power: PowerRecorder
    capm3: Capm3Recorder
    fencing: FencingRecorder


@dataclass(frozen=True, slots=True, kw_only=True)
class EnabledKinds:
    """The features that the installation enables beside releases after an operator confirmation."""

    power_cycle: bool = False
    """The remediator may power hosts off and on."""
    node_deletion: bool = False
    """The remediator may delete Nodes if a remediation requests that way of release."""
    capm3_kinds: bool = False
    """The remediator carries out CAPM3's remediations by its own kinds."""
    self_fencing: bool = False
    """The remediator may request nodes to reset themselves."""


NO_POWERS: Final = EnabledKinds()


class Remediator:
    """Every replica watches; only the leader acts."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        election: ElectionSettings,
        observers: RemediatorObservers,
        *,
        powers: EnabledKinds = NO_POWERS,
        admission: Admission | None = None,
    ) -> None:
        """`admission`: without these policies in force no irreversible action runs; None in test worlds."""
        self._admission = admission
        self._runtime = runtime
        self._transport = transport
        self._election = election
        self._observers = observers
        self._powers = powers
        self._loop: Controller[RemediationKey] | None = None
        self._power_cycles_stirred = False
        """True if one changed since the last `_any_power_cycle`, so that the sweep misses no short one."""
        self.view = ClusterView(runtime, transport)
        projections: list[Projection[Any, Any]] = [whole(MANUAL_REMEDIATION, ManualRemediation)]
        if powers.power_cycle:
            projections.append(whole(METAL3_REMEDIATION, Metal3Remediation))
        if powers.self_fencing:
            projections.append(whole(SELF_REMEDIATION, SelfRemediation))
        self.kinds: dict[str, Reflector[Any, Any]] = {
            one.resource.kind: Reflector(one, chance=runtime.random) for one in projections
        }

    def _changed(self, kind: str, changes: Sequence[Change[Any]]) -> None:
        self._power_cycles_stirred |= kind == METAL3_REMEDIATION.kind
        if self._loop is not None:
            for change in changes:
                namespace, _, name = change.key.partition("/")
                self._loop.add(RemediationKey(kind, namespace, name))

    @property
    def synced(self) -> bool:
        return all(watched.cache.synced_at is not None for watched in self.kinds.values())

    @property
    def waiting(self) -> int:
        """Number of keys in the queue; 0 while another replica leads."""
        return self._loop.waiting if self._loop is not None else 0

    async def run(self) -> None:
        """Run until cancelled; raise if one of the tasks fails."""
        watches = {
            kind: run_reflector(watched, self._transport, self._runtime, partial(self._changed, kind))
            for kind, watched in self.kinds.items()
        }
        election = lead(self._runtime, self._transport, self._election, self._work, self._observers.election)
        await run_together(self._runtime, {**watches, **self.view.follow(), "election": election})

    async def _work(self, leadership: Leadership) -> None:
        await self._await_sync()
        client = ApiClient(LeaderTransport(self._runtime, self._transport, leadership), self._runtime, RATE)
        proof = AdmissionProof(client, self._runtime, self._admission)
        reading = client.leaving(LEFT_BY_READS, queues=True)
        reader = LiveReader(reading, self._runtime, proof.problem, proof.reports_from)
        in_progress = ConcurrencyTracker(reader, self_fencing=self._powers.self_fencing)
        # The last start of the previous leader is unknown: assume that it was just now.
        switch = RemediatorGuard(self.view, self._runtime, in_progress, last_start=self._runtime.monotonic())
        tenure = LeaderTerm(leadership.epoch, leadership.remembers_from, leadership.remembers_since)
        serving = self._controllers(reader, client, switch, tenure)

        async def reconcile(key: RemediationKey) -> Outcome:
            return await serving[key.kind]((key.namespace, key.name))

        loop = Controller(self._runtime, reconcile, self._observers.loop, self._everything, workers=_WORKERS)
        await proof.prove()
        self._loop, self.view.on_node = loop, switch.node_changed
        try:
            for key in self._everything():
                loop.add(key)
            sweeps = self._sweeps(reader, client, proof)
            await run_together(self._runtime, {"work": loop.run(), **sweeps})
        finally:
            self._loop = self.view.on_node = None

    def _controllers(
        self, reader: LiveReader, client: ApiClient, switch: RemediatorGuard, tenure: LeaderTerm
    ) -> dict[str, Callable[[tuple[str, str]], Coroutine[Any, Any, Outcome]]]:
        """Return the reconcile function per kind; its argument is (namespace, name)."""
        namespace = self._election.lease.namespace
        around = NodeReader(reader)
        manual = ManualDriver(reader, around, switch, namespace, tenure)
        power = PowerCycleDriver(
            reader,
            around,
            switch,
            namespace,
            tenure,
            self.view.claims,
            may_delete_nodes=self._powers.node_deletion,
        )
        fencing = SelfFencingDriver(reader, around, switch, namespace, tenure)
        observers = self._observers
        return {
            MANUAL_REMEDIATION.kind: RemediationController(manual, client, observers.manual).reconcile,
            METAL3_REMEDIATION.kind: RemediationController(power, client, observers.power).reconcile,
            SELF_REMEDIATION.kind: RemediationController(fencing, client, observers.fencing).reconcile,
        }

    async def _await_sync(self) -> None:
        """Wait for the remediations, and for the view of the cluster for a limited time only.

        Without the view the guard holds every start, and clean-up must not wait for that.
        """
        until = self._runtime.monotonic() + _VIEW_WITHIN
        while not self.synced or (not self.view.synced and self._runtime.monotonic() < until):
            await self._runtime.sleep(_SYNC_POLL_INTERVAL)

    def _sweeps(
        self, reader: LiveReader, client: ApiClient, proof: AdmissionProof
    ) -> dict[str, Coroutine[Any, Any, None]]:
        """Return the background tasks by name."""
        sweeps = {"lock sweep": LockSweep(reader, client, self._election.lease.namespace).run()}
        if self._admission is not None:
            sweeps["admission policies"] = proof.run()
        if METAL3_REMEDIATION.kind in self.kinds:
            orphaned_power_off_gc = OrphanedPowerOffGC(
                reader, client, self._observers.power, self._any_power_cycle
            )
            sweeps["hold sweep"] = orphaned_power_off_gc.run()
        if self._powers.self_fencing:
            sweep = AgentSweep(
                client,
                self._runtime,
                self.view.nodes,
                proof.reports_from,
                self._observers.fencing.agents_seen,
            )
            sweeps["agents"] = sweep.run()
        if self._powers.power_cycle and self._powers.capm3_kinds:
            sweeps["CAPM3's kinds"] = Capm3Service(reader, client, self._observers.capm3).run()
        return sweeps

    def _any_power_cycle(self) -> bool:
        """True if a power cycle exists, or changed since the last call."""
        stirred, self._power_cycles_stirred = self._power_cycles_stirred, False
        known = self.kinds[METAL3_REMEDIATION.kind]
        return stirred or bool(known.cache or known.unreadable)

    def _everything(self) -> list[RemediationKey]:
        """Return all keys, including unreadable objects: their reconcile fails and reports that."""
        keys = []
        for kind, watched in self.kinds.items():
            keys += [
                RemediationKey(kind, one.metadata.namespace, one.metadata.name) for one in watched.cache.all()
            ]
            keys += [RemediationKey(kind, *key.split("/", 1)) for key in watched.unreadable]
        return keys
