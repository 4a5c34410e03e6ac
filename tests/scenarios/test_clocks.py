"""What is done about a failure does not depend on what the clocks on the wall say, on either side."""

from datetime import timedelta

import pytest

from nodemend.testing.scenario.play import play
from nodemend.testing.scenario.reader import read
from nodemend.testing.scenario.stage import Stage
from tests.scenarios.telling import FOLDER, attend

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

    assert play(scenario, set_clocks) == scenario.told
