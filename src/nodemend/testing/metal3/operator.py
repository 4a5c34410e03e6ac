"""metal3's host operator, played: a program over our ports, which behaves as the recorded one did."""

from collections.abc import Sequence

import msgspec

from nodemend.api.group_versions import BARE_METAL_HOST, SECRET
from nodemend.api.object_meta import ObjectMeta
from nodemend.kube.api_request import Selection
from nodemend.kube.object_cache import Change
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.projection import Projection
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_loop import run_reflector
from nodemend.kube.running_together import run_together
from nodemend.testing.metal3.host_api import HostApi, TroubleError
from nodemend.testing.metal3.host_queue import HostQueue
from nodemend.testing.metal3.look import Again, AtOnce, OperatorSettings, Settled, Tools
from nodemend.testing.metal3.names import SECRET_LABEL
from nodemend.testing.metal3.provisioner import Provisioner
from nodemend.testing.metal3.reconcile import Reconciler


class _Wire(msgspec.Struct):
    metadata: ObjectMeta


class _Seen(msgspec.Struct, frozen=True):
    """What of an object wakes the operator when it changes. A host's status and labels do not."""

    uid: str
    version: str
    hosts: tuple[str, ...] = ()
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()


def _host(wire: _Wire, _old: _Seen | None) -> _Seen:
    metadata = wire.metadata
    # Its generation is its version: it counts changes of the spec, and the beginning of a deletion.
    return _Seen(
        metadata.uid,
        str(metadata.generation),
        (metadata.name,),
        metadata.annotations,
        metadata.finalizers,
    )


def _secret(wire: _Wire, _old: _Seen | None) -> _Seen:
    owners = wire.metadata.owner_references
    hosts = tuple(owner.name for owner in owners if owner.kind == BARE_METAL_HOST.kind)
    return _Seen(wire.metadata.uid, wire.metadata.resource_version, hosts)


def _uid(seen: _Seen) -> str:
    return seen.uid


HOSTS = Projection(BARE_METAL_HOST, _Wire, _host, _uid)
SECRETS = Projection(SECRET, _Wire, _secret, _uid)


class HostOperator:
    """Looks at one host at a time, when something happened to it or its time has come."""

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
        """Until cancelled."""
        hosts = Reflector(HOSTS, chance=self._runtime.random)
        # Only those that are marked as a host's: one that somebody has just created is not yet.
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

    def _changed(self, changes: Sequence[Change[_Seen]]) -> None:
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
                await self._look(key)
                continue
            due = self._queue.next_due()
            await self._wake.wait(None if due is None else max(due - self._runtime.monotonic(), 0.0))

    async def _look(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        try:
            outcome = await self._reconciler.reconcile(name, namespace)
        except TroubleError:
            outcome = AtOnce()
        match outcome:
            case Again(seconds):
                self._queue.again(key, self._runtime.monotonic(), seconds)
            case AtOnce():
                self._queue.at_once(key, self._runtime.monotonic())
            case Settled():
                self._queue.settled(key)
