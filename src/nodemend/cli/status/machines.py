"""MachineHealthChecks and their Machines, from the conditions and status that the checker wrote."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from nodemend.api import condition_types
from nodemend.cli.listing import MachineListing, written_age
from nodemend.cli.listing_caches import machine_index_of
from nodemend.cli.status.view import MachineCheckRow, MachineRow, MachinesShown
from nodemend.cli.text import first_sentence
from nodemend.guard.state import TargetState
from nodemend.health.machine.index import MachineCheckKey, MachineIndex, key_of
from nodemend.health.machine.report import ALLOWED
from nodemend.health.machine.targets import MachineTarget, find_target
from nodemend.records.machine import CHECKED, EXTERNAL, OWNER, MachineCheckRecord, MachineWire
from nodemend.rules.machine import NO_TEMPLATE


def show_machines(listing: MachineListing, now: datetime) -> MachinesShown:
    machine_index = machine_index_of(listing)
    rows, in_progress = [], Counter[MachineCheckKey]()
    for target, wire in _targets(machine_index, listing):
        row = _row(target, wire, now)
        if row is not None:
            rows.append(row)
            in_progress[target.check_key] += row.state == TargetState.REMEDIATING
    served = sorted((key for key in machine_index.check_keys() if machine_index.serves(key)), key=str)
    found = [(key, check) for key in served if (check := machine_index.check(key)) is not None]
    checks = tuple(_machine_check_row(machine_index, key, check, in_progress[key]) for key, check in found)
    sick = sum(check.targets - check.healthy for check in checks)
    machines = tuple(sorted(rows, key=lambda row: row.machine))
    return MachinesShown(checks, machines, max(0, sick - len(machines)))


def _targets(
    machine_index: MachineIndex, listing: MachineListing
) -> Iterator[tuple[MachineTarget, MachineWire]]:
    for group, wires in listing.machines.items():
        machines = machine_index.machine_kinds[group].machines
        for wire in wires:
            machine = machines.get(f"{wire.metadata.namespace}/{wire.metadata.name}")
            target = find_target(machine_index, key_of(machine)) if machine is not None else None
            if target is not None:
                yield target, wire


def _row(target: MachineTarget, wire: MachineWire, now: datetime) -> MachineRow | None:
    marks = target.machine.marks
    failed = marks.checked is not None and marks.checked.status == "False"
    asked = marks.external is not None and marks.external.reason != NO_TEMPLATE
    in_progress = marks.asks_owner or asked
    if not failed and not in_progress:
        return None
    said = marks.checked.message if marks.checked is not None and failed else ""
    reported = OWNER if marks.asks_owner else EXTERNAL if asked else CHECKED
    since = next((one.last_transition_time for one in wire.status.conditions if one.type == reported), None)
    return MachineRow(
        machine=target.machine.key,
        node=target.machine.node,
        state=TargetState.REMEDIATING if in_progress else TargetState.UNHEALTHY,
        for_seconds=None if since is None else written_age(since, now),
        check=target.check.name,
        why=first_sentence(said).removeprefix("Unhealthy: "),
    )


def _machine_check_row(
    machine_index: MachineIndex, key: MachineCheckKey, check: MachineCheckRecord, in_progress: int
) -> MachineCheckRow:
    said, overlap = check.condition(ALLOWED), check.condition(condition_types.OVERLAPPING)
    machine_kind = machine_index.machine_kinds.get(machine_index.check_kinds[key.group].of)
    return MachineCheckRow(
        name=check.key,
        targets=check.status.get("expectedMachines") or 0,
        healthy=check.status.get("currentHealthy") or 0,
        remediating=in_progress
        if machine_kind is not None and machine_kind.flavor.owners_read_conditions
        else None,
        allowed=None if said is None else said.get("status") == "True",
        why="the checker has not reported yet" if said is None else first_sentence(said.get("message", "")),
        overlap=overlap.get("message", "") if overlap is not None and overlap.get("status") == "True" else "",
    )
