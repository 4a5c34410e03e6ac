"""The status of a check."""

import pytest

from nodemend.api.resources import NODE_HEALTH_CHECK
from simulation.cluster.world import check_spec
from tests.unit.health.node.stories import A_WHILE, StartStory, Story


def since(story: Story) -> dict[str, str]:
    return {one["type"]: one["lastTransitionTime"] for one in story.status()["conditions"]}


@pytest.mark.conforms("N1")
def test_what_changes_of_one_node_leaves_the_rest_of_the_status_as_it_was(begin: StartStory) -> None:
    story = begin().fail("node-1").run(A_WHILE)
    before, written = story.status()["reports"], since(story)
    story.fail("node-2").run(A_WHILE)
    assert story.status()["reports"] == [*before, {"name": "node-2", "verdict": "Remediating", "remedy": 1}]
    assert since(story) == written


@pytest.mark.conforms("N1")
def test_what_a_check_does_not_say_has_its_default(begin: StartStory) -> None:
    story = begin()
    said = {key: check_spec()[key] for key in ("selector", "thresholds", "remedies")}
    written = story.api.create(NODE_HEALTH_CHECK, {"metadata": {"name": "short"}, "spec": said})["spec"]
    assert {key: written[key] for key in written.keys() - said.keys()} == {
        "maxUnhealthy": "50%",
        "healthyDelay": "30s",
    }
