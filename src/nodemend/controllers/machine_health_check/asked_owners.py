"""Whose owners are asked to act, straight from the API server: for a leader that has just begun."""

from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.machine_health_check.fleet import Fleet, MachineKey, key_of
from nodemend.decide.facts import Unreadable
from nodemend.kube.api_outcome import Ok
from nodemend.kube.machine_record import MachineWire, as_machine
from nodemend.kube.paged_list import list_all

WITHIN = 120.0
"""As long as a list of all machines may take."""


async def list_asked(reader: Reader, fleet: Fleet) -> frozenset[MachineKey] | Unreadable:
    """Their machines."""
    asked: set[MachineKey] = set()
    for realm in list(fleet.realms.values()):
        if not realm.dialect.owners_read_conditions:
            continue
        deadline = reader.runtime.monotonic() + WITHIN
        outcome = await list_all(reader.client, realm.resource, MachineWire, deadline=deadline)
        if not isinstance(outcome, Ok):
            return Unreadable(str(outcome))
        machines = (as_machine(realm.resource, realm.dialect, wire) for wire in outcome.value.items)
        asked |= {key_of(machine) for machine in machines if machine.marks.asks_owner}
    return frozenset(asked)
