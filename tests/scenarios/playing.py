"""Plays a scenario. If it has hosts, the simulation's power invariants are checked, too."""

from pathlib import Path

from simulation.scenario.play import play
from simulation.scenario.reader import Scenario
from simulation.scenario.stage import Stage
from tests.simulation.power.invariants import PowerInvariants

FOLDER = Path(__file__).parent


def tell(scenario: Scenario) -> tuple[str, ...]:
    """Play a scenario and return its output. Raises InvariantBrokenError."""
    return play(scenario, attend if scenario.hosts else lambda stage: None)


def attend(stage: Stage) -> None:
    invariants = PowerInvariants()
    invariants.watch(stage.world)
    stage.started = invariants.started
