"""Watches the served kinds of Machines, their checks and their Clusters, and updates the Machine index."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

from nodemend.api.resources import Resource
from nodemend.health.machine.index import CheckKind, MachineIndex, MachineKind
from nodemend.kube.client import ApiClient
from nodemend.kube.informer import WatchSet
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.reflector import ReflectorTimings
from nodemend.kube.store import Change, Store
from nodemend.records.live_reads import READ_WITHIN
from nodemend.records.machine import (
    MachineCheckRecord,
    MachineRecord,
    WorkloadClusterRecord,
    machine_check_records,
    machine_records,
    workload_cluster_records,
)
from nodemend.records.served_kinds import ServedChecks, ServedKinds, ServedMachines, find_served_kinds

R = TypeVar("R")

DISCOVERY_INTERVAL: Final = 15.0


class MachineListener(Protocol):
    """Receives every change after the caches contain it."""

    def machines_changed(self, changes: Sequence[Change[MachineRecord]]) -> None: ...

    def checks_changed(self, group: str, changes: Sequence[Change[MachineCheckRecord]]) -> None: ...

    def clusters_changed(self, changes: Sequence[Change[WorkloadClusterRecord]]) -> None: ...


class MachineWatch:
    """Watches the served kinds. It follows kinds that are installed, removed or change their version."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        timings: ReflectorTimings,
        machine_index: MachineIndex,
        listener: MachineListener,
    ) -> None:
        self._runtime = runtime
        self._client = ApiClient(transport, runtime)
        self._machine_index = machine_index
        self._listener = listener
        self._news = runtime.signal()
        self._watches = WatchSet(runtime, transport, timings, self._news)
        self._served: ServedKinds | None = None

    @property
    def looked(self) -> bool:
        """True if the discovery of the served kinds has succeeded once."""
        return self._served is not None

    async def run(self) -> None:
        """Run until cancelled; raise if one of the watches fails."""
        try:
            while True:
                deadline = self._runtime.monotonic() + READ_WITHIN
                found = await find_served_kinds(self._client, deadline)
                if found is not None and found != self._served:
                    self._machine_index.changing = True
                    await self._follow(found)
                    self._machine_index.changing = False
                await self._watches.raise_failures()
                await self._news.wait(within=DISCOVERY_INTERVAL)
        finally:
            await self._watches.end_all()

    async def _follow(self, served: ServedKinds) -> None:
        before = self._served or ServedKinds({}, {})
        for group, known in before.machines.items():
            if served.machines.get(group) != known:
                await self._stop_machine_kind(group, known)
        for group, check_kind in before.checks.items():
            if served.checks.get(group) != check_kind:
                await self._stop_check_kind(group, check_kind)
        for group, machines in served.machines.items():
            if group not in self._machine_index.machine_kinds:
                self._start_machine_kind(group, machines)
        for group, checks in served.checks.items():
            self._start_check_kind(group, checks, served.machines_for(group))
        self._served = served

    def _start_machine_kind(self, group: str, served: ServedMachines) -> None:
        listener = self._listener
        clusters = (
            self._watches.begin(workload_cluster_records(served.clusters), listener.clusters_changed)
            if served.clusters is not None
            else None
        )
        projection = machine_records(served.machines, served.flavor)
        machines = self._watches.begin(projection, listener.machines_changed)
        self._machine_index.machine_kinds[group] = MachineKind(
            served.flavor, served.machines, machines, clusters
        )

    def _start_check_kind(self, group: str, served: ServedChecks, of: str) -> None:
        known = self._machine_index.check_kinds.get(group)
        if known is not None:
            self._machine_index.check_kinds[group] = CheckKind(group, of, known.checks, served.only_claimed)
            return

        def changed(changes: Sequence[Change[MachineCheckRecord]]) -> None:
            self._listener.checks_changed(group, changes)

        checks = self._watches.begin(machine_check_records(served.checks), changed)
        self._machine_index.check_kinds[group] = CheckKind(group, of, checks, served.only_claimed)

    async def _stop_machine_kind(self, group: str, served: ServedMachines) -> None:
        await self._end((served.machines, served.clusters))
        machine_kind = self._machine_index.machine_kinds.pop(group)
        self._listener.machines_changed(_all_gone(machine_kind.machines))

    async def _stop_check_kind(self, group: str, served: ServedChecks) -> None:
        await self._end((served.checks,))
        check_kind = self._machine_index.check_kinds.pop(group)
        self._listener.checks_changed(group, _all_gone(check_kind.checks))

    async def _end(self, resources: Sequence[Resource | None]) -> None:
        await self._watches.end([resource for resource in resources if resource is not None])


def _all_gone(cache: Store[R]) -> list[Change[R]]:
    return [Change(key, record, None) for key in list(cache.keys()) if (record := cache.get(key)) is not None]
