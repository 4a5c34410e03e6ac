"""What the loop of machine health checks is asked to look at."""

from dataclasses import dataclass

from nodemend.controllers.machine_health_check.fleet import MachineCheckKey, MachineKey


@dataclass(frozen=True, slots=True)
class HeldMachinesKey:
    """Whoever is held."""


Key = MachineKey | MachineCheckKey | HeldMachinesKey
