"""Writes events beside the work: recording never waits, and a failing API server costs only events."""

from typing import Final, assert_never

import msgspec

from nodemend.api.object_meta import ObjectMeta
from nodemend.kube.api_outcome import Ok, Reason, Refused, Undecodable, Unknown, WriteOutcome, judge_write
from nodemend.kube.api_reply import Unsent
from nodemend.kube.api_request import Precondition
from nodemend.kube.backoff import Backoff
from nodemend.kube.event_book import Draft, EventBook, EventCounts, EventLimits, Happening, Reporter
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.rate_limit import TokenBucket

REQUEST_SECONDS: Final = 5.0
_PAUSE: Final = Backoff(first=1.0, most=60.0, spread=0.5)


class _Written(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


class EventRecorder:
    """`record` from anywhere; one `run`, until it is cancelled."""

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
        self._book = EventBook(Reporter(controller, instance, token), limits)
        self._overall = TokenBucket(limits.overall)
        self._failures = 0
        self._wake = runtime.signal()

    @property
    def counts(self) -> EventCounts:
        return self._book.counts

    def record(self, happening: Happening) -> None:
        self._book.note(happening, self._runtime.monotonic(), self._runtime.wall())
        self._wake.set()

    async def run(self) -> None:
        while True:
            draft = self._book.take(self._runtime.monotonic())
            if draft is None:
                await self._wake.wait(self._seconds_to_next())
                continue
            while wait := self._overall.take(self._runtime.monotonic()):
                await self._runtime.sleep(wait)
            deadline = self._runtime.monotonic() + REQUEST_SECONDS
            outcome = judge_write(await self._transport.send(draft.request, deadline), _Written)
            await self._pause(self._settle(draft, outcome))

    def _seconds_to_next(self) -> float | None:
        due = self._book.next_due()
        return None if due is None else max(due - self._runtime.monotonic(), 0.0)

    def _settle(self, draft: Draft, outcome: WriteOutcome[_Written]) -> float:
        """Tell the book. Returns the seconds for which the server wants to be left alone."""
        now = self._runtime.monotonic()
        match outcome:
            case Ok(written):
                meta = written.metadata
                self._book.wrote(draft, Precondition(meta.uid, meta.resource_version), now)
                self._failures = 0
                return 0.0
            case Undecodable() | Refused(Reason.ALREADY_EXISTS):
                # An earlier try had been applied after all.
                self._book.wrote(draft, None, now)
                return 0.0
            case Refused(Reason.NOT_FOUND | Reason.CONFLICT) if draft.updates:
                self._book.vanished(draft, now)
                return 0.0
            case Refused(Reason.THROTTLED, _, retry_after):
                self._book.missed(draft, now)
                return self._back_off(retry_after or 0.0)
            case Refused():
                self._book.refused(draft)
                return 0.0
            case Unsent() | Unknown():
                self._book.missed(draft, now)
                return self._back_off(0.0)
            case _:
                assert_never(outcome)

    def _back_off(self, at_least: float) -> float:
        self._failures += 1
        return max(at_least, _PAUSE.delay(self._failures, self._runtime.random()))

    async def _pause(self, seconds: float) -> None:
        if seconds > 0.0:
            await self._runtime.sleep(seconds)
