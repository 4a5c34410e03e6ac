"""Machines, their checks and their Clusters, listed once, and what a checker would know of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from nodemend.api.group_versions import Resource
from nodemend.cli.cluster import Cluster
from nodemend.cli.listed_objects import NOW_IN_VIEW, as_cache
from nodemend.cli.reviews import ServedResources
from nodemend.cli.written_ages import remember_written, written_age
from nodemend.controllers.machine_health_check.fleet import CheckBook, Fleet, MachineKey, Realm
from nodemend.controllers.machine_health_check.machine_observations import MachineObservations
from nodemend.controllers.machine_health_check.served_kinds import ServedKinds, find_served_kinds
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.kube.api_request import Method, Request
from nodemend.kube.machine_check_record import MachineCheckWire, machine_check_records
from nodemend.kube.machine_dialect import DIALECTS
from nodemend.kube.machine_record import MachineWire, machine_records
from nodemend.kube.object_cache import Change
from nodemend.kube.workload_cluster_record import WorkloadClusterWire, workload_cluster_records

T = TypeVar("T")

_INFRASTRUCTURE: Final = "InfrastructureReady"


@dataclass(frozen=True, slots=True)
class MachineListing:
    """All that the API server shows of them, by group. Empty where it serves none.

    Nodes of other clusters are no part of it: who asks has no business with the Secrets that lead there.
    """

    served: ServedKinds = field(default_factory=lambda: ServedKinds({}, {}))
    machines: Mapping[str, list[MachineWire]] = field(default_factory=dict)
    checks: Mapping[str, list[MachineCheckWire]] = field(default_factory=dict)
    clusters: Mapping[str, list[WorkloadClusterWire]] = field(default_factory=dict)

    def wire(self, key: MachineKey) -> MachineWire:
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


def fleet_of(listing: MachineListing) -> Fleet:
    fleet = Fleet()
    for group, of in listing.served.machines.items():
        machines = as_cache(machine_records(of.machines, of.dialect), listing.machines.get(group, []))
        clusters = (
            as_cache(workload_cluster_records(of.clusters), listing.clusters.get(group, []))
            if of.clusters is not None
            else None
        )
        fleet.realms[group] = Realm(of.dialect, of.machines, machines, clusters)
        for machine in machines.all():
            fleet.note_machine(Change(machine.key, None, machine))
    for group, book in listing.served.checks.items():
        checks = as_cache(machine_check_records(book.checks), listing.checks.get(group, []))
        about = listing.served.machines_for(group)
        fleet.books[group] = CheckBook(group, about, checks, book.only_claimed)
        for check in checks.all():
            fleet.note_check(group, Change(check.key, None, check))
    return fleet


def observed(listing: MachineListing, fleet: Fleet, now: datetime) -> MachineObservations:
    """As by a checker that has watched since the times written in the Machines."""
    seen = MachineObservations()
    for realm in fleet.realms.values():
        for machine in realm.machines.all():
            remember_written(seen.ages, machine.uid, machine.conditions, now)
    for wires in listing.machines.values():
        for wire in wires:
            since = NOW_IN_VIEW - _could_start_for(wire, now)
            seen.awaited(wire.metadata.uid, could_start=True, now=since)
    return seen


def _could_start_for(wire: MachineWire, now: datetime) -> float:
    """Since it is there, or since what it runs on is ready, where it says so."""
    ready = (one for one in wire.status.conditions if (one.type, one.status) == (_INFRASTRUCTURE, "True"))
    times = [wire.metadata.creation_timestamp, *(one.last_transition_time for one in ready)]
    return min(written_age(time, now) for time in times)
