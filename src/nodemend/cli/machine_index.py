"""Builds the MachineIndex that a checker would have of the listed Machines."""

from datetime import datetime
from typing import Final

from nodemend.cli.listing import NOW_IN_VIEW, as_cache, remember_written, written_age
from nodemend.cli.listing_machines import MachineListing
from nodemend.health.machine.index import CheckKind, MachineIndex, MachineKind
from nodemend.health.machine.targets import MachineObservations
from nodemend.kube.store import Change
from nodemend.records.machine import (
    MachineWire,
    machine_check_records,
    machine_records,
    workload_cluster_records,
)

_INFRASTRUCTURE: Final = "InfrastructureReady"


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
    for machine_kind in machine_index.machine_kinds.values():
        for machine in machine_kind.machines.all():
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
