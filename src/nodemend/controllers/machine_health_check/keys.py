"""What the loop of machine health checks is asked to look at."""

from dataclasses import dataclass

from nodemend.controllers.machine_health_check.fleet import MachineCheckKey, MachineKey


@dataclass(frozen=True, slots=True)
class HeldMachinesKey:
    """Whoever is held."""


@dataclass(frozen=True, slots=True)
class HistoryKey:
    """What was done for Machines, in the status of the RemediationPolicy."""


Key = MachineKey | MachineCheckKey | HeldMachinesKey | HistoryKey
