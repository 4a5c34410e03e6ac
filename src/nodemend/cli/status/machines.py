"""MachineHealthChecks and their Machines, by what the checker wrote on them."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from nodemend.cli.listed_fleet import fleet_of
from nodemend.cli.listed_machines import MachineListing
from nodemend.cli.status.machine_rows import MachineCheckRow, MachineRow, MachinesShown
from nodemend.cli.words import first_sentence
from nodemend.cli.written_ages import written_age
from nodemend.controllers.checking.overlaps import CONDITION
from nodemend.controllers.checking.standings import Standing
from nodemend.controllers.machine_health_check.fleet import Fleet, MachineCheckKey, key_of
from nodemend.controllers.machine_health_check.gather import Target, find_target_in
from nodemend.controllers.machine_health_check.report import ALLOWED
from nodemend.decide.machine_marks import NO_TEMPLATE
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_record import CHECKED, EXTERNAL, OWNER, MachineWire


def show_machines(listing: MachineListing, now: datetime) -> MachinesShown:
    fleet = fleet_of(listing)
    rows, at_work = [], Counter[MachineCheckKey]()
    for target, wire in _targets(fleet, listing):
        row = _row(target, wire, now)
        if row is not None:
            rows.append(row)
            at_work[target.check_key] += row.state == Standing.REMEDIATING
    served = sorted((key for key in fleet.check_keys() if fleet.serves(key)), key=str)
    found = [(key, check) for key in served if (check := fleet.check(key)) is not None]
    checks = tuple(_check(fleet, key, check, at_work[key]) for key, check in found)
    sick = sum(check.targets - check.healthy for check in checks)
    machines = tuple(sorted(rows, key=lambda row: row.machine))
    return MachinesShown(checks, machines, max(0, sick - len(machines)))


def _targets(fleet: Fleet, listing: MachineListing) -> Iterator[tuple[Target, MachineWire]]:
    for group, wires in listing.machines.items():
        machines = fleet.realms[group].machines
        for wire in wires:
            machine = machines.get(f"{wire.metadata.namespace}/{wire.metadata.name}")
            target = find_target_in(fleet, key_of(machine)) if machine is not None else None
            if target is not None:
                yield target, wire


def _row(target: Target, wire: MachineWire, now: datetime) -> MachineRow | None:
    marks = target.machine.marks
    failed = marks.checked is not None and marks.checked.status == "False"
    asked = marks.external is not None and marks.external.reason != NO_TEMPLATE
    at_work = marks.asks_owner or asked
    if not failed and not at_work:
        return None
    said = marks.checked.message if marks.checked is not None and failed else ""
    told = OWNER if marks.asks_owner else EXTERNAL if asked else CHECKED
    since = next((one.last_transition_time for one in wire.status.conditions if one.type == told), None)
    return MachineRow(
        machine=target.machine.key,
        node=target.machine.node,
        state=Standing.REMEDIATING if at_work else Standing.UNHEALTHY,
        for_seconds=None if since is None else written_age(since, now),
        check=target.check.name,
        why=first_sentence(said).removeprefix("Unhealthy: "),
    )


def _check(fleet: Fleet, key: MachineCheckKey, check: MachineCheckRecord, at_work: int) -> MachineCheckRow:
    said, overlap = check.condition(ALLOWED), check.condition(CONDITION)
    realm = fleet.realms.get(fleet.books[key.group].of)
    return MachineCheckRow(
        name=check.key,
        targets=check.status.get("expectedMachines") or 0,
        healthy=check.status.get("currentHealthy") or 0,
        remediating=at_work if realm is not None and realm.dialect.owners_read_conditions else None,
        allowed=None if said is None else said.get("status") == "True",
        why="the checker has not reported yet" if said is None else first_sentence(said.get("message", "")),
        overlap=overlap.get("message", "") if overlap is not None and overlap.get("status") == "True" else "",
    )
