"""Tells a scenario's story. Where power is switched, the invariants of the simulation are held to it, too."""

from pathlib import Path

from nodemend.testing.scenario.play import play
from nodemend.testing.scenario.reader import Scenario
from nodemend.testing.scenario.stage import Stage
from tests.simulation.power.invariants import PowerInvariants

FOLDER = Path(__file__).parent


def tell(scenario: Scenario) -> tuple[str, ...]:
    """Raises InvariantBrokenError."""
    return play(scenario, attend if scenario.hosts else lambda stage: None)


def attend(stage: Stage) -> None:
    invariants = PowerInvariants()
    invariants.watch(stage.world)
    stage.started = invariants.started
