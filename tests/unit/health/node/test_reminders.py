"""A lasting hold is reported again, by one event per check at growing intervals, for any number of nodes."""

from itertools import pairwise
from typing import Any

import pytest

from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.kube.events import EventRecord
from simulation.cluster.replicas import Silent
from tests.unit.health.node.stories import A_WHILE, FREE_HAND, PERIOD, StartStory, Story, remedy
from tests.unit.telemetry.scraped import Scraped

HOUR = 3600.0


class Listening(Silent):
    """Records each reminder and its time."""

    def __init__(self) -> None:
        self.story: Story | None = None
        self.reported: list[tuple[float, str]] = []

    def still_held(self, *said: object) -> None:
        now = self.story.world.scheduler.now if self.story is not None else 0.0
        self.reported.append((now, str(said[2])))


def begun(begin: StartStory, **how: Any) -> tuple[Story, Listening]:
    listening = Listening()
    story = listening.story = begin(recorder=listening, **how)
    return story, listening


@pytest.mark.slow
def test_a_pause_is_reported_at_growing_intervals_until_it_ends(begin: StartStory) -> None:
    story, listening = begun(begin, machines=2, check={"pause": {"reason": "switch swap"}})
    story.fail("node-1")
    held_at = story.world.scheduler.now
    story.run(2 * HOUR + 100.0)
    moments = [moment for moment, _ in listening.reported]
    gaps = [later - earlier for earlier, later in pairwise((held_at, *moments))]
    expected = [300.0, 600.0, 1200.0, 2400.0, 2700.0]
    assert [abs(gap - due) < A_WHILE for gap, due in zip(gaps, expected, strict=True)] == [True] * 5
    assert "Held for 5 min without a break: 1 of 2 nodes (Paused 1). node-1: " in listening.reported[0][1]
    story.change_check({"pause": None}).run(A_WHILE)
    reported = len(listening.reported)
    assert (story.open(), len(listening.reported)) == (["node-1"], reported)
    story.run(1000.0)
    assert len(listening.reported) == reported


@pytest.mark.slow
def test_many_held_nodes_are_one_event_with_their_number(begin: StartStory) -> None:
    policy = {**FREE_HAND, "maxUnhealthy": "40%"}
    story, listening = begun(begin, machines=60, policy=policy)
    nodes = [f"node-{number}" for number in range(1, 41)]
    story.fail(*nodes).run(400.0)
    assert story.open() == []
    [(_, said)] = listening.reported
    assert "40 of 60 nodes (TooManyUnhealthy 40)" in said
    assert "with the limit 40% the guard closes at 24" in said


@pytest.mark.slow
def test_a_hold_of_less_than_five_minutes_is_reported_once(begin: StartStory) -> None:
    story, listening = begun(begin, check={"pause": {"reason": "switch swap"}})
    story.fail("node-1").run(200.0).heal("node-1").run(PERIOD + HOUR)
    assert listening.reported == []


@pytest.mark.slow
def test_a_new_leader_restarts_the_intervals_and_still_reports(begin: StartStory) -> None:
    story, listening = begun(begin, check={"pause": {"reason": "switch swap"}})
    story.fail("node-1").run(400.0)
    assert len(listening.reported) == 1
    story.checker.process.crash()
    story.run(500.0)
    assert len(listening.reported) == 2


@pytest.mark.slow
def test_the_failure_of_every_remedy_is_reported_repeatedly_too(begin: StartStory) -> None:
    story, listening = begun(begin, check={"remedies": [remedy("Reboot")]}, kinds=("Reboot",))
    story.fail("node-1").say("node-1", "False").run(400.0)
    assert "(RemediesExhausted 1)" in listening.reported[0][1]


@pytest.mark.slow
def test_the_event_regards_the_check(begin: StartStory) -> None:
    events: list[EventRecord] = []
    scraped = Scraped()
    recorder = NodeHealthCheckRecorder(scraped.log, scraped.metrics, events.append)
    story = begin(recorder=recorder, check={"pause": {"reason": "switch swap"}}).fail("node-1").run(400.0)
    [reported] = [event for event in events if event.reason == "StillHeld"]
    assert (reported.regarding.kind, reported.regarding.name) == ("NodeHealthCheck", "all-nodes")
    assert story.verdict("node-1") == "Held"
