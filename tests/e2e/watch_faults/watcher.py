"""One watcher: a reflector behind a proxy, rounds of faults, and the check after each."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from http.client import HTTPException

from controlplane.api import ApiError
from controlplane.run import ControlPlane
from nodemend.api.resources import NODE
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.kube.client import ApiClient, list_all
from nodemend.kube.credentials import Connection, Endpoint
from nodemend.kube.credentials_io import LiveCredentials, find_connection
from nodemend.kube.flowcontrol import Backoff
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.informer import run_reflector
from nodemend.kube.outcome import Ok
from nodemend.kube.reflector import Reflector, ReflectorTimings
from nodemend.kube.request import Selection
from nodemend.records.node import NodeRecord, NodeWire, node_records
from tests.e2e.watch_faults.fault_proxy import FaultProxy
from tests.e2e.watch_faults.faults import Fault
from tests.e2e.watch_faults.ledger import Ledger
from tests.e2e.watch_faults.objects import Objects

# The production timings, twenty to fifty times shorter.
QUICK = ReflectorTimings(
    page_within=3.0,
    open_within=1.5,
    stall_limit=1.5,
    good_period=1.0,
    shortest_watch=3.0,
    longest_watch=6.0,
    longest_quiet=2.0,
    backoff=Backoff(first=0.05, most=1.0),
)
_BEAT_EVERY_SECONDS = 0.4
_TRUE_WITHIN_SECONDS = 30.0


@dataclass
class Watcher:
    """Selects its own Nodes only, through its own proxy."""

    objects: Objects
    proxy: FaultProxy
    reflector: Reflector[NodeWire, NodeRecord]
    ledger: Ledger
    direct: ApiClient
    runtime: AsyncioRuntime

    async def suffer(self, fault: Fault, chance: random.Random) -> list[str]:
        """One round: objects are created, changed and deleted during the fault; then the cache must become
        correct.
        """
        known = dict(self.ledger.present)
        self.proxy.inject(fault)
        await asyncio.to_thread(self.objects.change, chance.randrange(4, 12))
        await asyncio.sleep(chance.random() * chance.choice((0.1, 0.5, 2.5)))
        await asyncio.to_thread(self.objects.change, chance.randrange(0, 4))
        self.proxy.inject(Fault.NONE)
        return await self.settle(known)

    async def settle(self, known: dict[str, NodeRecord]) -> list[str]:
        """The errors that remain at the end of the allowed time; usually none.

        `known` is the reported state before the fault: its objects that no longer exist must be reported as
        deleted.
        """
        deadline = self.runtime.monotonic() + _TRUE_WITHIN_SECONDS
        while True:
            wrong = await self._compare(known)
            if not wrong or self.runtime.monotonic() > deadline:
                return wrong + self.ledger.errors
            await asyncio.sleep(0.03)

    async def _compare(self, known: dict[str, NodeRecord]) -> list[str]:
        of = Selection(labels=self.objects.selector)
        listed = await list_all(self.direct, NODE, NodeWire, of=of, deadline=self.runtime.monotonic() + 10)
        if not isinstance(listed, Ok):
            return [f"no fresh list: {listed}"]
        project = node_records().project
        fresh = {wire.metadata.name: project(wire, None) for wire in listed.value}
        cached = {record.name: record for record in self.reflector.cache.all()}
        wrong = [
            f"{name}: cache and server differ"
            for name in fresh | cached
            if fresh.get(name) != cached.get(name)
        ]
        wrong += [f"{name}: reports and cache differ" for name in cached | self.ledger.present
                  if cached.get(name) != self.ledger.present.get(name)]  # fmt: skip
        alive = {record.uid for record in fresh.values()}
        wrong += [f"{name}: its end was missed" for name, record in known.items()
                  if record.uid not in alive and record.uid not in self.ledger.gone]  # fmt: skip
        if {name: record.uid for name, record in fresh.items()} != self.objects.uids:
            wrong.append("the server does not hold what was written")
        return wrong

    async def keep_beating(self) -> None:
        while True:
            await asyncio.to_thread(self._beat_if_served)
            await asyncio.sleep(_BEAT_EVERY_SECONDS)

    def _beat_if_served(self) -> None:
        with suppress(OSError, HTTPException, ApiError):  # The server is restarting.
            self.objects.beat()


@asynccontextmanager
async def watching(plane: ControlPlane, number: int, seed: int) -> AsyncIterator[Watcher]:
    """A running watcher. Odd ones list by small pages, even ones as a stream."""
    runtime = AsyncioRuntime(seed)
    connection = find_connection({}, str(plane.kubeconfig))
    async with FaultProxy(plane.port, plane.directory / "certs", seed) as proxy:
        through = _transport(connection, f"https://127.0.0.1:{proxy.port}", runtime)
        direct = _transport(connection, plane.url, runtime)
        objects = Objects(plane.api, f"w{number}", random.Random(f"{seed}/{number}"))
        reflector = Reflector(
            node_records(),
            chance=runtime.random,
            of=Selection(labels=objects.selector),
            timings=QUICK,
            streaming=number % 2 == 0,
            page_size=4,
        )
        ledger = Ledger()
        watcher = Watcher(objects, proxy, reflector, ledger, ApiClient(direct, runtime), runtime)
        tasks = [
            runtime.spawn(run_reflector(reflector, through, runtime, ledger.record), "reflector"),
            runtime.spawn(watcher.keep_beating(), "pulse"),
        ]
        try:
            yield watcher
        finally:
            for task in tasks:
                task.cancel()
                await task.join()
            await through.close()
            await direct.close()


def _transport(connection: Connection, server: str, runtime: AsyncioRuntime) -> HttpTransport:
    endpoint = Endpoint(server, connection.endpoint.authority)
    return HttpTransport(LiveCredentials(replace(connection, endpoint=endpoint), runtime), runtime)
