"""Many nodes are unhealthy at once: nothing starts, the reason is visible, and the storm ends by itself."""

import pytest

from nodemend.api.resources import MANUAL_REMEDIATION
from tests.unit.health.node.stories import A_WHILE, CALL, FREE_HAND, PERIOD, REBOOT, SOON, StartStory, remedy

CAREFUL = {**FREE_HAND, "maxUnhealthy": "40%", "settleTime": "2m"}
PACED = {**CAREFUL, "maxUnhealthy": "100%", "minInterval": "30s", "settleTime": "1s"}
THREE = ("node-1", "node-2", "node-3")


@pytest.mark.conforms("W4", "N16")
def test_a_storm_is_a_condition_of_the_check_and_the_policy(begin: StartStory) -> None:
    story = begin(policy=CAREFUL).fail(*THREE)
    assert story.open() == []
    assert story.condition("RemediationAllowed") == ("False", "TooManyUnhealthy")
    assert story.policy_condition("Storm") == ("True", "StormActive")
    assert "3 of 6" in story.message("node-1")


@pytest.mark.slow
@pytest.mark.conforms("N16")
def test_after_a_storm_it_settles_and_another_storm_restarts_the_settle_time(begin: StartStory) -> None:
    story = begin(policy=CAREFUL).fail(*THREE).heal("node-2", "node-3").run(100.0)
    assert (story.open(), story.policy_condition("Storm")) == ([], ("True", "CoolingDown"))
    story.fail("node-2", "node-3")
    assert story.policy_condition("Storm") == ("True", "StormActive")
    story.heal("node-2", "node-3").run(110.0)
    assert (story.open(), story.policy_condition("Storm")) == ([], ("True", "CoolingDown"))
    story.run(30.0)
    assert (story.open(), story.policy_condition("Storm")) == (["node-1"], ("False", "NoStorm"))


@pytest.mark.slow
@pytest.mark.conforms("W7")
def test_a_storm_that_ends_because_all_recover_leaves_nothing_for_the_next_lone_failure(
    begin: StartStory,
) -> None:
    story = begin(policy=CAREFUL).fail(*THREE).heal(*THREE).run(140.0)
    assert story.policy_condition("Storm") == ("False", "NoStorm")
    assert story.fail("node-4").open() == ["node-4"]


@pytest.mark.conforms("W5")
def test_when_the_limit_opens_again_remediations_start_one_by_one(begin: StartStory) -> None:
    story = begin(policy={**PACED, "maxUnhealthy": 4}).fail(*THREE, "node-4", "node-5")
    assert story.open() == []
    story.heal("node-4", "node-5").run(A_WHILE)
    assert len(story.open()) == 1
    assert len(story.run(35.0).open()) == 2
    assert len(story.run(35.0).open()) == 3


@pytest.mark.slow
@pytest.mark.conforms("W6")
def test_a_remedy_whose_time_is_over_is_given_up_also_in_a_storm_and_the_next_waits(
    begin: StartStory,
) -> None:
    check = {"remedies": [remedy("Reboot", "2m"), CALL]}
    story = begin(policy=CAREFUL, check=check, kinds=("Reboot",)).fail("node-1")
    assert story.open(REBOOT) == ["node-1"]
    story.fail("node-2", "node-3").run(PERIOD + SOON)
    assert (story.open(REBOOT), story.open(MANUAL_REMEDIATION)) == ([], [])
    assert story.verdict("node-1") == "Held"
    story.heal("node-2", "node-3").run(150.0)
    assert story.open(MANUAL_REMEDIATION) == ["node-1"]


@pytest.mark.conforms("N21")
def test_without_healthy_nodes_it_counts_zero_and_does_nothing(begin: StartStory) -> None:
    story = begin(machines=3).fail(*THREE).run(A_WHILE)
    assert story.open() == []
    assert (story.status()["targets"], story.status().get("healthy", 0)) == (3, 0)
    assert story.condition("RemediationAllowed") == ("False", "TooManyUnhealthy")
