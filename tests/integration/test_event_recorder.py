"""Our events, as a real API server takes them."""

import pytest

from controlplane.run import ControlPlane
from nodemend.api.upstream_types import EventType, ObjectReference
from nodemend.kube.asyncio_runtime import run
from nodemend.kube.events import EventCounts, EventLimits, EventRecord, EventRecorder
from tests.integration.connected_client import Connected, connected

pytest_plugins = ["controlplane.fixtures"]
pytestmark = pytest.mark.real

NODE_1 = ObjectReference(api_version="v1", kind="Node", name="n1", uid="u1")
INSIDE = ObjectReference(
    api_version="nodemend.io/v1alpha1", kind="ManualRemediation", name="n1", namespace="kube-system", uid="u2"
)


def event_record(regarding: ObjectReference, note: str) -> EventRecord:
    return EventRecord(regarding, EventType.WARNING, "Held", "Hold", note, related=NODE_1)


async def recorded(here: Connected, *event_records: EventRecord, repeat_every: float = 900.0) -> EventCounts:
    """Record all, and wait until nothing is left to write."""
    recorder = EventRecorder(
        here.runtime,
        here.transport,
        controller="nodemend.io/checker",
        instance="checker-0_" + "a" * 150,
        limits=EventLimits(repeat_every=repeat_every),
    )
    running = here.runtime.spawn(recorder.run(), "recorder")
    deadline = here.soon(60.0)
    for one in event_records:
        recorder.record(one)
        # The first is written before the next comes, which else would be counted with it.
        while not recorder.counts.written:
            assert here.runtime.monotonic() < deadline, recorder.counts
            await here.runtime.sleep(0.01)
    while recorder.counts.written < len(event_records):
        assert here.runtime.monotonic() < deadline, recorder.counts
        await here.runtime.sleep(0.01)
    running.cancel()
    await running.join()
    return recorder.counts


def test_events_on_nodes_and_on_namespaced_objects_are_taken(api_server: ControlPlane) -> None:
    async def main() -> EventCounts:
        async with connected(api_server) as here:
            return await recorded(here, event_record(NODE_1, "é" * 1000), event_record(INSIDE, "held"))

    counts = run(main())

    assert (counts.written, counts.dropped) == (2, {})
    on_node, *_ = api_server.api.list("/apis/events.k8s.io/v1/namespaces/default/events")
    assert on_node["regarding"]["uid"] == "u1"
    assert on_node["note"].endswith("…")
    assert len(on_node["reportingInstance"].encode()) <= 128
    inside, *_ = api_server.api.list("/apis/events.k8s.io/v1/namespaces/kube-system/events")
    assert (inside["reason"], inside["action"], inside["related"]["name"]) == ("Held", "Hold", "n1")


def test_repetitions_become_a_series(api_server: ControlPlane) -> None:
    async def main() -> EventCounts:
        async with connected(api_server) as here:
            return await recorded(here, *[event_record(NODE_1, "held")] * 3, repeat_every=2.0)

    counts = run(main())

    events = api_server.api.list("/apis/events.k8s.io/v1/namespaces/default/events")
    assert [event["series"]["count"] for event in events] == [3]
    assert counts.written == 3
