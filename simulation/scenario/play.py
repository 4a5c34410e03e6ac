"""Plays a scenario and returns its log."""

from collections.abc import Callable

from simulation.scenario.actions import ACTIONS, NODE_ACTIONS
from simulation.scenario.host_actions import HOST_ACTIONS, MACHINE_ACTIONS
from simulation.scenario.reader import Scenario, ScenarioError
from simulation.scenario.stage import Deed, Stage


def play(scenario: Scenario, attend: Callable[[Stage], None] = lambda stage: None) -> tuple[str, ...]:
    """Run a scenario and return the log. `attend` receives the stage before the first event."""
    stage = Stage(scenario, _find)
    attend(stage)
    try:
        stage.world.run(scenario.until.total_seconds())
        if scenario.hosts is not None:
            stage.narrator.conclude()
    finally:
        stage.close()
    if waiting := stage.narrator.awaited:
        raise ScenarioError(f"no logged line contains {waiting[0]!r}")
    return tuple(stage.narrator.lines)


def _find(words: str) -> tuple[Deed, str]:
    for pattern, action in (*ACTIONS, *HOST_ACTIONS, *MACHINE_ACTIONS, *NODE_ACTIONS):
        if found := pattern.fullmatch(words):
            return action, found[1]
    raise ScenarioError(f"unknown action: {words!r}")
