"""Puts listed remediations and Machines into the caches and indexes that the controllers use.

The module imports much of health/, so `status` imports it only in a cluster with MachineHealthChecks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.listing import MachineListing, written_age
from nodemend.health.conditions import ConditionTracker
from nodemend.health.machine.index import CheckKind, MachineIndex, MachineKind
from nodemend.health.machine.targets import MachineObservations
from nodemend.health.remediation_index import (
    NotServed,
    RemediationIndex,
    RemedyKind,
    TemplateKind,
    find_kind,
    template_kind,
)
from nodemend.kube.store import Change, DecodedObject, Projection, Store, key_of
from nodemend.records.machine import (
    MachineCondition,
    MachineWire,
    machine_check_records,
    machine_records,
    workload_cluster_records,
)
from nodemend.records.node import NodeConditionRecord
from nodemend.records.remediation import RemediationWire
from nodemend.safety.facts import Absent, Present

_INFRASTRUCTURE: Final = "InfrastructureReady"

W = TypeVar("W", bound=DecodedObject)
R = TypeVar("R")

NOW_IN_VIEW = 0.0
"""Monotonic time at which the view was read. A command has only this one time."""


def as_cache(projection: Projection[W, R], wires: list[W]) -> Store[R]:
    cache: Store[R] = Store(projection.uid_of)
    cache.replace({key_of(wire.metadata): projection.project(wire, None) for wire in wires}, [])
    cache.synced_at = cache.last_contact = NOW_IN_VIEW
    return cache


@dataclass(frozen=True, slots=True)
class ListedRemedies:
    """Listed remediations. `unseen` lists the kinds that the caller may not read, with reasons."""

    remedies: RemediationIndex
    unseen: tuple[str, ...]


async def list_remedies(cluster: Cluster, checks: Iterable[NodeHealthCheck]) -> RemediationIndex:
    """List all remediations. Raises CommandFailure if one kind cannot be listed."""
    remedies = await _find_kinds(cluster, asked_by_nodes(checks))
    for kind in remedies.kinds.values():
        if isinstance(kind, RemedyKind):
            wires = await cluster.all(kind.remediation, RemediationWire)
            remedies.add(kind.remediation, must_have(wires, f"list of {kind.remediation}"), NOW_IN_VIEW)
    return remedies


async def list_visible_remedies(cluster: Cluster, asked: Iterable[TemplateKind]) -> ListedRemedies:
    """List the remediations that the caller may read, and report the other kinds in `unseen`."""
    remedies = await _find_kinds(cluster, asked)
    unseen = []
    for named, kind in list(remedies.kinds.items()):
        if not isinstance(kind, RemedyKind):
            continue
        found = await cluster.all(kind.remediation, RemediationWire)
        if isinstance(found, Present):
            remedies.add(kind.remediation, found.value, NOW_IN_VIEW)
            continue
        why = "the API server does not serve them" if isinstance(found, Absent) else found.why
        remedies.kinds[named] = NotServed(why, certain=False)
        unseen.append(f"{kind.remediation.kind} objects cannot be read: {why}.")
    return ListedRemedies(remedies, tuple(unseen))


def asked_by_nodes(checks: Iterable[NodeHealthCheck]) -> list[TemplateKind]:
    """Return the template kinds that these checks name, possibly with duplicates."""
    return [template_kind(template) for check in checks for template in check.spec.templates]


async def _find_kinds(cluster: Cluster, asked: Iterable[TemplateKind]) -> RemediationIndex:
    remedies = RemediationIndex()
    for one in asked:
        if one not in remedies.kinds:
            remedies.kinds[one] = await find_kind(cluster.reader.client, one, cluster.reader.deadline)
    return remedies


def remember_written(
    ages: ConditionTracker,
    uid: str,
    conditions: Sequence[MachineCondition | NodeConditionRecord],
    now: datetime,
) -> None:
    """Observe the conditions at the times written in them, as a component would that had watched."""
    since = [NOW_IN_VIEW - written_age(one.last_transition_time, now) for one in conditions]
    for begin in sorted(set(since)):
        shown = [one for one, begun in zip(conditions, since, strict=True) if begun <= begin]
        ages.observe(uid, shown, begin)


def machine_index_of(listing: MachineListing) -> MachineIndex:
    machine_index = MachineIndex()
    for group, of in listing.served.machines.items():
        machines = as_cache(machine_records(of.machines, of.flavor), listing.machines.get(group, []))
        clusters = (
            as_cache(workload_cluster_records(of.clusters), listing.clusters.get(group, []))
            if of.clusters is not None
            else None
        )
        machine_index.machine_kinds[group] = MachineKind(of.flavor, of.machines, machines, clusters)
        for machine in machines.all():
            machine_index.note_machine(Change(machine.key, None, machine))
    for group, check_kind in listing.served.checks.items():
        checks = as_cache(machine_check_records(check_kind.checks), listing.checks.get(group, []))
        about = listing.served.machines_for(group)
        machine_index.check_kinds[group] = CheckKind(group, about, checks, check_kind.only_claimed)
        for check in checks.all():
            machine_index.note_check(group, Change(check.key, None, check))
    return machine_index


def observed(listing: MachineListing, machine_index: MachineIndex, now: datetime) -> MachineObservations:
    """Build observations as of a checker that had watched since the times written in the Machines."""
    seen = MachineObservations()
    for machine in machine_index.machines():
        remember_written(seen.ages, machine.uid, machine.conditions, now)
    for wires in listing.machines.values():
        for wire in wires:
            since = NOW_IN_VIEW - _could_start_for(wire, now)
            seen.awaited(wire.metadata.uid, could_start=True, now=since)
    return seen


def _could_start_for(wire: MachineWire, now: datetime) -> float:
    """Seconds since the Machine could start: since its creation or since its infrastructure was ready."""
    ready = (one for one in wire.status.conditions if (one.type, one.status) == (_INFRASTRUCTURE, "True"))
    times = [wire.metadata.creation_timestamp, *(one.last_transition_time for one in ready)]
    return min(written_age(time, now) for time in times)
