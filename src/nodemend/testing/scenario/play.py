"""Plays a scenario and tells what happened."""

from collections.abc import Callable

from nodemend.testing.scenario.deeds import DEEDS
from nodemend.testing.scenario.host_deeds import HOST_DEEDS
from nodemend.testing.scenario.machine_deeds import MACHINE_DEEDS
from nodemend.testing.scenario.node_deeds import NODE_DEEDS
from nodemend.testing.scenario.reader import Scenario, ScenarioError
from nodemend.testing.scenario.stage import Deed, Stage


def play(scenario: Scenario, attend: Callable[[Stage], None] = lambda stage: None) -> tuple[str, ...]:
    """`attend` is given the stage before anything happens, to watch it in ways of its own."""
    stage = Stage(scenario, _find)
    attend(stage)
    try:
        stage.world.run(scenario.until.total_seconds())
        if scenario.hosts is not None:
            stage.narrator.conclude()
    finally:
        stage.close()
    if waiting := stage.narrator.awaited:
        raise ScenarioError(f"nobody ever told {waiting[0]!r}")
    return tuple(stage.narrator.lines)


def _find(words: str) -> tuple[Deed, str]:
    for pattern, deed in (*DEEDS, *HOST_DEEDS, *MACHINE_DEEDS, *NODE_DEEDS):
        if found := pattern.fullmatch(words):
            return deed, found[1]
    raise ScenarioError(f"nobody knows how to do {words!r}")
