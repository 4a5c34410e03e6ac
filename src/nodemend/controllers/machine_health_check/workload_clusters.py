"""The workload clusters that are looked at: opened when they are needed, and closed when they are not."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from nodemend.controllers.machine_health_check.clusters import (
    ClusterNodes,
    NotSeen,
    OutOfReach,
    Whereabouts,
    vouches,
)
from nodemend.controllers.machine_health_check.fleet import Fleet, MachineKey, cluster_of
from nodemend.controllers.machine_health_check.workload_cluster import Access, WorkloadCluster
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.object_cache import Change
from nodemend.kube.ports import Task
from nodemend.kube.running_together import join_all

LOOK_EVERY: Final = 2.0
_STATES: Final = {"seen": ClusterNodes, "not_vouched_for": NotSeen, "out_of_reach": OutOfReach}


class ClusterListener(Protocol):
    def nodes_changed_in(self, cluster: str, changes: Sequence[Change[NodeRecord]]) -> None: ...

    def whereabouts_changed(self, cluster: WorkloadCluster) -> None:
        """It has come into sight, or gone out of it, or is out of it for another reason."""
        ...


class WorkloadClusters:
    """Owns a task for each. `needed` tells whether anybody asks for the nodes of a cluster.

    That we reach an API server does not prove that it is the right one: a Secret may be another cluster's,
    and then every node would seem to be gone. So here too a machine must vouch, by the provider ID of its
    Node, and must do so for as long as we look.
    """

    def __init__(
        self, access: Access, fleet: Fleet, needed: Callable[[str], bool], listener: ClusterListener
    ) -> None:
        self.by_name: dict[str, WorkloadCluster] = {}
        self._access = access
        self._runtime = access.runtime
        self._fleet = fleet
        self._needed = needed
        self._listener = listener
        self._tasks: dict[str, Task] = {}
        self._leaving: list[Task] = []
        self._doubted: set[str] = set()
        self._news = access.runtime.signal()
        self._witnesses: dict[str, MachineKey] = {}
        self._without_witness: set[str] = set()

    def reconsider(self, cluster: str) -> None:
        """Something about its machines, its checks or itself has changed."""
        self._without_witness.discard(cluster)
        self._doubted.add(cluster)
        self._news.set()

    def count(self) -> dict[str, int]:
        """By how they are seen."""
        found = Counter(type(cluster.whereabouts) for cluster in self.by_name.values())
        return {word: found[kind] for word, kind in _STATES.items()}

    async def run(self) -> None:
        """Until cancelled, or until one of them fails by a mistake of ours."""
        look_at = self._runtime.monotonic()
        try:
            while True:
                self._follow_needs()
                now = self._runtime.monotonic()
                if now >= look_at:
                    self._look_at_all()
                    await self._join_ended()
                    look_at = now + LOOK_EVERY
                await self._news.wait(within=look_at - now)
        finally:
            await self._end_all()

    def _follow_needs(self) -> None:
        doubted, self._doubted = self._doubted, set()
        for name in doubted:
            needed = self._needed(name)
            if needed and name not in self.by_name:
                self._begin(name)
            elif not needed and name in self.by_name:
                self._end(name)

    def _begin(self, name: str) -> None:
        cluster = self.by_name[name] = WorkloadCluster(name, self._access, self._nodes_changed)
        self._tasks[name] = self._runtime.spawn(cluster.run(), f"workload cluster {name}")
        self._listener.whereabouts_changed(cluster)

    def _end(self, name: str) -> None:
        """Not waited for: one that is slow to leave must not keep others waiting."""
        del self.by_name[name]
        self._witnesses.pop(name, None)
        self._without_witness.discard(name)
        task = self._tasks.pop(name)
        task.cancel()
        self._leaving.append(task)

    async def _join_ended(self) -> None:
        for task in [*self._tasks.values(), *self._leaving]:
            if task.done:
                await task.join()
        self._leaving = [task for task in self._leaving if not task.done]

    async def _end_all(self) -> None:
        tasks = [*self._tasks.values(), *self._leaving]
        for task in tasks:
            task.cancel()
        await join_all(tasks)

    def _nodes_changed(self, name: str, changes: Sequence[Change[NodeRecord]]) -> None:
        self._without_witness.discard(name)
        cluster = self.by_name.get(name)
        if cluster is not None:
            # First whether these are its nodes at all, then what became of each.
            self._look_at(cluster)
            self._listener.nodes_changed_in(name, changes)

    def _look_at_all(self) -> None:
        for cluster in list(self.by_name.values()):
            self._look_at(cluster)

    def _look_at(self, cluster: WorkloadCluster) -> None:
        trouble = cluster.look(self._runtime.monotonic())
        found: Whereabouts
        if trouble is not None:
            found = OutOfReach(trouble.why)
        elif not self._has_witness(cluster):
            found = NotSeen("its API server shows no Node with the provider ID of any of its machines")
        else:
            found = cluster.nodes
        if found != cluster.whereabouts:
            cluster.whereabouts = found
            cluster.sightings += found is cluster.nodes
            self._listener.whereabouts_changed(cluster)

    def _has_witness(self, cluster: WorkloadCluster) -> bool:
        """Whoever vouched last is asked first. All are asked only after something has changed."""
        name = cluster.name
        known = self._witnesses.get(name)
        if known is not None and self._vouches(known, cluster):
            return True
        self._witnesses.pop(name, None)
        if name in self._without_witness:
            return False
        for key in self._fleet.in_cluster(name):
            if self._vouches(key, cluster):
                self._witnesses[name] = key
                return True
        self._without_witness.add(name)
        return False

    def _vouches(self, key: MachineKey, cluster: WorkloadCluster) -> bool:
        machine = self._fleet.machine(key)
        return machine is not None and cluster_of(machine) == cluster.name and vouches(machine, cluster.cache)
