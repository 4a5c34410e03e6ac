"""The remediator: serves the remediations that checks ask for. One program, over its ports."""

from collections.abc import Sequence
from dataclasses import dataclass

from nodemend.api.group_versions import MANUAL_REMEDIATION
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.manual_remediation.controller import ManualRemediationController, Recorder
from nodemend.controllers.manual_remediation.lock_sweep import LockSweep
from nodemend.kube.api_client import ApiClient
from nodemend.kube.leader_loop import ElectionObserver, ElectionSettings, Leadership, lead
from nodemend.kube.object_cache import Change
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.projection import whole
from nodemend.kube.reconcile_loop import LoopObserver, ReconcileLoop
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_loop import run_reflector
from nodemend.kube.reflector_steps import ReflectorTimings
from nodemend.kube.running_together import run_together
from nodemend.kube.write_gate import WriteGate

Key = tuple[str, str]
"""Namespace and name of a remediation."""

_LOOK_FOR_SYNC_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class RemediatorObservers:
    """Who is told what, for logs, metrics and events."""

    election: ElectionObserver
    loop: LoopObserver[Key]
    recorder: Recorder


class Remediator:
    """Every replica watches; the leader acts."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        election: ElectionSettings,
        observers: RemediatorObservers,
        timings: ReflectorTimings = ReflectorTimings(),  # noqa: B008 - frozen
    ) -> None:
        self._runtime = runtime
        self._transport = transport
        self._election = election
        self._observers = observers
        self._loop: ReconcileLoop[Key] | None = None
        self._reflector = Reflector(
            whole(MANUAL_REMEDIATION, ManualRemediation), chance=runtime.random, timings=timings
        )
        self.remediations = self._reflector.cache

    @property
    def synced(self) -> bool:
        return self.remediations.synced_at is not None

    @property
    def waiting(self) -> int:
        """Keys in the queue, 0 while another replica leads."""
        return self._loop.status().waiting if self._loop is not None else 0

    async def run(self) -> None:
        """Until cancelled, or until something of it fails."""
        await run_together(
            self._runtime,
            {
                "remediations": run_reflector(self._reflector, self._transport, self._runtime, self._changed),
                "election": lead(
                    self._runtime, self._transport, self._election, self._work, self._observers.election
                ),
            },
        )

    async def _work(self, leadership: Leadership) -> None:
        while not self.synced:
            await self._runtime.sleep(_LOOK_FOR_SYNC_EVERY)
        client = ApiClient(WriteGate(self._runtime, self._transport, leadership), self._runtime)
        reader, namespace = Reader(client, self._runtime), self._election.lease.namespace
        controller = ManualRemediationController(
            reader,
            client,
            self._observers.recorder,
            epoch=leadership.epoch,
            system_namespace=namespace,
        )
        sweep = LockSweep(reader, client, namespace)
        # One worker: the guard counts releases under way, and two at once could both find room for one.
        loop = ReconcileLoop(
            self._runtime, controller.reconcile, self._observers.loop, self._everything, workers=1
        )
        self._loop = loop
        try:
            for key in self._everything():
                loop.add(key)
            await run_together(self._runtime, {"work": loop.run(), "lock sweep": sweep.run()})
        finally:
            self._loop = None

    def _everything(self) -> list[Key]:
        return [(found.metadata.namespace, found.metadata.name) for found in self.remediations.all()]

    def _changed(self, changes: Sequence[Change[ManualRemediation]]) -> None:
        if self._loop is not None:
            for change in changes:
                namespace, _, name = change.key.partition("/")
                self._loop.add((namespace, name))
