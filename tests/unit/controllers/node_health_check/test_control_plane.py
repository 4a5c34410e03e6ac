"""Nodes of the control plane: one after the other, and never the one that the majority needs."""

import pytest

from tests.unit.controllers.node_health_check.stories import A_WHILE, Begin, Story

ROLE = "node-role.kubernetes.io/control-plane"


def of(story: Story, *members: str) -> Story:
    for member in members:
        story.label(member, {ROLE: ""})
    return story


@pytest.mark.conforms("N14", "N21")
def test_they_are_remediated_one_after_the_other(begin: Begin) -> None:
    members = [f"node-{number}" for number in range(1, 6)]
    story = of(begin(), *members).fail("node-1", "node-2").run(A_WHILE)
    assert story.open() == ["node-1"]
    assert "node-1 is under remediation, and there is one at a time" in story.message("node-2")
    assert story.heal("node-1").run(2 * A_WHILE).open() == ["node-2"]


@pytest.mark.conforms("N14")
def test_one_without_which_there_is_no_majority_is_left_alone(begin: Begin) -> None:
    story = of(begin(), "node-1", "node-2", "node-3").label("node-2", {"nodemend.io/exclude": ""})
    story.world.machines["node-2"].connected = False
    story.run(60.0).fail("node-1").run(A_WHILE)
    assert story.open() == []
    assert "Without it 1 of 3 control-plane nodes would be Ready" in story.message("node-1")
