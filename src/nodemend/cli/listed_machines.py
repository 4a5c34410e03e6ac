"""Machines, their checks and their Clusters, listed once."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from nodemend.api.group_versions import Resource
from nodemend.cli.cluster import Cluster
from nodemend.cli.reviews import ServedResources
from nodemend.controllers.machine_health_check.served_kinds import ServedKinds, find_served_kinds
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.kube.api_request import Method, Request
from nodemend.kube.machine_check_record import MachineCheckWire
from nodemend.kube.machine_dialect import DIALECTS
from nodemend.kube.machine_record import MachineWire
from nodemend.kube.workload_cluster_record import WorkloadClusterWire

if TYPE_CHECKING:
    from nodemend.controllers.machine_health_check.fleet import MachineKey

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MachineListing:
    """All that the API server shows of them, by group. Empty where it serves none.

    Nodes of other clusters are no part of it: who asks has no business with the Secrets that lead there.
    """

    served: ServedKinds = field(default_factory=lambda: ServedKinds({}, {}))
    machines: Mapping[str, list[MachineWire]] = field(default_factory=dict)
    checks: Mapping[str, list[MachineCheckWire]] = field(default_factory=dict)
    clusters: Mapping[str, list[WorkloadClusterWire]] = field(default_factory=dict)

    def wire(self, key: "MachineKey") -> MachineWire:
        """One that is known to be there."""
        return next(
            wire
            for wire in self.machines[key.group]
            if (wire.metadata.namespace, wire.metadata.name) == (key.namespace, key.name)
        )


async def list_machines(cluster: Cluster) -> MachineListing | Unreadable:
    served = await find_served_kinds(cluster.reader.client, cluster.reader.deadline)
    if served is None:
        return Unreadable("the API server does not tell whether it has Machines")
    if hidden := await _hidden(cluster, served):
        return Unreadable(f"you may not list {hidden}")
    machines, checks, clusters = {}, {}, {}
    try:
        for group, of in served.machines.items():
            machines[group] = await _all(cluster, of.machines, MachineWire)
            if of.clusters is not None:
                clusters[group] = await _all(cluster, of.clusters, WorkloadClusterWire)
        for group, book in served.checks.items():
            checks[group] = await _all(cluster, book.checks, MachineCheckWire)
    except _UnreadError as unread:
        return Unreadable(str(unread))
    return MachineListing(served, machines, checks, clusters)


async def _hidden(cluster: Cluster, served: ServedKinds) -> str:
    """A kind that the API server has and does not let the caller list; empty where there is none.

    To `find_served_kinds` such a kind is not served.
    """
    for dialect in DIALECTS:
        kinds: dict[str, Collection[str]] = {
            "machines": served.machines,
            "machinehealthchecks": served.checks,
        }
        if all(dialect.group in known for known in kinds.values()):
            continue
        path = f"/apis/{dialect.group}/{dialect.version}"
        found = await cluster.ask(Request(Method.GET, path), ServedResources)
        if isinstance(found, Unreadable):
            return f"what {dialect.group} has: {found.why}"
        names = {one.name for one in found.value.resources} if isinstance(found, Present) else set()
        for plural, known in kinds.items():
            if plural in names and dialect.group not in known:
                return f"{plural}.{dialect.group}"
    return ""


class _UnreadError(Exception):
    """One of the lists cannot be read."""


async def _all(cluster: Cluster, resource: Resource, kind: type[T]) -> list[T]:
    """Of a kind that has gone since there is nothing."""
    found = await cluster.all(resource, kind)
    if isinstance(found, Unreadable):
        raise _UnreadError(f"{resource} cannot be read: {found.why}")
    return [] if isinstance(found, Absent) else found.value
