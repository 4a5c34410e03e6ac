"""What a checker would know of the Machines that were listed."""

from datetime import datetime
from typing import Final

from nodemend.cli.listed_machines import MachineListing
from nodemend.cli.listed_objects import NOW_IN_VIEW, as_cache
from nodemend.cli.written_ages import remember_written, written_age
from nodemend.controllers.machine_health_check.fleet import CheckBook, Fleet, Realm
from nodemend.controllers.machine_health_check.machine_observations import MachineObservations
from nodemend.kube.machine_check_record import machine_check_records
from nodemend.kube.machine_record import MachineWire, machine_records
from nodemend.kube.object_cache import Change
from nodemend.kube.workload_cluster_record import workload_cluster_records

_INFRASTRUCTURE: Final = "InfrastructureReady"


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
