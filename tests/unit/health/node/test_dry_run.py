"""In a dry run a check says what it would do, and what the guard would say to that."""

import pytest

from tests.unit.health.node.stories import A_WHILE, CALL, FREE_HAND, StartStory

pytestmark = pytest.mark.attack("U6")

DRY = {**FREE_HAND, "mode": "DryRun"}
CALLS = "It would create a ManualRemediation in nodemend-system (remedy 1 of 1); the guard"


def test_the_intended_action_is_reported_on_the_node_and_in_the_condition(begin: StartStory) -> None:
    story = begin(policy=DRY).fail("node-1").run(A_WHILE)
    assert story.open() == []
    assert f"{CALLS} would let it begin." in story.message("node-1")
    [reported] = [one["message"] for one in story.status()["conditions"] if one["type"] == "DryRun"]
    assert reported.startswith("1 node would be remediated, or held by the guard. node-1: ")
    assert CALLS in reported


def test_the_guard_answers_as_it_would_if_it_were_no_dry_run(begin: StartStory) -> None:
    story = begin(policy={**DRY, "maxUnhealthy": 1}).fail("node-1").run(A_WHILE)
    assert f"{CALLS} would hold it: " in story.message("node-1")
    assert "unhealthy" in story.message("node-1")


def test_so_it_does_where_the_check_alone_says_so(begin: StartStory) -> None:
    story = begin(check={"remedies": [CALL], "dryRun": True}).fail("node-1").run(A_WHILE)
    assert f"{CALLS} would let it begin." in story.message("node-1")
    assert story.condition("DryRun") == ("True", "CheckDryRun")


def test_a_blocker_that_no_guard_override_passes_is_reported_instead(begin: StartStory) -> None:
    gone = {"template": {**CALL["template"], "name": "gone"}}
    story = begin(policy=DRY, check={"remedies": [gone]}).run(A_WHILE).fail("node-1").run(A_WHILE)
    assert "It could do nothing: its template nodemend-system/gone does not exist." in story.message("node-1")
