"""Decides which Kubernetes events are written and when, and writes them in the background.

Recording an event never waits, and a failing API server costs only events. The decision is pure: time is an
argument, memory is bounded.

- Repetitions of an event (same object, type, reason, action and note) become one Event with a count. The
  count is updated at most once in `repeat_every` seconds.
- New events about one object are limited by `per_object`, independently of other objects.
- At most `most` events are remembered. The least recently noted are forgotten first.
- A write that is throttled, is not sent, or has an unknown outcome is tried three times and then dropped. A
  write that can never succeed is dropped at once. Every drop is counted under its reason.

Events of any writer are read in one form, because the older and the newer Events API share one store.
"""

import re
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, assert_never

import msgspec

from nodemend.api.meta import KubernetesObject, ObjectMeta, Wire, print_micro_time
from nodemend.api.resources import EVENT
from nodemend.api.upstream_types import Event, EventSeries, EventType, ObjectReference
from nodemend.kube.flowcontrol import Backoff, Rate, TokenBucket
from nodemend.kube.outcome import (
    Ok,
    Reason,
    Refused,
    Undecodable,
    Unknown,
    Unsent,
    WriteOutcome,
    write_outcome,
)
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.request import Method, Precondition, Request, create, merge_patch
from nodemend.kube.workqueue import WorkQueue
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.printable import printable

LONGEST_NOTE_BYTES: Final = 1024
LONGEST_INSTANCE_BYTES: Final = 128
_LONGEST_NAME: Final = 253
_MOST_TRIES: Final = 3
_PER_OBJECT: Final = Rate(per_second=1 / 60, at_once=20)
_OVERALL: Final = Rate(per_second=5.0, at_once=50)
_REASON_FORM: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,127}")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An event to report: what happened to an object (`reason`), and what Nodemend did (`action`)."""

    regarding: ObjectReference
    type: EventType
    reason: str
    action: str
    note: str
    related: ObjectReference | None = None

    def __post_init__(self) -> None:
        for token in (self.reason, self.action):
            if not _REASON_FORM.fullmatch(token):
                raise ValueError(f"{token!r} is not one CamelCase word of at most 128 letters")


@dataclass(frozen=True, slots=True)
class EventText:
    """An event of a known reason, about an object that is not named yet."""

    reason: EventReason
    note: str

    def about(self, regarding: ObjectReference, related: ObjectReference | None = None) -> EventRecord:
        reason = self.reason
        return EventRecord(
            regarding, reason.type, reason.name, reason.action, printable(self.note), related=related
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLimits:
    repeat_every: float = 900.0
    forget_after: float = 3000.0
    """Seconds. Less than the hour for which an API server keeps an Event: an older one may be gone."""
    per_object: Rate = _PER_OBJECT
    overall: Rate = _OVERALL
    most: int = 4096


@dataclass(frozen=True, slots=True)
class EventSource:
    """The reporting controller. `token` is random, so that Event names of two starts do not collide."""

    controller: str
    instance: str
    token: str


class Drop(StrEnum):
    """The reason for which an event was not written."""

    TOO_MANY_FOR_ONE_OBJECT = "object"
    TOO_MANY = "full"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


@dataclass(slots=True)
class EventCounts:
    """Counts since the start, for metrics. A repetition counts once the Event's count includes it."""

    written: int = 0
    dropped: Counter[Drop] = field(default_factory=Counter)


Key = tuple[str, EventType, str, str, str]


@dataclass(frozen=True, slots=True)
class PendingEvent:
    key: Key
    name: str
    request: Request

    @property
    def updates(self) -> bool:
        """True if it updates the count of an Event, False if it creates an Event."""
        return self.request.method is Method.PATCH


@dataclass(slots=True)
class _AggregatedEvent:
    event_record: EventRecord
    name: str
    first: str
    last: str
    touched: float
    count: int = 1
    sending: int = 0
    written: int = 0
    tries: int = 0
    live: Precondition | None = None


class EventAggregator:
    """Takes events; hands out at most one draft at a time for each; takes the drafts' outcomes."""

    def __init__(self, reporter: EventSource, limits: EventLimits) -> None:
        self.counts = EventCounts()
        self._reporter = reporter
        self._limits = limits
        self._entries: OrderedDict[Key, _AggregatedEvent] = OrderedDict()
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()
        self._queue: WorkQueue[Key] = WorkQueue(most=limits.most)
        self._named = 0

    def note(self, event_record: EventRecord, now: float, wall: datetime) -> None:
        key, moment = _key(event_record), print_micro_time(wall)
        entry = self._entries.get(key)
        if entry is not None and now - entry.touched > self._limits.forget_after:
            self._drop(key, Drop.UNREACHABLE)
            entry = None
        if entry is None:
            self._open(key, event_record, now, moment)
            return
        entry.count += 1
        entry.last = moment
        self._entries.move_to_end(key)
        self._queue.add(key, now, after=entry.touched + self._limits.repeat_every - now)

    def next_due(self) -> float | None:
        """Time at which the next write is due; None if nothing waits."""
        return self._queue.next_due()

    def take(self, now: float) -> PendingEvent | None:
        """The next request, if one is due. The caller must report its outcome by a method below."""
        while (key := self._queue.take(now)) is not None:
            entry = self._entries.get(key)
            if entry is not None and entry.count > entry.written:
                entry.sending = entry.count
                return PendingEvent(key, entry.name, self._request(entry))
            self._queue.done(key)
        return None

    def wrote(self, draft: PendingEvent, live: Precondition | None, now: float) -> None:
        """The event is written. `live` names the version to update later; None if it is unknown."""
        self._queue.done(draft.key)
        entry = self._drafted(draft)
        if entry is None:
            return
        self.counts.written += entry.sending - entry.written
        entry.written, entry.touched, entry.tries, entry.live = entry.sending, now, 0, live
        if live is None:
            self._drop(draft.key, Drop.UNREACHABLE)

    def event_deleted(self, draft: PendingEvent, now: float) -> None:
        """The Event to update was deleted or changed: the unwritten repetitions become a new Event."""
        entry = self._drafted(draft)
        if entry is not None:
            entry.count, entry.written, entry.live = entry.count - entry.written, 0, None
            entry.first, entry.name = entry.last, self._name(entry.event_record)
        self._queue.again(draft.key, now, 0.0)

    def missed(self, draft: PendingEvent, now: float) -> None:
        """The outcome is unknown. Try again, at most three times in all."""
        entry = self._drafted(draft)
        if entry is not None:
            entry.tries += 1
        if entry is None or entry.tries >= _MOST_TRIES:
            self.refused(draft, Drop.UNREACHABLE)
        else:
            self._queue.again(draft.key, now, 0.0)

    def refused(self, draft: PendingEvent, why: Drop = Drop.REFUSED) -> None:
        """The event can never be written: drop it."""
        self._queue.done(draft.key)
        if self._drafted(draft) is not None:
            self._drop(draft.key, why)

    def _drafted(self, draft: PendingEvent) -> _AggregatedEvent | None:
        """The entry from which the draft was made; None if it has been forgotten meanwhile."""
        entry = self._entries.get(draft.key)
        return entry if entry is not None and entry.name == draft.name else None

    def _open(self, key: Key, event_record: EventRecord, now: float, moment: str) -> None:
        if self._bucket(key[0]).take(now) > 0.0:
            self.counts.dropped[Drop.TOO_MANY_FOR_ONE_OBJECT] += 1
            return
        if not self._queue.add(key, now):
            self.counts.dropped[Drop.TOO_MANY] += 1
            return
        name = self._name(event_record)
        self._entries[key] = _AggregatedEvent(event_record, name, first=moment, last=moment, touched=now)
        if len(self._entries) > self._limits.most:
            self._drop(next(iter(self._entries)), Drop.TOO_MANY)

    def _drop(self, key: Key, why: Drop) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None and entry.count > entry.written:
            self.counts.dropped[why] += entry.count - entry.written

    def _bucket(self, object_: str) -> TokenBucket:
        bucket = self._buckets.setdefault(object_, TokenBucket(self._limits.per_object))
        self._buckets.move_to_end(object_)
        if len(self._buckets) > self._limits.most:
            self._buckets.popitem(last=False)
        return bucket

    def _request(self, entry: _AggregatedEvent) -> Request:
        namespace = _namespace(entry.event_record)
        if entry.live is None:
            return create(
                EVENT, msgspec.to_builtins(self._event(entry)), namespace, manager=self._reporter.controller
            )
        series = {"count": entry.count, "lastObservedTime": entry.last}
        return merge_patch(
            EVENT,
            entry.name,
            namespace,
            change={"series": series},
            only_if=entry.live,
            manager=self._reporter.controller,
        )

    def _event(self, entry: _AggregatedEvent) -> Event:
        event_record = entry.event_record
        return Event(
            metadata=ObjectMeta(name=entry.name, namespace=_namespace(event_record)),
            event_time=entry.first,
            type=event_record.type,
            reason=event_record.reason,
            action=event_record.action,
            note=shorten(event_record.note, LONGEST_NOTE_BYTES),
            regarding=event_record.regarding,
            related=event_record.related,
            reporting_controller=self._reporter.controller,
            reporting_instance=shorten(self._reporter.instance, LONGEST_INSTANCE_BYTES),
            series=EventSeries(count=entry.count, last_observed_time=entry.last) if entry.count > 1 else None,
        )

    def _name(self, event_record: EventRecord) -> str:
        self._named += 1
        ending = f".{self._reporter.token}{self._named:x}"
        name = event_record.regarding.name[: _LONGEST_NAME - len(ending)].rstrip("-.")
        return (name if _SUBDOMAIN.fullmatch(name) else "event") + ending


def shorten(text: str, most_bytes: int) -> str:
    """The text, or its beginning and an ellipsis, in at most `most_bytes` bytes of UTF-8."""
    encoded = text.encode()
    if len(encoded) <= most_bytes:
        return text
    ellipsis = "…"
    return encoded[: most_bytes - len(ellipsis.encode())].decode(errors="ignore") + ellipsis


def _key(event_record: EventRecord) -> Key:
    regarding = event_record.regarding
    object_ = (
        regarding.uid or f"{regarding.api_version}/{regarding.kind}/{regarding.namespace}/{regarding.name}"
    )
    return (object_, event_record.type, event_record.reason, event_record.action, event_record.note)


def _namespace(event_record: EventRecord) -> str:
    """The API server accepts Events about cluster-scoped objects only in the namespace `default`."""
    return event_record.regarding.namespace or "default"


class SeriesSeen(Wire):
    count: int = 1
    last_observed_time: str = ""


class SourceSeen(Wire):
    component: str = ""


class ReferenceSeen(Wire):
    """Like an ObjectReference, but none of its content can be trusted."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""


class EventWire(KubernetesObject):
    """An event of events.k8s.io. Events with the older API's times have them in the deprecated fields."""

    event_time: str | None = None
    type: str = ""
    reason: str = ""
    note: str = ""
    regarding: ReferenceSeen = ReferenceSeen()
    related: ReferenceSeen | None = None
    reporting_controller: str = ""
    series: SeriesSeen | None = None
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None
    deprecated_count: int = 1
    deprecated_source: SourceSeen = SourceSeen()

    @property
    def first_time(self) -> str:
        """Empty if the event has no time."""
        return self.event_time or self.deprecated_first_timestamp or self.metadata.creation_timestamp

    @property
    def last_time(self) -> str:
        said = self.series.last_observed_time if self.series else ""
        return said or self.deprecated_last_timestamp or self.first_time

    @property
    def count(self) -> int:
        return max(self.series.count if self.series else 1, self.deprecated_count)

    @property
    def reporter(self) -> str:
        return self.reporting_controller or self.deprecated_source.component


REQUEST_SECONDS: Final = 5.0
_PAUSE: Final = Backoff(first=1.0, most=60.0, spread=0.5)


class _Written(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


class EventRecorder:
    """`record` is called from anywhere; one `run` writes, until it is cancelled."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        *,
        controller: str,
        instance: str,
        limits: EventLimits | None = None,
    ) -> None:
        limits = limits or EventLimits()
        token = f"{int(runtime.random() * 2**40):010x}"
        self._runtime = runtime
        self._transport = transport
        self._aggregator = EventAggregator(EventSource(controller, instance, token), limits)
        self._overall = TokenBucket(limits.overall)
        self._failures = 0
        self._wake = runtime.signal()

    @property
    def counts(self) -> EventCounts:
        return self._aggregator.counts

    def record(self, event_record: EventRecord) -> None:
        self._aggregator.note(event_record, self._runtime.monotonic(), self._runtime.wall())
        self._wake.set()

    async def run(self) -> None:
        while True:
            draft = self._aggregator.take(self._runtime.monotonic())
            if draft is None:
                await self._wake.wait(self._seconds_to_next())
                continue
            while wait := self._overall.take(self._runtime.monotonic()):
                await self._runtime.sleep(wait)
            deadline = self._runtime.monotonic() + REQUEST_SECONDS
            outcome = write_outcome(await self._transport.send(draft.request, deadline), _Written)
            if (pause := self._settle(draft, outcome)) > 0.0:
                await self._runtime.sleep(pause)

    def _seconds_to_next(self) -> float | None:
        due = self._aggregator.next_due()
        return None if due is None else max(due - self._runtime.monotonic(), 0.0)

    def _settle(self, draft: PendingEvent, outcome: WriteOutcome[_Written]) -> float:
        """Record the outcome. Returns the seconds to wait before the next request."""
        now = self._runtime.monotonic()
        match outcome:
            case Ok(written):
                meta = written.metadata
                self._aggregator.wrote(draft, Precondition(meta.uid, meta.resource_version), now)
                self._failures = 0
                return 0.0
            case Undecodable() | Refused(Reason.ALREADY_EXISTS):
                # AlreadyExists: an earlier attempt had been applied after all.
                self._aggregator.wrote(draft, None, now)
                return 0.0
            case Refused(Reason.NOT_FOUND | Reason.CONFLICT) if draft.updates:
                self._aggregator.event_deleted(draft, now)
                return 0.0
            case Refused(Reason.THROTTLED, _, retry_after):
                self._aggregator.missed(draft, now)
                return self._back_off(retry_after or 0.0)
            case Refused():
                self._aggregator.refused(draft)
                return 0.0
            case Unsent() | Unknown():
                self._aggregator.missed(draft, now)
                return self._back_off(0.0)
            case _:
                assert_never(outcome)

    def _back_off(self, at_least: float) -> float:
        self._failures += 1
        return max(at_least, _PAUSE.delay(self._failures, self._runtime.random()))
