"""The remediator: serves the remediations that checks ask for. One program, over its ports."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from nodemend.api.group_versions import (
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    SELF_REMEDIATION,
    Resource,
)
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.self_remediation import SelfRemediation
from nodemend.controllers.admission_proof import Admission, AdmissionProof
from nodemend.controllers.agents.sweep import AgentSweep
from nodemend.controllers.capm3_remediation.service import Capm3Recorder, Capm3Service
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.manual_remediation.controller import ManualController, ManualRecorder, ManualWay
from nodemend.controllers.manual_remediation.gather import Gatherer as ManualGatherer
from nodemend.controllers.power_cycle.controller import PowerController, PowerRecorder, PowerWay
from nodemend.controllers.power_cycle.gather import Gatherer as PowerGatherer
from nodemend.controllers.power_cycle.hold_sweep import HoldSweep
from nodemend.controllers.remediating.at_work import AtWork
from nodemend.controllers.remediating.cluster_view import ClusterView
from nodemend.controllers.remediating.locks import LockSweep
from nodemend.controllers.remediating.surroundings import Surroundings
from nodemend.controllers.remediating.switch_guard import SwitchGuard
from nodemend.controllers.self_remediation.controller import FencingRecorder, SelfController, SelfWay
from nodemend.controllers.self_remediation.gather import Gatherer as SelfGatherer
from nodemend.decide.remediation_life import Tenure
from nodemend.kube.api_client import ApiClient
from nodemend.kube.leader_loop import ElectionObserver, ElectionSettings, Leadership, lead
from nodemend.kube.object_cache import Change, ObjectCache
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.projection import whole
from nodemend.kube.rate_limit import Rate
from nodemend.kube.reconcile_loop import LoopObserver, Outcome, ReconcileLoop
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_loop import run_reflector
from nodemend.kube.reflector_steps import ReflectorTimings
from nodemend.kube.running_together import run_together
from nodemend.kube.write_gate import WriteGate

RATE: Final = Rate(per_second=500.0, at_once=1000)
"""Until a node is marked we read and write some fifty times, each time anew, and a rack may fail at once. The
chart gives us a place of our own in the server's queues."""
LEFT_BY_READS: Final = 20
"""Requests. Reads wait for their turn, so that a write, for which they were made, never does."""
_WORKERS: Final = 16
"""A pass is some ten reads one after the other, at a distance from the API server each."""
_LOOK_FOR_SYNC_EVERY: Final = 0.1
_VIEW_WITHIN: Final = 10.0


class Key(NamedTuple):
    """One remediation, of whichever kind."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class RemediatorObservers:
    """Who is told what, for logs, metrics and events."""

    election: ElectionObserver
    loop: LoopObserver[Key]
    manual: ManualRecorder
    power: PowerRecorder
    capm3: Capm3Recorder
    fencing: FencingRecorder


@dataclass(frozen=True, slots=True, kw_only=True)
class Powers:
    """What whoever installed us allows beside releases on a person's word."""

    power_cycle: bool = False
    """Hosts are switched off and on."""
    node_deletion: bool = False
    """Nodes are deleted, where a remediation asks to release so."""
    capm3_kinds: bool = False
    """CAPM3's remediations are carried out by ours."""
    self_fencing: bool = False
    """Nodes are asked to reset themselves."""


NO_POWERS: Final = Powers()

K = TypeVar("K", ManualRemediation, Metal3Remediation, SelfRemediation)


class Watched(NamedTuple):
    """One kind: what is known of it, and what keeps that true."""

    cache: ObjectCache[Any]
    unreadable: Callable[[], Mapping[str, str]]
    """By key, with why: what a newer version wrote, say. Left alone, and told of."""
    follow: Callable[[], Coroutine[Any, Any, None]]


class Remediator:
    """Every replica watches; the leader acts."""

    def __init__(  # noqa: PLR0913 - what it runs on, whom it tells, what it may do and on which grounds
        self,
        runtime: Runtime,
        transport: Transport,
        election: ElectionSettings,
        observers: RemediatorObservers,
        timings: ReflectorTimings = ReflectorTimings(),  # noqa: B008 - frozen
        *,
        powers: Powers = NO_POWERS,
        admission: Admission | None = None,
    ) -> None:
        """`admission`: the policies without which nothing irreversible is done. None in worlds without."""
        self._admission = admission
        self._runtime = runtime
        self._transport = transport
        self._election = election
        self._observers = observers
        self._timings = timings
        self._powers = powers
        self._loop: ReconcileLoop[Key] | None = None
        self._power_cycles_stirred = False
        """One came, changed or went since the hold sweep last asked: a short one is not missed by it."""
        self.view = ClusterView(runtime, transport, timings)
        self.kinds = {MANUAL_REMEDIATION.kind: self._watch(MANUAL_REMEDIATION, ManualRemediation)}
        if powers.power_cycle:
            self.kinds[METAL3_REMEDIATION.kind] = self._watch(METAL3_REMEDIATION, Metal3Remediation)
        if powers.self_fencing:
            self.kinds[SELF_REMEDIATION.kind] = self._watch(SELF_REMEDIATION, SelfRemediation)

    def _watch(self, resource: Resource, type_: type[K]) -> Watched:
        reflector = Reflector(whole(resource, type_), chance=self._runtime.random, timings=self._timings)

        def changed(changes: Sequence[Change[K]]) -> None:
            self._power_cycles_stirred |= resource is METAL3_REMEDIATION
            if self._loop is not None:
                for change in changes:
                    namespace, _, name = change.key.partition("/")
                    self._loop.add(Key(resource.kind, namespace, name))

        return Watched(
            reflector.cache,
            lambda: reflector.unreadable,
            lambda: run_reflector(reflector, self._transport, self._runtime, changed),
        )

    @property
    def synced(self) -> bool:
        return all(watched.cache.synced_at is not None for watched in self.kinds.values())

    @property
    def waiting(self) -> int:
        """Keys in the queue, 0 while another replica leads."""
        return self._loop.status().waiting if self._loop is not None else 0

    async def run(self) -> None:
        """Until cancelled, or until something of it fails."""
        watches = {kind: watched.follow() for kind, watched in self.kinds.items()}
        election = lead(self._runtime, self._transport, self._election, self._work, self._observers.election)
        await run_together(self._runtime, {**watches, **self.view.follow(), "election": election})

    async def _work(self, leadership: Leadership) -> None:
        await self._await_sync()
        client = ApiClient(WriteGate(self._runtime, self._transport, leadership), self._runtime, RATE)
        proof = AdmissionProof(client, self._runtime, self._admission)
        reading = client.leaving(LEFT_BY_READS, queues=True)
        reader = Reader(reading, self._runtime, proof.doubt, proof.reports_from)
        at_work = AtWork(reader, self_fencing=self._powers.self_fencing)
        # When the last leadership began its last remediation is not known: it may have been just now.
        switch = SwitchGuard(self.view, self._runtime, at_work, last_start=self._runtime.monotonic())
        tenure = Tenure(leadership.epoch, leadership.remembers_from, leadership.remembers_since)
        serving = self._controllers(reader, client, switch, tenure)

        async def reconcile(key: Key) -> Outcome:
            return await serving[key.kind]((key.namespace, key.name))

        loop = ReconcileLoop(
            self._runtime, reconcile, self._observers.loop, self._everything, workers=_WORKERS
        )
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
        self, reader: Reader, client: ApiClient, switch: SwitchGuard, tenure: Tenure
    ) -> dict[str, Callable[[tuple[str, str]], Coroutine[Any, Any, Outcome]]]:
        """What reconciles each kind, by namespace and name."""
        namespace = self._election.lease.namespace
        around = Surroundings(reader, switch.at_work)
        by_hand = ManualWay(
            gatherer=ManualGatherer(reader, around, switch, namespace),
            tenure=tenure,
            system_namespace=namespace,
        )
        gatherer = PowerGatherer(
            reader,
            around,
            self.view.claims,
            switch,
            namespace,
            may_delete_nodes=self._powers.node_deletion,
        )
        by_power = PowerWay(
            runtime=self._runtime, gatherer=gatherer, tenure=tenure, system_namespace=namespace
        )
        by_itself = SelfWay(
            gatherer=SelfGatherer(reader, around, switch, namespace),
            tenure=tenure,
            system_namespace=namespace,
        )
        manual = ManualController(by_hand, reader, client, self._observers.manual, switch)
        power = PowerController(by_power, reader, client, self._observers.power, switch)
        fencing = SelfController(by_itself, reader, client, self._observers.fencing, switch)
        return {
            MANUAL_REMEDIATION.kind: manual.reconcile,
            METAL3_REMEDIATION.kind: power.reconcile,
            SELF_REMEDIATION.kind: fencing.reconcile,
        }

    async def _await_sync(self) -> None:
        """Of the view for a while only: without it the guard holds, and clean-up must not wait for that."""
        until = self._runtime.monotonic() + _VIEW_WITHIN
        while not self.synced or (not self.view.synced and self._runtime.monotonic() < until):
            await self._runtime.sleep(_LOOK_FOR_SYNC_EVERY)

    def _sweeps(
        self, reader: Reader, client: ApiClient, proof: AdmissionProof
    ) -> dict[str, Coroutine[Any, Any, None]]:
        """What goes on beside the work, by name."""
        sweeps = {"lock sweep": LockSweep(reader, client, self._election.lease.namespace).run()}
        if self._admission is not None:
            sweeps["admission policies"] = proof.run()
        if METAL3_REMEDIATION.kind in self.kinds:
            hold_sweep = HoldSweep(reader, client, self._observers.power, self._any_power_cycle)
            sweeps["hold sweep"] = hold_sweep.run()
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
        """Whether there is one, or was since this was last asked."""
        stirred, self._power_cycles_stirred = self._power_cycles_stirred, False
        known = self.kinds[METAL3_REMEDIATION.kind]
        return stirred or bool(known.cache or known.unreadable())

    def _everything(self) -> list[Key]:
        """Also what cannot be read: each look at it fails, and is told."""
        keys = []
        for kind, watched in self.kinds.items():
            keys += [Key(kind, one.metadata.namespace, one.metadata.name) for one in watched.cache.all()]
            keys += [Key(kind, *key.split("/", 1)) for key in watched.unreadable()]
        return keys
