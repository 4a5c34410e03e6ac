"""What `kubectl mend status` shows of Machines and of their checks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRow:
    """One Machine on which something is written that is not simply healthy, and since when."""

    machine: str
    node: str
    state: str
    for_seconds: float | None
    check: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCheckRow:
    """One check of ours to serve. `remediating` is None where nothing is written on Machines."""

    name: str
    targets: int
    healthy: int
    remediating: int | None
    allowed: bool | None
    why: str
    overlap: str = ""
    """Which Machines that it selects are another check's."""


@dataclass(frozen=True, slots=True)
class MachinesShown:
    checks: tuple[MachineCheckRow, ...] = ()
    machines: tuple[MachineRow, ...] = ()
    untold: int = 0
    """So many more are not healthy by the counts of their checks, and nothing is written on them."""
