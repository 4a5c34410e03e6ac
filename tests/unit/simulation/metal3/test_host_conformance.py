"""The simulated host operator behaves like the recordings of metal3's. See `just host-conformance`."""

import pytest

from tests.campaigns.host_conformance.comparing import compare
from tests.campaigns.host_conformance.recordings import Scenario, scenarios
from tests.campaigns.host_conformance.replay import LEAST, MOST, play
from tests.campaigns.host_conformance.tolerances import BY_STEP

SCENARIOS = scenarios()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_it_does_what_was_recorded(scenario: Scenario) -> None:
    assert compare(scenario, play(scenario, LEAST), play(scenario, MOST)) == []


def test_every_tolerance_is_for_a_step_that_there_is() -> None:
    steps = {(one.name, number) for one in SCENARIOS for number in range(1, len(one.steps) + 1)}
    assert BY_STEP.keys() <= steps
