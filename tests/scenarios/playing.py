"""Plays a scenario. If it has hosts, the simulation's power invariants are checked, too."""

from functools import partial
from pathlib import Path

from simulation.scenario.play import play
from simulation.scenario.reader import Scenario
from simulation.scenario.stage import Stage
from tests.simulation.power.invariants import CrossedBmcInvariants, PowerInvariants

FOLDER = Path(__file__).parent


def tell(scenario: Scenario) -> tuple[str, ...]:
    """Play a scenario and return its output. Raises InvariantBrokenError."""
    hosts = scenario.hosts
    return play(scenario, partial(attend, crossed=hosts.crossed) if hosts else lambda stage: None)


def attend(stage: Stage, *, crossed: bool = False) -> None:
    invariants = CrossedBmcInvariants() if crossed else PowerInvariants()
    invariants.watch(stage.world)
    stage.started = invariants.started
