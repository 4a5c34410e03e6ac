"""One watcher: a reflector behind a proxy, rounds of faults, and the check after each."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from http.client import HTTPException

from controlplane.api import ApiError
from controlplane.run import ControlPlane
from nodemend.api.group_versions import NODE
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Ok
from nodemend.kube.api_request import Selection
from nodemend.kube.asyncio_shell import AsyncioRuntime
from nodemend.kube.backoff import Backoff
from nodemend.kube.credentials import Connection, Endpoint
from nodemend.kube.credentials_shell import LiveCredentials, find_connection
from nodemend.kube.http_shell import HttpTransport
from nodemend.kube.node_record import NodeRecord, NodeWire, node_records
from nodemend.kube.paged_list import list_all
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_loop import run_reflector
from nodemend.kube.reflector_steps import ReflectorTimings
from tests.chaos.watch_faults.fault_proxy import FaultProxy
from tests.chaos.watch_faults.faults import Fault
from tests.chaos.watch_faults.ledger import Ledger
from tests.chaos.watch_faults.objects import Objects

# As patient as in production, but twenty to fifty times quicker.
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
    """Sees its own Nodes only, through a proxy of its own."""

    objects: Objects
    proxy: FaultProxy
    reflector: Reflector[NodeWire, NodeRecord]
    ledger: Ledger
    direct: ApiClient
    runtime: AsyncioRuntime

    async def suffer(self, fault: Fault, chance: random.Random) -> list[str]:
        """One round: objects come, change and go while the fault lasts; then the cache must be true again."""
        known = dict(self.ledger.present)
        self.proxy.strike(fault)
        await asyncio.to_thread(self.objects.change, chance.randrange(4, 12))
        await asyncio.sleep(chance.random() * chance.choice((0.1, 0.5, 2.5)))
        await asyncio.to_thread(self.objects.change, chance.randrange(0, 4))
        self.proxy.strike(Fault.NONE)
        return await self.settle(known)

    async def settle(self, known: dict[str, NodeRecord]) -> list[str]:
        """What is still wrong when the time to become true is over; nothing, as a rule.

        `known` is what had been reported before the fault: whatever of it no longer exists must be reported.
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
        fresh = {wire.metadata.name: project(wire, None) for wire in listed.value.items}
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
        with suppress(OSError, HTTPException, ApiError):  # The server is being restarted.
            self.objects.beat()


@asynccontextmanager
async def watching(plane: ControlPlane, number: int, seed: int) -> AsyncIterator[Watcher]:
    """A watcher at work. Odd ones list by small pages, even ones as a stream."""
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
            runtime.spawn(run_reflector(reflector, through, runtime, ledger.enter), "reflector"),
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
