"""Watches Machines, their checks and their Clusters, wherever they are served, and keeps the fleet."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

from nodemend.api.group_versions import Resource
from nodemend.controllers.fresh_reads import READ_WITHIN
from nodemend.controllers.machine_health_check.fleet import CheckBook, Fleet, Realm
from nodemend.controllers.machine_health_check.served_kinds import (
    ServedChecks,
    ServedKinds,
    ServedMachines,
    find_served_kinds,
)
from nodemend.kube.api_client import ApiClient
from nodemend.kube.machine_check_record import MachineCheckRecord, machine_check_records
from nodemend.kube.machine_record import MachineRecord, machine_records
from nodemend.kube.object_cache import Change, ObjectCache
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.reflector_steps import ReflectorTimings
from nodemend.kube.watch_set import WatchSet
from nodemend.kube.workload_cluster_record import WorkloadClusterRecord, workload_cluster_records

R = TypeVar("R")

LOOK_AGAIN: Final = 15.0


class MachineListener(Protocol):
    """Told of every change, after the caches have it."""

    def machines_changed(self, changes: Sequence[Change[MachineRecord]]) -> None: ...

    def checks_changed(self, group: str, changes: Sequence[Change[MachineCheckRecord]]) -> None: ...

    def clusters_changed(self, changes: Sequence[Change[WorkloadClusterRecord]]) -> None: ...


class MachineWatch:
    """Kinds may come, go and change their version while we run: then the watches do."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        timings: ReflectorTimings,
        fleet: Fleet,
        listener: MachineListener,
    ) -> None:
        self._runtime = runtime
        self._client = ApiClient(transport, runtime)
        self._fleet = fleet
        self._listener = listener
        self._news = runtime.signal()
        self._watches = WatchSet(runtime, transport, timings, self._news)
        self._served: ServedKinds | None = None

    @property
    def looked(self) -> bool:
        """Whether the API server has told what it has."""
        return self._served is not None

    async def run(self) -> None:
        """Until cancelled, or until one of the watches fails."""
        try:
            while True:
                deadline = self._runtime.monotonic() + READ_WITHIN
                found = await find_served_kinds(self._client, deadline)
                if found is not None and found != self._served:
                    self._fleet.changing = True
                    await self._follow(found)
                    self._fleet.changing = False
                await self._watches.raise_failures()
                await self._news.wait(within=LOOK_AGAIN)
        finally:
            await self._watches.end_all()

    async def _follow(self, served: ServedKinds) -> None:
        before = self._served or ServedKinds({}, {})
        for group, known in before.machines.items():
            if served.machines.get(group) != known:
                await self._end_realm(group, known)
        for group, book in before.checks.items():
            if served.checks.get(group) != book:
                await self._end_book(group, book)
        for group, machines in served.machines.items():
            if group not in self._fleet.realms:
                self._begin_realm(group, machines)
        for group, checks in served.checks.items():
            self._begin_book(group, checks, served.machines_for(group))
        self._served = served

    def _begin_realm(self, group: str, served: ServedMachines) -> None:
        listener = self._listener
        clusters = (
            self._watches.begin(workload_cluster_records(served.clusters), listener.clusters_changed)
            if served.clusters is not None
            else None
        )
        projection = machine_records(served.machines, served.dialect)
        machines = self._watches.begin(projection, listener.machines_changed)
        self._fleet.realms[group] = Realm(served.dialect, served.machines, machines, clusters)

    def _begin_book(self, group: str, served: ServedChecks, of: str) -> None:
        known = self._fleet.books.get(group)
        if known is not None:
            self._fleet.books[group] = CheckBook(group, of, known.checks, served.only_claimed)
            return

        def changed(changes: Sequence[Change[MachineCheckRecord]]) -> None:
            self._listener.checks_changed(group, changes)

        checks = self._watches.begin(machine_check_records(served.checks), changed)
        self._fleet.books[group] = CheckBook(group, of, checks, served.only_claimed)

    async def _end_realm(self, group: str, served: ServedMachines) -> None:
        await self._end((served.machines, served.clusters))
        realm = self._fleet.realms.pop(group)
        self._listener.machines_changed(_all_gone(realm.machines))

    async def _end_book(self, group: str, served: ServedChecks) -> None:
        await self._end((served.checks,))
        book = self._fleet.books.pop(group)
        self._listener.checks_changed(group, _all_gone(book.checks))

    async def _end(self, resources: Sequence[Resource | None]) -> None:
        await self._watches.end([resource for resource in resources if resource is not None])


def _all_gone(cache: ObjectCache[R]) -> list[Change[R]]:
    return [Change(key, record, None) for key in list(cache.keys()) if (record := cache.get(key)) is not None]
