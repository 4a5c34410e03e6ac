"""Machines whose remediation an annotation asks for in vain: that is told, once for each asking."""

from collections.abc import Callable

from nodemend.controllers.machine_health_check.fleet import Fleet, MachineKey
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.kube.machine_record import MachineRecord


class Unheeded:
    """One leadership's memory of what was told."""

    def __init__(self, fleet: Fleet, tell: Callable[[MachineRecord, str], None]) -> None:
        self._fleet = fleet
        self._tell = tell
        self._told: dict[MachineKey, tuple[str, str]] = {}

    def look(self, key: MachineKey, machine: MachineRecord | None, target: Target | None) -> None:
        asked = machine.asked_externally if machine is not None else None
        why = _why(machine, target) if machine is not None else ""
        if not self._fleet.annotation or machine is None or asked is None or not why:
            self._told.pop(key, None)
        elif self._told.get(key) != (asked, why):
            self._told[key] = asked, why
            self._tell(machine, why)


def _why(machine: MachineRecord, target: Target | None) -> str:
    """Empty where the annotation is heeded."""
    if target is None:
        return f"it has the annotation {machine.left_alone_by}" if machine.left_alone_by else ""
    return "" if target.by_annotation else f"mhc/{target.check.name} has it, and heals it when it is sick"
