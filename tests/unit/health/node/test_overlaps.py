"""Two checks over the same nodes: one owns them, and the other reports that."""

import pytest

from nodemend.api.resources import NODE
from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.kube.events import EventRecord
from simulation.cluster.world import CHECK
from tests.unit.health.node.stories import A_WHILE, StartStory, Story
from tests.unit.telemetry.scraped import Scraped

RACK = "example.com/rack"
FIRST = "a-rack"
"""Sorts before the check that a story starts with."""
IN_RACK = {"matchLabels": {RACK: "a"}}
BEGUN, OVER = ("True", "OthersComeFirst"), ("False", "NoOverlap")


def reported(story: Story, check: str = CHECK) -> str:
    [message] = [one["message"] for one in story.status(check)["conditions"] if one["type"] == "Overlapping"]
    return str(message)


def overlaps(story: Story, check: str = CHECK) -> bool:
    return any(one["type"] == "Overlapping" for one in story.status(check)["conditions"])


@pytest.mark.attack("G6")
def test_a_check_that_leaves_nodes_to_another_reports_their_number_and_that_check(begin: StartStory) -> None:
    story = begin().run(A_WHILE)
    assert not overlaps(story)
    story.label("node-1", {RACK: "a"}).label("node-2", {RACK: "a"})
    story.another_check(FIRST, selector=IN_RACK).run(A_WHILE)
    assert (story.condition("Overlapping"), story.condition("Stalled")) == (BEGUN, ("False", "NotStalled"))
    said = (
        f"Of the 6 nodes that it selects, 2 are watched by checks whose name comes first: 2 by nhc/{FIRST}."
    )
    assert reported(story).startswith(f"{said} It watches 4;")
    assert (story.status()["targets"], story.status(FIRST)["targets"]) == (4, 2)
    assert not overlaps(story, FIRST)


@pytest.mark.attack("G6")
def test_a_check_without_remaining_nodes_reports_that_it_can_do_nothing(begin: StartStory) -> None:
    """It selects the same nodes with its own thresholds, which are ignored."""
    story = begin().another_check("zzz").run(A_WHILE)
    assert story.condition("Stalled", "zzz") == ("True", "NoTargetsLeft")
    assert f"6 are watched by checks whose name comes first: 6 by nhc/{CHECK}. It watches 0;" in reported(
        story, "zzz"
    )
    story.fail("node-1").run(A_WHILE)
    assert (story.open(), story.verdict("node-1"), story.verdict("node-1", "zzz")) == (
        ["node-1"],
        "Remediating",
        "",
    )


@pytest.mark.attack("G6")
@pytest.mark.parametrize("how", ["deleted", "narrowed", "labels", "nodes"])
def test_the_overlap_ends_when_each_node_has_one_check(begin: StartStory, how: str) -> None:
    story = begin().label("node-1", {RACK: "a"})
    story.another_check(FIRST, selector=IN_RACK).run(A_WHILE)
    assert story.condition("Overlapping") == BEGUN
    if how == "deleted":
        story.delete_check(FIRST)
    elif how == "narrowed":
        story.change_check({"selector": {"matchExpressions": [{"key": RACK, "operator": "DoesNotExist"}]}})
    elif how == "labels":
        story.label("node-1", {RACK: None})
    else:
        story.world.machines["node-1"].power_off()
        story.api.delete(NODE, "node-1")
    story.run(A_WHILE)
    assert story.condition("Overlapping") == OVER


@pytest.mark.attack("G6")
def test_an_overlap_is_one_event_and_a_new_leader_does_not_repeat_it(begin: StartStory) -> None:
    events: list[EventRecord] = []
    scraped = Scraped()
    recorder = NodeHealthCheckRecorder(scraped.log, scraped.metrics, events.append)
    story = begin(recorder=recorder, replicas=2).label("node-1", {RACK: "a"})
    story.another_check(FIRST, selector=IN_RACK).run(A_WHILE)
    story.label("node-2", {RACK: "a"}).run(A_WHILE)
    next(one for one in story.checkers if one.process.name in story.leader()).process.crash()
    story.run(120.0).label("node-3", {RACK: "a"}).run(A_WHILE)
    assert "3 by nhc/" in reported(story)
    [event] = [one for one in events if one.reason == "CheckOverlapped"]
    assert (event.regarding.kind, event.regarding.name) == ("NodeHealthCheck", CHECK)
    assert f"1 by nhc/{FIRST}" in event.note
