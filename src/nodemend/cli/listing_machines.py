"""Machines, their checks and their Clusters, listed once."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from nodemend.api.resources import Resource
from nodemend.cli.cluster import Cluster, ServedResources
from nodemend.kube.request import Method, Request
from nodemend.records.machine import MACHINE_API_FLAVORS, MachineCheckWire, MachineWire, WorkloadClusterWire
from nodemend.records.served_kinds import ServedKinds, find_served_kinds
from nodemend.safety.facts import Absent, Present, Unreadable

if TYPE_CHECKING:
    from nodemend.health.machine.index import MachineKey

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MachineListing:
    """All Machines and related objects that the API server serves, by group. Empty if it serves none.

    Nodes of other clusters are not included: the caller must not need the Secrets with their kubeconfigs.
    """

    served: ServedKinds = field(default_factory=lambda: ServedKinds({}, {}))
    machines: Mapping[str, list[MachineWire]] = field(default_factory=dict)
    checks: Mapping[str, list[MachineCheckWire]] = field(default_factory=dict)
    clusters: Mapping[str, list[WorkloadClusterWire]] = field(default_factory=dict)

    def wire(self, key: "MachineKey") -> MachineWire:
        """Return an object that is known to be in the listing."""
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
        for group, check_kind in served.checks.items():
            checks[group] = await _all(cluster, check_kind.checks, MachineCheckWire)
    except _UnreadError as unread:
        return Unreadable(str(unread))
    return MachineListing(served, machines, checks, clusters)


async def _hidden(cluster: Cluster, served: ServedKinds) -> str:
    """Return a kind that the API server serves and the caller may not list; empty if there is no such kind.

    `find_served_kinds` reports such a kind as not served.
    """
    for flavor in MACHINE_API_FLAVORS:
        kinds: dict[str, Collection[str]] = {
            "machines": served.machines,
            "machinehealthchecks": served.checks,
        }
        if all(flavor.group in known for known in kinds.values()):
            continue
        path = f"/apis/{flavor.group}/{flavor.version}"
        found = await cluster.ask(Request(Method.GET, path), ServedResources)
        if isinstance(found, Unreadable):
            return f"what {flavor.group} has: {found.why}"
        names = {one.name for one in found.value.resources} if isinstance(found, Present) else set()
        for plural, known in kinds.items():
            if plural in names and flavor.group not in known:
                return f"{plural}.{flavor.group}"
    return ""


class _UnreadError(Exception):
    """One of the lists cannot be read."""


async def _all(cluster: Cluster, resource: Resource, kind: type[T]) -> list[T]:
    """List all objects; empty if the kind is no longer served."""
    found = await cluster.all(resource, kind)
    if isinstance(found, Unreadable):
        raise _UnreadError(f"{resource} cannot be read: {found.why}")
    return [] if isinstance(found, Absent) else found.value
