"""Nodes that are deleted while unhealthy: they count for a while longer, and their remediations end."""

import pytest

from nodemend.api.resources import NODE
from nodemend.guard.state import COUNTED_FOR
from tests.unit.health.node.stories import A_WHILE, FREE_HAND, REBOOT, SOON, StartStory, Story, remedy

LIMITED = {**FREE_HAND, "maxUnhealthy": "40%"}
REBOOTS = {"remedies": [remedy("Reboot")]}


def vanish(story: Story, *nodes: str) -> Story:
    """Delete as a cloud controller does for Nodes of machines that no longer exist."""
    for node in nodes:
        story.world.machines[node].power_off()
        story.api.delete(NODE, node)
    return story


@pytest.mark.slow
def test_a_storm_is_not_over_because_its_nodes_were_deleted(begin: StartStory) -> None:
    """Four of ten close the guard; without the two that were deleted it would be two of eight."""
    story = begin(machines=10, policy=LIMITED)
    story.fail("node-1", "node-2", "node-3", "node-4").run(A_WHILE)
    assert (story.open(), story.verdict("node-4")) == ([], "Held")
    vanish(story, "node-1", "node-2").run(2 * A_WHILE)
    assert (story.open(), story.verdict("node-4")) == ([], "Held")
    assert (story.verdict("node-1"), story.status()["targets"]) == ("Deleted", 8)
    assert "Its Node was deleted while it was not healthy" in story.message("node-1")
    story.run(COUNTED_FOR)
    assert (story.open(), story.verdict("node-1")) == (["node-3", "node-4"], "")


def test_a_returned_node_counts_by_its_current_state(begin: StartStory) -> None:
    story = begin(machines=10, policy=LIMITED)
    story.fail("node-1", "node-2", "node-3", "node-4").run(A_WHILE)
    vanish(story, "node-1").run(A_WHILE)
    story.world.machines["node-1"].start()
    story.world.machines["node-1"].power_on()
    story.run(SOON).heal("node-1").run(2 * A_WHILE)
    assert (story.verdict("node-1"), story.status()["targets"]) == ("", 10)
    assert story.open() == ["node-2", "node-3", "node-4"]


def test_a_deleted_healthy_or_suspect_node_leaves_nothing_behind(begin: StartStory) -> None:
    """This is how a cluster shrinks: a machine is powered off, and soon after its Node is deleted."""
    story = begin().show("node-1", "False").run(A_WHILE)
    assert story.verdict("node-1") == "Suspect"
    vanish(story, "node-1", "node-2").run(SOON)
    assert (story.verdict("node-1"), story.verdict("node-2"), story.status()["targets"]) == ("", "", 4)


@pytest.mark.slow
def test_a_deleted_node_under_remediation_still_counts_and_its_remediation_ends_with_it(
    begin: StartStory,
) -> None:
    story = begin(check=REBOOTS, kinds=("Reboot",)).fail("node-1")
    assert story.open(REBOOT) == ["node-1"]
    vanish(story, "node-1").run(A_WHILE)
    assert (story.open(REBOOT), story.verdict("node-1")) == ([], "Deleted")
    assert story.status().get("remediating", 0) == 0
    assert story.run(COUNTED_FOR).verdict("node-1") == ""


def test_the_remediation_of_a_deleted_node_keeps_its_slot_until_it_ends(begin: StartStory) -> None:
    policy = {**FREE_HAND, "maxConcurrent": 1}
    story = begin(check=REBOOTS, kinds=("Reboot",), policy=policy).fail("node-1")
    story.keep("node-1", ["example.com/safe-end"])
    vanish(story, "node-1").run(A_WHILE).fail("node-2")
    assert (story.open(REBOOT), story.verdict("node-2")) == (["node-1"], "Held")
    story.keep("node-1", None).run(A_WHILE)
    assert story.open(REBOOT) == ["node-2"]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_remediation_that_nothing_owns_any_more_is_withdrawn(begin: StartStory, *, restarted: bool) -> None:
    """With `kubectl delete node --cascade=orphan`, Kubernetes does not garbage-collect it."""
    story = begin(check=REBOOTS, kinds=("Reboot",)).fail("node-1")
    if restarted:
        story.checker.process.crash()
    story.api.patch(REBOOT, "node-1", {"metadata": {"ownerReferences": None}}, at=("default", ""))
    vanish(story, "node-1").run(60.0)
    assert story.open(REBOOT) == []


def test_a_deleted_check_removes_the_nodes_it_counted(begin: StartStory) -> None:
    story = begin(machines=10, policy=LIMITED).fail("node-1", "node-2", "node-3", "node-4")
    vanish(story, "node-1", "node-2").run(A_WHILE)
    assert story.policy_numbers() == (10, 4)
    story.another_check("another")
    story.delete_check().run(A_WHILE)
    assert story.policy_numbers() == (8, 2)
