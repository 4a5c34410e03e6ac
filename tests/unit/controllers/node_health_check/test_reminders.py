"""A hold that lasts is told again: by one event on the check, ever more seldom, however many nodes it has."""

from itertools import pairwise
from typing import Any

from nodemend.controllers.node_health_check.recorder import NodeHealthCheckRecorder
from nodemend.kube.event_book import Happening
from nodemend.testing.cluster.replicas import Silent
from tests.unit.controllers.checking.scraped import Scraped
from tests.unit.controllers.node_health_check.stories import A_WHILE, FREE_HAND, PERIOD, Begin, Story, remedy

HOUR = 3600.0


class Listening(Silent):
    """Notes when something is told again, and what."""

    def __init__(self) -> None:
        self.story: Story | None = None
        self.told: list[tuple[float, str]] = []

    def still_held(self, *said: object) -> None:
        now = self.story.world.scheduler.now if self.story is not None else 0.0
        self.told.append((now, str(said[1])))


def begun(begin: Begin, **how: Any) -> tuple[Story, Listening]:
    listening = Listening()
    story = listening.story = begin(recorder=listening, **how)
    return story, listening


def test_a_pause_is_told_again_at_growing_intervals_and_no_more_when_it_ends(begin: Begin) -> None:
    story, listening = begun(begin, machines=2, check={"pause": {"reason": "switch swap"}})
    story.fail("node-1")
    held_at = story.world.scheduler.now
    story.run(2 * HOUR + 100.0)
    moments = [moment for moment, _ in listening.told]
    gaps = [later - earlier for earlier, later in pairwise((held_at, *moments))]
    expected = [300.0, 600.0, 1200.0, 2400.0, 2700.0]
    assert [abs(gap - due) < A_WHILE for gap, due in zip(gaps, expected, strict=True)] == [True] * 5
    assert "Held for 5 min without a break: 1 of 2 nodes (Paused 1). node-1: " in listening.told[0][1]
    story.change_check({"pause": None}).run(A_WHILE)
    told = len(listening.told)
    assert (story.open(), len(listening.told)) == (["node-1"], told)
    story.run(1000.0)
    assert len(listening.told) == told


def test_many_held_nodes_are_one_event_with_their_number(begin: Begin) -> None:
    policy = {**FREE_HAND, "maxUnhealthy": "40%"}
    story, listening = begun(begin, machines=60, policy=policy)
    nodes = [f"node-{number}" for number in range(1, 41)]
    story.fail(*nodes).run(400.0)
    assert story.open() == []
    [(_, said)] = listening.told
    assert "40 of 60 nodes (TooManyUnhealthy 40)" in said
    assert "the limit is 40%" in said


def test_what_is_held_for_less_than_five_minutes_is_told_once_as_ever(begin: Begin) -> None:
    story, listening = begun(begin, check={"pause": {"reason": "switch swap"}})
    story.fail("node-1").run(200.0).heal("node-1").run(PERIOD + HOUR)
    assert listening.told == []


def test_a_new_leader_counts_anew_and_does_not_fall_silent(begin: Begin) -> None:
    story, listening = begun(begin, check={"pause": {"reason": "switch swap"}})
    story.fail("node-1").run(400.0)
    assert len(listening.told) == 1
    story.checker.process.crash()
    story.run(500.0)
    assert len(listening.told) == 2


def test_when_every_remedy_was_tried_that_is_told_again_too(begin: Begin) -> None:
    story, listening = begun(begin, check={"remedies": [remedy("Reboot")]}, kinds=("Reboot",))
    story.fail("node-1").say("node-1", "False").run(400.0)
    assert "(RemediesExhausted 1)" in listening.told[0][1]


def test_the_event_regards_the_check(begin: Begin) -> None:
    events: list[Happening] = []
    scraped = Scraped()
    recorder = NodeHealthCheckRecorder(scraped.log, scraped.metrics, events.append)
    story = begin(recorder=recorder, check={"pause": {"reason": "switch swap"}}).fail("node-1").run(400.0)
    [told] = [event for event in events if event.reason == "StillHeld"]
    assert (told.regarding.kind, told.regarding.name) == ("NodeHealthCheck", "all-nodes")
    assert story.verdict("node-1") == "Held"
