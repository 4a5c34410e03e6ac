"""Simulation of metal3's host operator: a program over Nodemend's ports that follows the recordings.

Its queue is pure: time is an argument. A host waits for one pass at a time, the earliest that was requested.
So a change of the host replaces a later due time, including a long back-off.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from nodemend.api.meta import ObjectMeta
from nodemend.api.resources import BARE_METAL_HOST, SECRET
from nodemend.kube.informer import run_reflector
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.reflector import Reflector
from nodemend.kube.request import Selection
from nodemend.kube.store import Change, Projection
from nodemend.kube.tasks import run_together
from simulation.metal3.host import SECRET_LABEL
from simulation.metal3.host_api import HostApi, TroubleError
from simulation.metal3.provisioner import Provisioner
from simulation.metal3.reconcile import Reconciler
from simulation.metal3.reconcile_pass import Again, ImmediateOutcome, OperatorSettings, Settled, Tools


class _Wire(msgspec.Struct):
    metadata: ObjectMeta


class _Observed(msgspec.Struct, frozen=True):
    """The fields of an object whose changes wake the operator. A host's status and labels do not."""

    uid: str
    version: str
    hosts: tuple[str, ...] = ()
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()


def _host(wire: _Wire, _old: _Observed | None) -> _Observed:
    metadata = wire.metadata
    # A host's generation serves as version: it counts spec changes and the start of a deletion.
    return _Observed(
        metadata.uid,
        str(metadata.generation),
        (metadata.name,),
        metadata.annotations,
        metadata.finalizers,
    )


def _secret(wire: _Wire, _old: _Observed | None) -> _Observed:
    owners = wire.metadata.owner_references
    hosts = tuple(owner.name for owner in owners if owner.kind == BARE_METAL_HOST.kind)
    return _Observed(wire.metadata.uid, wire.metadata.resource_version, hosts)


def _uid(seen: _Observed) -> str:
    return seen.uid


HOSTS = Projection(BARE_METAL_HOST, _Wire, _host, _uid)
SECRETS = Projection(SECRET, _Wire, _secret, _uid)


class HostOperator:
    """Reconciles one host at a time, after a change of it or when its delay is over."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        provisioner: Provisioner,
        settings: OperatorSettings = OperatorSettings(),  # noqa: B008 - frozen
    ) -> None:
        self._runtime = runtime
        self._transport = transport
        tools = Tools(HostApi(transport, runtime), provisioner, runtime, settings)
        self._reconciler = Reconciler(tools)
        self._queue = HostQueue()
        self._wake = runtime.signal()

    async def run(self) -> None:
        """Run until cancelled."""
        hosts = Reflector(HOSTS, chance=self._runtime.random)
        # Only labelled Secrets: the operator does not see a new Secret before it has labelled it.
        marked = Selection(labels="=".join(SECRET_LABEL))
        secrets = Reflector(SECRETS, chance=self._runtime.random, of=marked)
        await run_together(
            self._runtime,
            {
                "hosts": run_reflector(hosts, self._transport, self._runtime, self._changed),
                "secrets": run_reflector(secrets, self._transport, self._runtime, self._changed),
                "looks": self._work(),
            },
        )

    def _changed(self, changes: Sequence[Change[_Observed]]) -> None:
        for change in changes:
            namespace, _, _ = change.key.partition("/")
            for seen in (change.old, change.new):
                for host in seen.hosts if seen is not None else ():
                    self._queue.wake(f"{namespace}/{host}", self._runtime.monotonic())
        self._wake.set()

    async def _work(self) -> None:
        while True:
            key = self._queue.take(self._runtime.monotonic())
            if key is not None:
                await self._poll(key)
                continue
            due = self._queue.next_due()
            await self._wake.wait(None if due is None else max(due - self._runtime.monotonic(), 0.0))

    async def _poll(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        try:
            outcome = await self._reconciler.reconcile(name, namespace)
        except TroubleError:
            outcome = ImmediateOutcome()
        match outcome:
            case Again(seconds):
                self._queue.again(key, self._runtime.monotonic(), seconds)
            case ImmediateOutcome():
                self._queue.at_once(key, self._runtime.monotonic())
            case Settled():
                self._queue.settled(key)


FIRST_DELAY: Final = 0.005
LONGEST_DELAY: Final = 1000.0


class HostQueue:
    """Keys with due times. A key whose pass is running can be queued again."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._in_a_row: dict[str, int] = {}

    def wake(self, key: str, now: float) -> None:
        self._due[key] = min(now, self._due.get(key, now))

    def take(self, now: float) -> str | None:
        """Return and remove the key that has been due for the longest time, or None."""
        key = min(self._due, key=lambda key: self._due[key], default=None)
        if key is None or self._due[key] > now:
            return None
        del self._due[key]
        return key

    def next_due(self) -> float | None:
        return min(self._due.values(), default=None)

    def settled(self, key: str) -> None:
        self._in_a_row.pop(key, None)

    def again(self, key: str, now: float, seconds: float) -> None:
        self._in_a_row.pop(key, None)
        self.wake(key, now + seconds)

    def at_once(self, key: str, now: float) -> None:
        """Queue the key in 5 ms; each consecutive call doubles the delay."""
        times = self._in_a_row.get(key, 0)
        self._in_a_row[key] = times + 1
        self.wake(key, now + min(FIRST_DELAY * 2.0 ** min(times, 63), LONGEST_DELAY))
