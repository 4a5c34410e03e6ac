"""Which events are written, when, and which are not. Pure: time is an argument, memory is bounded.

- What happens again to the same object, in the same words, becomes one Event with a count. Its count is
  brought up to date at most once in `repeat_every` seconds.
- New words about one object are limited by `per_object`, whatever goes on elsewhere.
- At most `most` happenings are remembered. The ones that were heard of least recently are forgotten first.
- What cannot be written is tried three times and dropped. Every drop is counted under its reason.
"""

import re
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from nodemend.api.event import Event, EventSeries, EventType, ObjectReference
from nodemend.api.group_versions import EVENT
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.timestamps import print_micro_time
from nodemend.kube.api_request import Method, Precondition, Request, create, merge_patch
from nodemend.kube.rate_limit import Rate, TokenBucket
from nodemend.kube.reconcile_queue import ReconcileQueue

LONGEST_NOTE_BYTES: Final = 1024
LONGEST_INSTANCE_BYTES: Final = 128
_LONGEST_NAME: Final = 253
_MOST_TRIES: Final = 3
_PER_OBJECT: Final = Rate(per_second=1 / 60, at_once=20)
_OVERALL: Final = Rate(per_second=5.0, at_once=50)
_WORD: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,127}")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class Happening:
    """Something to tell people: what happened to which object (`reason`), and what we did (`action`)."""

    regarding: ObjectReference
    type: EventType
    reason: str
    action: str
    note: str
    related: ObjectReference | None = None

    def __post_init__(self) -> None:
        for word in (self.reason, self.action):
            if not _WORD.fullmatch(word):
                raise ValueError(f"{word!r} is not one CamelCase word of at most 128 letters")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLimits:
    repeat_every: float = 900.0
    forget_after: float = 3000.0
    """Less than the hour for which an API server keeps an Event: an older one may be gone."""
    per_object: Rate = _PER_OBJECT
    overall: Rate = _OVERALL
    most: int = 4096


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who reports. `token` is random, so that names of two starts do not meet."""

    controller: str
    instance: str
    token: str


class Drop(StrEnum):
    """Why an event was not written."""

    TOO_MANY_FOR_ONE_OBJECT = "object"
    TOO_MANY = "full"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


@dataclass(slots=True)
class EventCounts:
    """Since the start, for metrics. A repetition counts as written when its count is."""

    noted: int = 0
    written: int = 0
    requests: int = 0
    dropped: Counter[Drop] = field(default_factory=Counter)


Key = tuple[str, EventType, str, str, str]


@dataclass(frozen=True, slots=True)
class Draft:
    """A request to make for one happening."""

    key: Key
    name: str
    request: Request

    @property
    def updates(self) -> bool:
        """It brings a count up to date, rather than telling something new."""
        return self.request.method is Method.PATCH


@dataclass(slots=True)
class _Entry:
    happening: Happening
    name: str
    first: str
    last: str
    touched: float
    count: int = 1
    sending: int = 0
    written: int = 0
    tries: int = 0
    live: Precondition | None = None


class EventBook:
    """Takes notes; hands out one draft at a time for each happening; is told what became of it."""

    def __init__(self, reporter: Reporter, limits: EventLimits) -> None:
        self.counts = EventCounts()
        self._reporter = reporter
        self._limits = limits
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()
        self._queue: ReconcileQueue[Key] = ReconcileQueue(most=limits.most)
        self._named = 0

    def note(self, happening: Happening, now: float, wall: datetime) -> None:
        self.counts.noted += 1
        key, moment = _key(happening), print_micro_time(wall)
        entry = self._entries.get(key)
        if entry is not None and now - entry.touched > self._limits.forget_after:
            self._drop(key, Drop.UNREACHABLE)
            entry = None
        if entry is None:
            self._open(key, happening, now, moment)
            return
        entry.count += 1
        entry.last = moment
        self._entries.move_to_end(key)
        self._queue.add(key, now, after=entry.touched + self._limits.repeat_every - now)

    def next_due(self) -> float | None:
        """When there will be something to write; None: never, as things are."""
        return self._queue.next_due()

    def take(self, now: float) -> Draft | None:
        """The next request to make, if one is due. It must be settled."""
        while (key := self._queue.take(now)) is not None:
            entry = self._entries.get(key)
            if entry is not None and entry.count > entry.written:
                entry.sending = entry.count
                self.counts.requests += 1
                return Draft(key, entry.name, self._request(entry))
            self._queue.done(key)
        return None

    def wrote(self, draft: Draft, live: Precondition | None, now: float) -> None:
        """It stands. `live` names the version that can be updated; None when we did not learn it."""
        self._queue.done(draft.key)
        entry = self._drafted(draft)
        if entry is None:
            return
        self.counts.written += entry.sending - entry.written
        entry.written, entry.touched, entry.tries, entry.live = entry.sending, now, 0, live
        if live is None:
            self._drop(draft.key, Drop.UNREACHABLE)

    def vanished(self, draft: Draft, now: float) -> None:
        """The Event to be updated is gone or changed: what it lacks becomes a new one."""
        entry = self._drafted(draft)
        if entry is not None:
            entry.count, entry.written, entry.live = entry.count - entry.written, 0, None
            entry.first, entry.name = entry.last, self._name(entry.happening)
        self._queue.again(draft.key, now, 0.0)

    def missed(self, draft: Draft, now: float) -> None:
        """No telling whether it was written. Once more, at most three times in all."""
        entry = self._drafted(draft)
        if entry is not None:
            entry.tries += 1
        if entry is None or entry.tries >= _MOST_TRIES:
            self.refused(draft, Drop.UNREACHABLE)
        else:
            self._queue.again(draft.key, now, 0.0)

    def refused(self, draft: Draft, why: Drop = Drop.REFUSED) -> None:
        """It will never be written."""
        self._queue.done(draft.key)
        if self._drafted(draft) is not None:
            self._drop(draft.key, why)

    def _drafted(self, draft: Draft) -> _Entry | None:
        """What the draft was made from, unless it has been forgotten meanwhile."""
        entry = self._entries.get(draft.key)
        return entry if entry is not None and entry.name == draft.name else None

    def _open(self, key: Key, happening: Happening, now: float, moment: str) -> None:
        if self._bucket(key[0]).take(now) > 0.0:
            self.counts.dropped[Drop.TOO_MANY_FOR_ONE_OBJECT] += 1
            return
        if not self._queue.add(key, now):
            self.counts.dropped[Drop.TOO_MANY] += 1
            return
        name = self._name(happening)
        self._entries[key] = _Entry(happening, name, first=moment, last=moment, touched=now)
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

    def _request(self, entry: _Entry) -> Request:
        namespace = _namespace(entry.happening)
        if entry.live is None:
            return create(EVENT, self._event(entry), namespace, manager=self._reporter.controller)
        series = {"count": entry.count, "lastObservedTime": entry.last}
        return merge_patch(
            EVENT,
            entry.name,
            namespace,
            change={"series": series},
            only_if=entry.live,
            manager=self._reporter.controller,
        )

    def _event(self, entry: _Entry) -> Event:
        happening = entry.happening
        return Event(
            api_version=EVENT.api_version,
            kind=EVENT.kind,
            metadata=ObjectMeta(name=entry.name, namespace=_namespace(happening)),
            event_time=entry.first,
            type=happening.type,
            reason=happening.reason,
            action=happening.action,
            note=shorten(happening.note, LONGEST_NOTE_BYTES),
            regarding=happening.regarding,
            related=happening.related,
            reporting_controller=self._reporter.controller,
            reporting_instance=shorten(self._reporter.instance, LONGEST_INSTANCE_BYTES),
            series=EventSeries(count=entry.count, last_observed_time=entry.last) if entry.count > 1 else None,
        )

    def _name(self, happening: Happening) -> str:
        self._named += 1
        ending = f".{self._reporter.token}{self._named:x}"
        name = happening.regarding.name[: _LONGEST_NAME - len(ending)].rstrip("-.")
        return (name if _SUBDOMAIN.fullmatch(name) else "event") + ending


def shorten(text: str, most_bytes: int) -> str:
    """The text, or its beginning and an ellipsis, in at most so many bytes of UTF-8."""
    encoded = text.encode()
    if len(encoded) <= most_bytes:
        return text
    ellipsis = "…"
    return encoded[: most_bytes - len(ellipsis.encode())].decode(errors="ignore") + ellipsis


def _key(happening: Happening) -> Key:
    regarding = happening.regarding
    object_ = (
        regarding.uid or f"{regarding.api_version}/{regarding.kind}/{regarding.namespace}/{regarding.name}"
    )
    return (object_, happening.type, happening.reason, happening.action, happening.note)


def _namespace(happening: Happening) -> str:
    """Events about objects without a namespace live in this one; the API server takes no other."""
    return happening.regarding.namespace or "default"
