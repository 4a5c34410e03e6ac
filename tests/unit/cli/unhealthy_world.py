"""A simulated cluster in which one node has failed, and a user who runs commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from simulation.cluster.world import Shape, World
from tests.unit.cli.simulated_caller import SimulatedCaller

SICK: Final = "node-1"
SILENT_AT: Final = 60.0
REPORTED_SILENT_AT: Final = 280.0
"""By then the remediator itself has observed enough silence."""


@contextmanager
def unhealthy_world(until: float = REPORTED_SILENT_AT) -> Iterator[tuple[World, SimulatedCaller]]:
    """The node loses power at 60 s; its remediation begins about two minutes later."""
    world = World("sick", Shape(people=False))
    try:
        world.run(SILENT_AT)
        world.machines[SICK].power_off()
        world.run(until)
        yield world, SimulatedCaller(world)
    finally:
        world.close()
