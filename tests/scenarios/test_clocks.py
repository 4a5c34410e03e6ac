"""Wall clocks do not affect remediation: neither the remediators' nor the host operator's."""

from datetime import timedelta

import pytest

from simulation.scenario.play import play
from simulation.scenario.reader import read
from simulation.scenario.stage import Stage
from tests.scenarios.playing import FOLDER, attend

STORIES = ("late_truth", "healed", "remediator_dies_when_held")
ERRORS = (-3600, -180, 180, 3600)


@pytest.mark.attack("K2")
@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("whose", ["remediator", "operator"])
def test_a_wrong_clock_changes_nothing(story: str, error: int, whose: str) -> None:
    scenario = read((FOLDER / "power_cycle" / f"{story}.txt").read_text())

    def set_clocks(stage: Stage) -> None:
        attend(stage)
        clocks = [one.clock for one in stage.world.replicas if one.name.startswith("remediator")]
        for clock in clocks if whose == "remediator" else [stage.rack.operator.process.clock]:
            clock.wall_error = timedelta(seconds=error)

    assert play(scenario, set_clocks) == scenario.log_lines
