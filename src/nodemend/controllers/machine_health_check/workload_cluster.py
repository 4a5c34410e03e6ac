"""One workload cluster: connected to by its kubeconfig, its Nodes followed, given up, and tried again."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from nodemend.api.node import Node
from nodemend.controllers.checking.guarding import VIEW_GOOD_FOR
from nodemend.controllers.checking.observations import Observations
from nodemend.controllers.checking.turn import Turn
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.machine_health_check.cluster_line import REFUSED, SILENT, Line, Trouble
from nodemend.controllers.machine_health_check.clusters import ClusterNodes, OutOfReach, Whereabouts
from nodemend.controllers.machine_health_check.kubeconfig_secrets import KubeconfigSecrets
from nodemend.decide.facts import Seen, Unreadable
from nodemend.kube.backoff import Backoff
from nodemend.kube.node_record import NodeRecord, NodeWire
from nodemend.kube.object_cache import Change, ObjectCache
from nodemend.kube.ports import CannotConnect, Connector, OwnedTransport, Runtime, Task
from nodemend.kube.projection import Projection
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_loop import run_reflector
from nodemend.kube.reflector_steps import ReflectorTimings

UNSEEN_AFTER: Final = VIEW_GOOD_FOR - 10.0
"""Seconds without a sign from its API server. Before the guard would call our view of it old."""
FIRST_LIST_WITHIN: Final = 300.0
"""Seconds that a list may take as long as nothing goes wrong with it."""
PLACE_FOR: Final = 30.0
"""Seconds for which one that is slow to list keeps others from being opened."""
READS_AT_ONCE: Final = 2
"""Of single Nodes, from one cluster: workers that wait for it are missing to all others."""
BACKOFF: Final = Backoff(first=2.0, most=60.0, spread=0.5)
_LOOK_FOR_LIST_EVERY: Final = 0.1
UNHANDLED: Final = "what its API server or its kubeconfig says cannot be handled"
_LONGEST_DETAIL: Final = 300
CONNECTING: Final = Trouble("it is being connected to")


@dataclass(frozen=True, slots=True)
class Access:
    """What all clusters are connected to by."""

    runtime: Runtime
    secrets: KubeconfigSecrets
    connector: Connector
    opening: Turn
    projection: Projection[NodeWire, NodeRecord]
    """One for all, so that what nodes have in common they hold once."""
    timings: ReflectorTimings


class WorkloadCluster:
    """`changed` is told of changes after the cache has them. Whoever owns it runs it, and looks at it."""

    def __init__(
        self, name: str, access: Access, changed: Callable[[str, Sequence[Change[NodeRecord]]], None]
    ) -> None:
        self.name = name
        self.trouble = CONNECTING
        self.sightings = 0
        self.whereabouts: Whereabouts = OutOfReach(CONNECTING.why)
        self._access = access
        self._runtime = access.runtime
        self._changed = changed
        self._reflector = Reflector(access.projection, chance=access.runtime.random, timings=access.timings)
        self.nodes = ClusterNodes(self.cache, Observations())
        self._doubt = access.runtime.signal()
        self._line: Line | None = None

    @property
    def cache(self) -> ObjectCache[NodeRecord]:
        return self._reflector.cache

    async def run(self) -> None:
        """Until cancelled. Its Secret is read anew for every attempt: credentials are rotated."""
        failures = 0
        while True:
            began = self._runtime.monotonic()
            self.trouble = await self._once_or_trouble()
            steady = self._lived_since(began)
            failures = 1 if steady else failures + 1
            await self._runtime.sleep(BACKOFF.delay(failures, self._runtime.random()))

    async def read_node(self, name: str) -> Seen[Node]:
        line = self._line
        if line is None:
            return Unreadable("its cluster is not connected to")
        if line.reads >= READS_AT_ONCE:
            return Unreadable("others of its cluster are being read")
        line.reads += 1
        try:
            found = await Reader(line.client, self._runtime).node(name)
        finally:
            line.reads -= 1
        if not isinstance(found, Unreadable):
            return found
        # Nobody else of the cluster need try until it is well again.
        self.cache.troubled_at = self._runtime.monotonic()
        return Unreadable("its API server did not show it")

    def look(self, now: float) -> Trouble | None:
        """Why it is not seen at all; None when it is. To be called every few seconds."""
        if self._line is None:
            self.cache.troubled_at = now
        elif self._is_lost(self._line, now):
            self._doubt.set()
        return self.trouble if self._silent_for(now) > UNSEEN_AFTER else None

    async def _once_or_trouble(self) -> Trouble:
        """Its kubeconfig and its API server are another party's: what they raise is its own trouble."""
        try:
            return await self._once()
        except Exception as error:  # noqa: BLE001 - one cluster must not end the checker; see tests/tidy
            return Trouble(UNHANDLED, f"{type(error).__name__}: {error}"[:_LONGEST_DETAIL])

    async def _once(self) -> Trouble:
        """Connect, and follow until that comes to an end; why it did."""
        async with AsyncExitStack() as opened:
            async with self._access.opening.taken():
                transport = await self._connect()
                if isinstance(transport, Trouble):
                    return transport
                opened.push_async_callback(transport.close)
                line = Line(transport, self._runtime, self._doubt.set)
                trouble = await line.try_out()
                if trouble is not None:
                    return trouble
                following = self._runtime.spawn(self._follow(line), f"nodes of {self.name}")
                opened.push_async_callback(_end, following)
                await self._first_list(line, following)
            return await self._until_lost(line, following)

    async def _connect(self) -> OwnedTransport | Trouble:
        """Nothing of the kubeconfig is kept."""
        kubeconfig = await self._access.secrets.read(self.name)
        if isinstance(kubeconfig, Trouble):
            return kubeconfig
        transport = await self._access.connector.connect(kubeconfig)
        if isinstance(transport, CannotConnect):
            return Trouble(f"its kubeconfig cannot be used: {transport.why:.200}")
        return transport

    async def _follow(self, line: Line) -> None:
        self._line = line
        try:
            await run_reflector(self._reflector, line, self._runtime, self._note)
        finally:
            self._line = None
            self._doubt.set()

    def _note(self, changes: Sequence[Change[NodeRecord]]) -> None:
        now = self._runtime.monotonic()
        for change in changes:
            self.nodes.seen.note(change, now)
        self._changed(self.name, changes)

    async def _first_list(self, line: Line, following: Task) -> None:
        until = line.opened_at + PLACE_FOR
        while not (self._listed_since(line.opened_at) or line.refused or following.done):
            if self._runtime.monotonic() >= until:
                return
            await self._runtime.sleep(_LOOK_FOR_LIST_EVERY)

    async def _until_lost(self, line: Line, following: Task) -> Trouble:
        self.trouble = Trouble(SILENT)
        while not following.done:
            if line.refused:
                return REFUSED
            if self._is_lost(line, self._runtime.monotonic()):
                return Trouble(SILENT, self._reflector.trouble)
            await self._doubt.wait()
        await following.join()
        raise RuntimeError(f"the reflector of {self.name} ended")

    def _is_lost(self, line: Line, now: float) -> bool:
        patience = UNSEEN_AFTER if self._reflector.trouble else FIRST_LIST_WITHIN
        return min(now - line.opened_at, self._silent_for(now)) > patience

    def _silent_for(self, now: float) -> float:
        """Seconds since its API server was heard. Between two bookmarks it may have taken a new watch."""
        age, line = self.cache.age(now), self._line
        if line is None or not self._listed_since(line.opened_at):
            return age
        return min(age, now - line.answered_at)

    def _listed_since(self, moment: float) -> bool:
        return self.cache.synced_at is not None and self.cache.synced_at >= moment

    def _lived_since(self, moment: float) -> bool:
        return self._listed_since(moment) and self._runtime.monotonic() - moment >= BACKOFF.most


async def _end(task: Task) -> None:
    task.cancel()
    await task.join()
