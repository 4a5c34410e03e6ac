"""Keeps a cache of one kind in sync by list and watch: a state machine without I/O.

`step(event, now)` takes the outcome of the one pending command and returns the next. Guarantees:

- the cache only holds what the server held at one version: a list is kept apart from the cache until it is
  complete, and is applied completely or not at all;
- an object deleted while no watch ran is reported as deleted, also when another object took its name;
- waits between requests bound the load on a server that fails in any way: at most 10 requests in 30 s (for a
  list of one page);
- `cache.last_contact` never claims more than was proven.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeAlias, TypeVar, assert_never

from nodemend.kube.client import PAGE_SIZE
from nodemend.kube.flowcontrol import Backoff
from nodemend.kube.outcome import DECODE_ERRORS, ApiResponse, Reply, Unanswered, Unsent, read_status
from nodemend.kube.ports import StreamEnded, StreamSilent
from nodemend.kube.request import EVERYTHING, Request, Selection, list_page, watch, watch_list
from nodemend.kube.store import Change, DecodedObject, Projection, Store, key_of
from nodemend.kube.watch_stream import (
    Bookmark,
    LineSplitter,
    LineTooLongError,
    ListPage,
    ProtocolError,
    UndecodableObject,
    WatchDecoder,
    WatchError,
    WatchEvent,
    WatchLine,
)

W = TypeVar("W", bound=DecodedObject)
R = TypeVar("R")


class ListCollector(Generic[W, R]):
    """The part of a list received so far. Records that did not change are the cache's own, not copies."""

    def __init__(self, projection: Projection[W, R], cache: Store[R]) -> None:
        self._projection = projection
        self._cache = cache
        self._pages = self._octets = 0
        self.records: dict[str, R] = {}
        self.unreadable: dict[str, str] = {}
        self.garbage = ""
        """The reason to discard the list; empty if it is usable."""

    def count_bytes(self, data: bytes, *, page: bool = True) -> bool:
        """Count these bytes, which are not decoded yet. True if the list is within its limits."""
        self._pages += page
        self._octets += len(data)
        limits = self._projection.limits
        for what, count, most in (
            ("objects", len(self.records) + len(self.unreadable), limits.objects),
            ("pages", self._pages, limits.pages),
            ("bytes", self._octets, limits.octets),
        ):
            if count > most:
                self.garbage = f"a list of more than {most} {what}"
        return not self.garbage

    def take_page(self, page: ListPage[W] | ProtocolError) -> None:
        if isinstance(page, ProtocolError):
            self.garbage = page.why
            return
        for wire in page.items:
            self._keep(wire)
        for item in page.unreadable:
            self.set_aside(item)

    def take_event(self, event: WatchEvent[W]) -> None:
        """Apply a change. Objects may change or be deleted while a streaming list is in progress."""
        if event.type == "DELETED":
            self.records.pop(key_of(event.object.metadata), None)
        else:
            self._keep(event.object)

    def set_aside(self, item: UndecodableObject) -> None:
        self.records.pop(item.key, None)
        self.unreadable[item.key] = item.why

    def _keep(self, wire: W) -> None:
        key = key_of(wire.metadata)
        try:
            self.records[key] = self._projection.project(wire, self._cache.get(key))
        except DECODE_ERRORS as error:
            self.set_aside(UndecodableObject(key, wire.metadata.resource_version, str(error)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorTimings:
    """Time limits of a reflector, in seconds."""

    page_within: float = 60.0
    open_within: float = 30.0
    # The server sends a bookmark each minute: a stream without a whole line for longer is dead.
    stall_limit: float = 75.0
    # A stream that lasted this long was no failure, and the back-off restarts.
    good_period: float = 30.0
    shortest_watch: float = 300.0
    longest_watch: float = 600.0
    longest_quiet: float = 120.0
    backoff: Backoff = field(default_factory=Backoff)

    def __post_init__(self) -> None:
        if self.good_period < self.backoff.most:
            raise ValueError(
                f"good_period {self.good_period} s is below the longest back-off {self.backoff.most} s: "
                "streams that always fail in between would be reopened without a pause, forever"
            )


# Commands. One at a time: the next follows only after the outcome of the last.


@dataclass(frozen=True, slots=True)
class SendPage:
    request: Request
    deadline: float


@dataclass(frozen=True, slots=True)
class OpenStream:
    request: Request
    deadline: float


@dataclass(frozen=True, slots=True)
class ReadStream:
    within: float


@dataclass(frozen=True, slots=True)
class CloseStream:
    pass


@dataclass(frozen=True, slots=True)
class Sleep:
    seconds: float


ReflectorCommand: TypeAlias = SendPage | OpenStream | ReadStream | CloseStream | Sleep


# Events. A Reply answers a page, or a stream that did not open; the others are here and in ports.


@dataclass(frozen=True, slots=True)
class StreamOpened:
    pass


@dataclass(frozen=True, slots=True)
class StreamClosed:
    pass


@dataclass(frozen=True, slots=True)
class SleepEnded:
    pass


ReflectorEvent: TypeAlias = (
    Reply | StreamOpened | bytes | StreamSilent | StreamEnded | StreamClosed | SleepEnded
)


# States.


@dataclass(frozen=True, slots=True)
class Relist:
    """Next: a complete list."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Next: the changes after this version."""

    version: str


@dataclass(frozen=True, slots=True)
class Paging(Generic[W, R]):
    """The page of `token` is next or in flight. `began_at` is the time of the first page's request.

    `unread` is the previous page, which is decoded while the server works on this one.
    """

    began_at: float
    gathering: ListCollector[W, R]
    token: str = ""
    unread: bytes = b""


@dataclass(frozen=True, slots=True)
class Opening:
    """A stream has been requested."""

    goal: Relist | Resume
    asked_at: float


@dataclass(slots=True)
class Filling(Generic[W, R]):
    """A streaming list is arriving."""

    asked_at: float
    gathering: ListCollector[W, R]
    last_line_at: float
    splitter: LineSplitter = field(default_factory=LineSplitter)


@dataclass(slots=True)
class Following:
    """Changes are arriving."""

    version: str
    opened_at: float
    last_line_at: float
    splitter: LineSplitter = field(default_factory=LineSplitter)
    heard: bool = False
    """True once a line has arrived."""


@dataclass(frozen=True, slots=True)
class Closing(Generic[W, R]):
    """The stream is being closed. Then the reflector waits and pursues `goal`."""

    seconds: float
    goal: Relist | Resume | Paging[W, R]


@dataclass(frozen=True, slots=True)
class WaitingToRetry(Generic[W, R]):
    goal: Relist | Resume | Paging[W, R]


Goal: TypeAlias = Relist | Resume | Paging[W, R]
ReflectorState: TypeAlias = (
    Paging[W, R] | Opening | Filling[W, R] | Following | Closing[W, R] | WaitingToRetry[W, R]
)


class RelistBackoff:
    """Counts the failures since the last good period."""

    def __init__(self, backoff: Backoff, longest_quiet: float, chance: Callable[[], float]) -> None:
        self._backoff = backoff
        self._longest_quiet = longest_quiet
        self._chance = chance
        self._failures = 0

    def fail(self, *, relists: bool, quiet: float | None = None) -> float:
        """Seconds to wait after a failure. `quiet` is the wait that the server requested.

        A list is a request too: a failure that requires a relist counts twice. Otherwise every round would
        cost the server two requests at the price of one.
        """
        self._failures += 1
        delay = self._backoff.delay(self._failures, self._chance())
        if relists:
            self._failures += 1
        asked = min(quiet or 0.0, self._longest_quiet)
        return max(delay, asked * (1.0 + 0.1 * self._chance()))

    def recover(self) -> None:
        self._failures = 0


# A server without streaming lists refuses one with 422, naming the feature gate, or in some cases with 400.
_NO_STREAMING_LIST = frozenset({400, 422})
# A server that does not have the named version or page (any longer) answers with one of these.
_NO_SUCH_VERSION = frozenset({400, 410, 422})
_UNFINISHED_BEFORE_PAGES = 2
_SILENT_BEFORE_RELIST = 2


@dataclass(frozen=True, slots=True)
class ReflectorStep(Generic[R]):
    """The next command, and the changes that the event made in the cache."""

    command: ReflectorCommand
    changes: list[Change[R]]


class Reflector(Generic[W, R]):
    """`chance` returns numbers in [0, 1). `streaming` overrides the projection's setting."""

    def __init__(
        self,
        projection: Projection[W, R],
        *,
        chance: Callable[[], float],
        of: Selection = EVERYTHING,
        timings: ReflectorTimings = ReflectorTimings(),  # noqa: B008 - frozen
        streaming: bool | None = None,
        page_size: int = PAGE_SIZE,
    ) -> None:
        self.cache: Store[R] = Store(projection.uid_of)
        self.failure = ""
        """The last failure, for people; "" once changes arrive again."""
        self.unreadable: dict[str, str] = {}
        """Objects that their type cannot decode, by key, with the reason. They are not in the cache."""
        self._projection = projection
        self._decoder = WatchDecoder(projection.wire)
        self._of = of
        self._timings = timings
        self._chance = chance
        self._pace = RelistBackoff(timings.backoff, timings.longest_quiet, chance)
        self._streaming = projection.streamed if streaming is None else streaming
        self._page_size = page_size
        self._unfinished_lists = 0
        self._silent_streams = 0
        self._state: ReflectorState[W, R] = WaitingToRetry(Relist())

    def start(self, now: float) -> ReflectorCommand:
        """The first command. A stopped reflector can be started again: it relists and keeps its cache."""
        self.failure = ""
        return self._pursue(Relist(), now)

    def step(self, event: ReflectorEvent, now: float) -> ReflectorStep[R]:
        """Take the outcome of the pending command; return the next one."""
        changes: list[Change[R]] = []
        command = self._next(event, now, changes)
        if self.failure:
            self.cache.troubled_at = now
        return ReflectorStep(command, changes)

    def _next(self, event: ReflectorEvent, now: float, changes: list[Change[R]]) -> ReflectorCommand:
        match self._state, event:
            case Following() as state, bytes() as data:
                return self._apply(state, self._lines(state, data), now, changes)
            case Filling() as state, bytes() as data:
                return self._fill(state, data, now, changes)
            case Paging(), (ApiResponse() | Unsent() | Unanswered()) as reply:
                return self._take_page(reply, now, changes)
            case Opening() as state, StreamOpened():
                return self._begin_reading(state, now)
            case Opening(goal), (ApiResponse() | Unsent() | Unanswered()) as reply:
                return self._retry_opening(goal, reply, now)
            case (Filling() | Following()) as state, StreamSilent():
                return self._leave_silence(state, now)
            case (Filling() | Following()) as state, StreamEnded() as ended:
                return self._leave_ended(state, ended, now)
            case Closing(seconds, goal), StreamClosed():
                self._state = WaitingToRetry(goal)
                return Sleep(seconds)
            case WaitingToRetry(goal), SleepEnded():
                return self._pursue(goal, now)
            case state, _:
                raise RuntimeError(f"{type(event).__name__} is no outcome of {type(state).__name__}")

    # Requests.

    def _pursue(self, goal: Goal[W, R], now: float) -> ReflectorCommand:
        match goal:
            case Relist() if self._streaming:
                request = watch_list(self._projection.resource, self._of, seconds=self._watch_seconds())
            case Relist():
                return self._ask_page(Paging(now, ListCollector(self._projection, self.cache)), now)
            case Paging():
                return self._ask_page(goal, now)
            case Resume(version):
                seconds = self._watch_seconds()
                request = watch(self._projection.resource, self._of, version=version, seconds=seconds)
            case _:
                assert_never(goal)
        self._state = Opening(goal, now)
        return OpenStream(request, now + self._timings.open_within)

    def _ask_page(self, state: Paging[W, R], now: float) -> ReflectorCommand:
        self._state = state
        request = list_page(self._projection.resource, self._of, limit=self._page_size, token=state.token)
        return SendPage(request, now + self._timings.page_within)

    def _watch_seconds(self) -> int:
        shortest, longest = self._timings.shortest_watch, self._timings.longest_watch
        return max(int(shortest + (longest - shortest) * self._chance()), 1)

    # Listing.

    @property
    def is_behind(self) -> bool:
        """True if a received page waits to be decoded while the next one is in flight."""
        return isinstance(self._state, Paging) and bool(self._state.unread)

    def catch_up(self) -> None:
        """Decode that page. The caller may do so during the next request; otherwise `step` does it."""
        if isinstance(self._state, Paging) and self._state.unread:
            self._state.gathering.take_page(self._decoder.page(self._state.unread))
            self._state = replace(self._state, unread=b"")

    def _take_page(self, reply: Reply, now: float, changes: list[Change[R]]) -> ReflectorCommand:
        self.catch_up()
        state = self._state
        assert isinstance(state, Paging)  # noqa: S101 - only called in this state
        if state.gathering.garbage:
            return self._wait(state.gathering.garbage, Relist())
        if not isinstance(reply, ApiResponse):
            return self._wait(reply.why, state)
        if reply.status != 200:
            goal = Relist() if reply.status in _NO_SUCH_VERSION else state
            return self._wait(_explain(reply), goal, reply.retry_after)
        if not state.gathering.count_bytes(reply.body):
            return self._wait(state.gathering.garbage, Relist())
        if token := self._decoder.next_page(reply.body):
            return self._ask_page(Paging(state.began_at, state.gathering, token, reply.body), now)
        page = self._decoder.page(reply.body)
        if isinstance(page, ProtocolError):
            return self._wait(page.why, state)
        state.gathering.take_page(page)
        if page.metadata.continue_:
            return self._ask_page(Paging(state.began_at, state.gathering, page.metadata.continue_), now)
        self._adopt(state.gathering, state.began_at, now, changes)
        return self._pursue(Resume(page.metadata.resource_version), now)

    def _fill(
        self, state: Filling[W, R], data: bytes, now: float, changes: list[Change[R]]
    ) -> ReflectorCommand:
        if not state.gathering.count_bytes(data, page=False):
            return self._leave(state, ProtocolError(state.gathering.garbage), now)
        lines = self._lines(state, data)
        for place, line in enumerate(lines):
            match line:
                case WatchEvent():
                    state.gathering.take_event(line)
                case UndecodableObject():
                    state.gathering.set_aside(line)
                case Bookmark(version, ends_list):
                    if ends_list:
                        self._adopt(state.gathering, state.asked_at, now, changes)
                        following = self._state = Following(version, now, now, state.splitter)
                        return self._apply(following, lines[place:], now, changes)
                case WatchError() | ProtocolError():
                    return self._leave(state, line, now)
                case _:
                    assert_never(line)
            state.last_line_at = now
        return self._read_on(state, now)

    def _adopt(
        self, gathering: ListCollector[W, R], true_at: float, now: float, changes: list[Change[R]]
    ) -> None:
        """Apply a complete list to the cache. It is as fresh as the time at which it was requested."""
        self.cache.replace(gathering.records, changes)
        self.cache.synced_at = now
        self.cache.last_contact = max(true_at, self.cache.last_contact or true_at)
        self.unreadable = gathering.unreadable
        self._unfinished_lists = 0
        self._silent_streams = 0

    # Watching.

    def _begin_reading(self, state: Opening, now: float) -> ReflectorCommand:
        match state.goal:
            case Relist():
                gathering = ListCollector(self._projection, self.cache)
                self._state = Filling(state.asked_at, gathering, last_line_at=now)
            case Resume(version):
                self._state = Following(version, opened_at=now, last_line_at=now)
            case _:
                assert_never(state.goal)
        return ReadStream(self._timings.stall_limit)

    def _lines(self, state: Filling[W, R] | Following, data: bytes) -> Sequence[WatchLine[W]]:
        if len(self.cache) + len(self.unreadable) > self._projection.limits.objects:
            return [ProtocolError("more objects than a list may have")]
        try:
            blocks = state.splitter.feed(data)
        except LineTooLongError as error:
            return [ProtocolError(str(error))]
        lines: list[WatchLine[W]] = []
        for block in blocks:
            lines += self._decoder.lines(block)
            if lines and isinstance(lines[-1], ProtocolError):
                break
        return lines

    def _apply(
        self, state: Following, lines: Sequence[WatchLine[W]], now: float, changes: list[Change[R]]
    ) -> ReflectorCommand:
        cache, project = self.cache, self._projection.project
        for line in lines:
            if isinstance(line, WatchEvent):
                metadata = line.object.metadata
                key = key_of(metadata) if metadata.namespace else metadata.name
                if self.unreadable:
                    self.unreadable.pop(key, None)
                if line.type == "DELETED":
                    cache.drop(key, changes)
                else:
                    old = cache.get(key)
                    try:
                        record = project(line.object, old)
                    except DECODE_ERRORS as error:
                        self._set_aside(key, str(error), changes)
                    else:
                        if record is not old:
                            cache.put(key, record, changes)
                state.version = metadata.resource_version or state.version
            elif isinstance(line, Bookmark):
                state.version = line.version or state.version
            elif isinstance(line, UndecodableObject):
                self._set_aside(line.key, line.why, changes)
                state.version = line.version or state.version
            else:
                return self._leave(state, line, now)
            state.heard = True
        if lines:
            state.last_line_at = cache.last_contact = now
            self.failure = ""
        return self._read_on(state, now)

    def _set_aside(self, key: str, why: str, changes: list[Change[R]]) -> None:
        self.cache.drop(key, changes)
        self.unreadable[key] = why

    def _read_on(self, state: Filling[W, R] | Following, now: float) -> ReflectorCommand:
        """Partial lines do not count as activity: the stall limit runs from the last whole line."""
        return ReadStream(max(state.last_line_at + self._timings.stall_limit - now, 0.0))

    # Leaving a stream.

    def _leave(
        self, state: Filling[W, R] | Following, last: WatchError | ProtocolError, now: float
    ) -> ReflectorCommand:
        """The server ended the watch, or sent data that is not a watch line."""
        match last:
            case ProtocolError(why):
                return self._close(state, why, now)
            case WatchError(status):
                why = f"the watch ended with {status.code} {status.reason}: {status.message}"
                expired = status.code in _NO_SUCH_VERSION
                return self._close(state, why, now, expired=expired, quiet=status.retry_after)
            case _:
                assert_never(last)

    def _leave_silence(self, state: Filling[W, R] | Following, now: float) -> ReflectorCommand:
        why = f"no line in {now - state.last_line_at:.0f} s"
        if isinstance(state, Filling):
            return self._close(state, why, now)
        # For a kind without a change since the server started, the server sends no bookmarks for two minutes,
        # or for as long as its store sends no progress by itself. A list that fits on one page is simply
        # requested again: so the cache is known to be current before it is too old to act on.
        if len(self.cache) < self._page_size:
            return self._close(state, why, now, expired=True)
        if state.heard:
            return self._close(state, why, now)
        # Two streams without a single line, not even a bookmark: the server may not know the version (its
        # store was restored to an older one) and may wait for it forever.
        self._silent_streams += 1
        return self._close(state, why, now, expired=self._silent_streams >= _SILENT_BEFORE_RELIST)

    def _leave_ended(
        self, state: Filling[W, R] | Following, ended: StreamEnded, now: float
    ) -> ReflectorCommand:
        """The stream ended, and the reflector loop has already closed it."""
        goal = self._goal_after(state, expired=False)
        if isinstance(state, Following) and self._lived_well(state, now):
            self._pace.recover()
            if ended.clean:
                return self._pursue(goal, now)
        return self._wait(ended.why, goal)

    def _close(
        self,
        state: Filling[W, R] | Following,
        why: str,
        now: float,
        *,
        expired: bool = False,
        quiet: float | None = None,
    ) -> ReflectorCommand:
        if isinstance(state, Following) and self._lived_well(state, now):
            self._pace.recover()
        goal = self._goal_after(state, expired=expired)
        self.failure = why
        self._state = Closing(self._pace.fail(relists=isinstance(goal, Relist), quiet=quiet), goal)
        return CloseStream()

    def _goal_after(self, state: Filling[W, R] | Following, *, expired: bool) -> Relist | Resume:
        if isinstance(state, Following):
            return Relist() if expired else Resume(state.version)
        self._unfinished_lists += 1
        if self._unfinished_lists >= _UNFINISHED_BEFORE_PAGES:
            # Something on the network path blocks streaming lists. Pages always work; use them from now on.
            self._streaming = False
        return Relist()

    def _lived_well(self, state: Following, now: float) -> bool:
        return now - state.opened_at >= self._timings.good_period

    # Failures.

    def _retry_opening(self, goal: Relist | Resume, reply: Reply, now: float) -> ReflectorCommand:
        if not isinstance(reply, ApiResponse):
            return self._wait(reply.why, goal)
        if isinstance(goal, Relist) and reply.status in _NO_STREAMING_LIST:
            self._streaming = False
            return self._pursue(goal, now)
        expired = isinstance(goal, Resume) and reply.status in _NO_SUCH_VERSION
        return self._wait(_explain(reply), Relist() if expired else goal, reply.retry_after)

    def _wait(self, why: str, goal: Goal[W, R], quiet: float | None = None) -> ReflectorCommand:
        self.failure = why
        self._state = WaitingToRetry(goal)
        return Sleep(self._pace.fail(relists=isinstance(goal, Relist), quiet=quiet))


def _explain(answer: ApiResponse) -> str:
    return f"the server answered {answer.status}: {read_status(answer.body).message}"
