"""Events as written: repetitions, limits, names, and dropped ones."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from nodemend.api.upstream_types import Event, EventSeries, EventType, ObjectReference
from nodemend.kube.events import (
    Drop,
    EventAggregator,
    EventLimits,
    EventRecord,
    EventSource,
    PendingEvent,
    shorten,
)
from nodemend.kube.flowcontrol import Rate
from nodemend.kube.request import Method, Precondition

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NODE_1 = ObjectReference(api_version="v1", kind="Node", name="n1", uid="u1")
LIVE = Precondition("event-uid", "7")


def held(note: str = "2 of 3 are unhealthy", regarding: ObjectReference = NODE_1) -> EventRecord:
    return EventRecord(regarding, EventType.WARNING, "Held", "Hold", note)


def aggregator(**limits: object) -> EventAggregator:
    return EventAggregator(EventSource("nodemend.io/checker", "checker-0", "abc"), EventLimits(**limits))  # type: ignore[arg-type]


def note(events: EventAggregator, event_record: EventRecord, now: float) -> None:
    events.note(event_record, now, NOON + timedelta(seconds=now))


def take(events: EventAggregator, now: float) -> PendingEvent:
    draft = events.take(now)
    assert draft is not None
    return draft


def event_of(draft: PendingEvent) -> Event:
    assert draft.request.method is Method.POST
    return msgspec.json.decode(draft.request.body, type=Event)


def patch_of(draft: PendingEvent) -> dict[str, dict[str, object]]:
    assert draft.request.method is Method.PATCH
    return msgspec.json.decode(draft.request.body, type=dict[str, dict[str, object]])


def test_something_new_is_written_at_once_and_in_full() -> None:
    events = aggregator()
    note(events, held(), 5.0)

    event = event_of(take(events, 5.0))

    assert (event.metadata.name, event.metadata.namespace) == ("n1.abc1", "default")
    assert event.event_time == "2026-01-01T12:00:05.000000Z"
    assert (event.reason, event.action, event.type) == ("Held", "Hold", EventType.WARNING)
    assert event.note == "2 of 3 are unhealthy"
    assert event.regarding == NODE_1
    assert (event.reporting_controller, event.reporting_instance) == ("nodemend.io/checker", "checker-0")
    assert event.series is None


def test_an_event_lives_where_its_object_lives() -> None:
    events = aggregator()
    inside = ObjectReference(api_version="nodemend.io/v1alpha1", kind="X", name="x", namespace="ns", uid="u2")
    note(events, held(regarding=inside), 0.0)

    draft = take(events, 0.0)

    assert event_of(draft).metadata.namespace == "ns"
    assert "/namespaces/ns/events" in draft.request.path


def test_a_repetition_becomes_a_count_after_a_while() -> None:
    events = aggregator(repeat_every=100.0)
    note(events, held(), 0.0)
    events.wrote(take(events, 0.0), LIVE, 0.1)
    for now in (1.0, 2.0, 50.0):
        note(events, held(), now)

    assert events.take(99.0) is None
    patch = patch_of(take(events, 101.0))

    assert patch["series"] == {"count": 4, "lastObservedTime": "2026-01-01T12:00:50.000000Z"}
    assert patch["metadata"] == {"uid": "event-uid", "resourceVersion": "7"}


def test_repeated_events_cost_one_request_in_each_period() -> None:
    events, requests = aggregator(repeat_every=900.0), 0
    for now in range(3600):
        note(events, held(), float(now))
        while (draft := events.take(float(now))) is not None:
            requests += 1
            events.wrote(draft, LIVE, float(now))

    assert requests == 4


def test_other_words_are_another_event() -> None:
    events = aggregator()
    note(events, held("2 of 3"), 0.0)
    note(events, held("3 of 3"), 0.0)

    assert {event_of(take(events, 0.0)).note for _ in range(2)} == {"2 of 3", "3 of 3"}


def test_repetitions_before_the_first_write_are_written_with_it() -> None:
    events = aggregator()
    for now in (0.0, 1.0, 2.0):
        note(events, held(), now)

    series = EventSeries(count=3, last_observed_time="2026-01-01T12:00:02.000000Z")
    assert event_of(take(events, 2.0)).series == series
    assert events.take(2.0) is None


def test_a_repetition_during_a_write_is_not_lost() -> None:
    events = aggregator(repeat_every=100.0)
    note(events, held(), 0.0)
    draft = take(events, 0.0)
    note(events, held(), 0.5)
    events.wrote(draft, LIVE, 1.0)

    assert events.take(99.0) is None
    assert patch_of(take(events, 101.0))["series"]["count"] == 2


def test_an_event_that_may_have_expired_on_the_server_is_created_again() -> None:
    events = aggregator(forget_after=3000.0)
    note(events, held(), 0.0)
    events.wrote(take(events, 0.0), LIVE, 0.0)
    note(events, held(), 3001.0)

    event = event_of(take(events, 3001.0))

    assert event.metadata.name == "n1.abc2"
    assert event.series is None


def test_a_deleted_event_is_created_again_with_the_missing_count() -> None:
    events = aggregator(repeat_every=100.0)
    note(events, held(), 0.0)
    events.wrote(take(events, 0.0), LIVE, 0.0)
    for now in (1.0, 2.0):
        note(events, held(), now)
    events.event_deleted(take(events, 100.0), 100.0)

    event = event_of(take(events, 100.0))

    assert event.metadata.name == "n1.abc2"
    assert event.series is not None
    assert event.series.count == 2


@pytest.mark.conforms("W17")
def test_new_messages_about_one_object_are_limited_and_counted() -> None:
    events = aggregator(per_object=Rate(per_second=0.1, at_once=3))
    for number in range(10):
        note(events, held(f"{number} of 3"), 0.0)
    note(events, held(regarding=ObjectReference(api_version="v1", kind="Node", name="n2", uid="u2")), 0.0)

    assert sum(events.take(0.0) is not None for _ in range(10)) == 4
    assert events.counts.dropped == {Drop.TOO_MANY_FOR_ONE_OBJECT: 7}
    note(events, held("later"), 10.0)
    assert event_of(take(events, 10.0)).note == "later"


def test_memory_is_bounded_for_any_input() -> None:
    events = aggregator(most=10)
    for number in range(1000):
        reference = ObjectReference(api_version="v1", kind="Node", name=f"n{number}", uid=f"u{number}")
        note(events, held(regarding=reference), 0.0)

    assert len(events._entries) == len(events._buckets) == 10
    assert events.counts.dropped == {Drop.TOO_MANY: 990}


def test_the_least_recently_used_entry_is_forgotten_first() -> None:
    events = aggregator(most=2, repeat_every=100.0)
    for name in ("n1", "n2", "n1", "n3"):
        note(events, held(regarding=ObjectReference(api_version="v1", kind="Node", name=name, uid=name)), 0.0)
        if (draft := events.take(0.0)) is not None:
            events.wrote(draft, LIVE, 0.0)

    remembered = [key[0] for key in events._entries]
    assert remembered == ["n1", "n3"]


def test_what_cannot_be_written_is_tried_three_times_under_one_name() -> None:
    events = aggregator()
    note(events, held(), 0.0)
    names = []
    while (draft := events.take(0.0)) is not None:
        names.append(event_of(draft).metadata.name)
        events.missed(draft, 0.0)

    assert names == ["n1.abc1"] * 3
    assert events.counts.dropped == {Drop.UNREACHABLE: 1}


def test_a_refused_event_is_dropped_at_once() -> None:
    events = aggregator()
    note(events, held(), 0.0)
    note(events, held(), 0.0)
    events.refused(take(events, 0.0))

    assert events.take(0.0) is None
    assert events.counts.dropped == {Drop.REFUSED: 2}


def test_the_fate_of_a_forgotten_draft_changes_nothing() -> None:
    events = aggregator(most=1)
    note(events, held(), 0.0)
    draft = take(events, 0.0)
    events._drop(draft.key, Drop.TOO_MANY)
    note(events, held(), 1.0)
    events.wrote(draft, LIVE, 1.0)

    assert event_of(take(events, 1.0)).metadata.name == "n1.abc2"


def test_long_names_are_cut_and_strange_ones_replaced() -> None:
    events = aggregator()
    long = "a" * 234 + "." + "b" * 18
    for name in (long, "system:node"):
        note(events, held(regarding=ObjectReference(api_version="v1", kind="Node", name=name, uid=name)), 0.0)

    names = [event_of(take(events, 0.0)).metadata.name for _ in range(2)]

    assert names == [long[:248] + ".abc1", "event.abc2"]
    assert len(names[0]) == 253


def test_long_notes_are_cut_to_the_bytes_the_server_takes() -> None:
    events = aggregator()
    note(events, held("é" * 2000), 0.0)

    text = event_of(take(events, 0.0)).note

    assert len(text.encode()) <= 1024
    assert text.endswith("é…")


def test_short_text_is_left_as_it_is() -> None:
    assert shorten("as it is", 8) == "as it is"


@pytest.mark.parametrize("value", ["", "held", "Two Words", "A" * 129, "Hold!"])
def test_reasons_and_actions_are_single_words(value: str) -> None:
    with pytest.raises(ValueError, match="CamelCase"):
        EventRecord(NODE_1, EventType.NORMAL, value, "Hold", "")
    with pytest.raises(ValueError, match="CamelCase"):
        EventRecord(NODE_1, EventType.NORMAL, "Held", value, "")
