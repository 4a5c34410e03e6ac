"""The facts of a timeline, gathered from a live cluster."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from nodemend.api.resources import EVENT
from nodemend.cli.timeline.build import timeline_view
from nodemend.cli.timeline.collect import TimelineFacts, gather
from simulation.cluster.world import World
from simulation.metal3.rack import furnish, shaped
from tests.unit.cli.simulated_caller import SimulatedCaller

SICK = "node-1"
LENIENT = {"maxUnhealthy": "100%", "settleTime": "5s", "minInterval": "1s"}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A node whose workloads are released, and whose host may power on again."""
    world = World("timeline", shaped(machines=3, policy=LENIENT))
    rack = furnish(world)
    world.run(120.0)
    world.machines[SICK].connected = False
    world.run(300.0)
    yield world
    rack.close()
    world.close()


def looked(world: World, *hidden: str) -> TimelineFacts:
    return SimulatedCaller(world, hidden=hidden).run(lambda cluster: gather(cluster, SICK))


@pytest.mark.slow
def test_events_of_the_node_and_of_its_host_are_read_and_those_of_others_are_not(world: World) -> None:
    event = {
        "metadata": {"name": "node-2.x"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "type": "Normal",
        "reason": "Other",
        "action": "Other",
        "note": "of another",
        "reportingController": "example.com/x",
        "reportingInstance": "x",
    }
    for name in ("node-1", "node-2"):
        about = {"kind": "Node", "name": name, "apiVersion": "v1"}
        body = {**event, "metadata": {"name": f"{name}.x"}, "regarding": about}
        world.admin_api.create(EVENT, body, "default")
    facts = looked(world)

    reported = {(one.regarding.kind, one.regarding.name, one.reason) for one in facts.events}
    assert ("BareMetalHost", SICK, "PowerOff") in reported
    assert ("Node", SICK, "Other") in reported
    assert {name for _, name, _ in reported} == {SICK}
    assert facts.unread == ()


def test_the_objects_alone_show_the_release_and_its_evidence(world: World) -> None:
    view = timeline_view(looked(world), timedelta(days=1))

    order = ["last-life", "not-ready", "started", "off", "gone"]
    assert [one.key for one in view.moments if one.key in order] == order
    assert [one.evidence for one in view.releases] == ["E1"]


def test_a_user_without_the_right_to_see_events_is_warned_and_sees_the_objects_timeline(world: World) -> None:
    facts = looked(world, "events", "pods")
    view = timeline_view(facts, timedelta(days=1))

    assert [one.partition(" cannot")[0] for one in facts.unread] == [
        "Events of Node node-1",
        "Events of BareMetalHost node-1",
    ]
    assert view.unread == facts.unread, "pods are no part of a timeline"
    assert "gone" in {one.key for one in view.moments}
