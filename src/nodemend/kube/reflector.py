"""Keeps a cache of one kind true by list and watch: an explicit machine that does no I/O.

`step(event, now)` takes the outcome of the one command that is out and gives the next. What it promises:

- the cache only ever holds what the server held at one version: lists are taken whole or not at all;
- an object deleted while we were away is reported as deleted, also when another took its name;
- against a server that fails in whatever way, at most 10 requests in 30 s (for a list of one page);
- `cache.last_contact` never claims more than was proven.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, assert_never

from nodemend.kube.api_outcome import read_status
from nodemend.kube.api_reply import Answer, Reply, Unanswered, Unsent
from nodemend.kube.api_request import EVERYTHING, Selection, list_page, watch, watch_list
from nodemend.kube.gathering import Gathering
from nodemend.kube.json_decoding import UNREADABLE
from nodemend.kube.line_splitter import LineTooLongError
from nodemend.kube.object_cache import Change, ObjectCache
from nodemend.kube.paged_list import PAGE_SIZE
from nodemend.kube.ports import StreamEnded, StreamSilent
from nodemend.kube.projection import Projection, Wire, key_of
from nodemend.kube.reflector_steps import (
    Closed,
    CloseStream,
    Closing,
    Command,
    Event,
    Filling,
    Following,
    Goal,
    Opened,
    Opening,
    OpenStream,
    Paging,
    ReadStream,
    ReflectorTimings,
    Relist,
    Resume,
    SendPage,
    Sleep,
    Slept,
    State,
    Waiting,
)
from nodemend.kube.retry_pace import RetryPace
from nodemend.kube.watch_lines import (
    Bookmark,
    Garbage,
    Unreadable,
    WatchDecoder,
    WatchError,
    WatchEvent,
    WatchLine,
)

W = TypeVar("W", bound=Wire)
R = TypeVar("R")

# How a server without streaming lists refuses one: 422, naming the feature gate; 400 by some in between.
_NO_STREAMING_LIST = frozenset({400, 422})
# How a server says that it no longer has, or never had, the version or the page that we named.
_NO_SUCH_VERSION = frozenset({400, 410, 422})
_UNFINISHED_BEFORE_PAGES = 2
_SILENT_BEFORE_RELIST = 2


@dataclass(frozen=True, slots=True)
class Step(Generic[R]):
    """What to do next, and what the event changed in the cache."""

    command: Command
    changes: list[Change[R]]


class Reflector(Generic[W, R]):
    """The machine. `chance` gives numbers in [0, 1). `streaming` overrides what the projection says."""

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
        self.cache: ObjectCache[R] = ObjectCache(projection.uid_of)
        self.trouble = ""
        """What went wrong last; "" once changes flow again. For people."""
        self.unreadable: dict[str, str] = {}
        """Objects that are not as their type says, by key, with why. They are not in the cache."""
        self._projection = projection
        self._decoder = WatchDecoder(projection.wire)
        self._of = of
        self._timings = timings
        self._chance = chance
        self._pace = RetryPace(timings.backoff, timings.longest_quiet, chance)
        self._streaming = projection.streamed if streaming is None else streaming
        self._page_size = page_size
        self._unfinished_lists = 0
        self._silent_streams = 0
        self._state: State[W, R] = Waiting(Relist())

    def start(self, now: float) -> Command:
        """The first command. After it was stopped, it may be started anew: it lists, and keeps its cache."""
        self.trouble = ""
        return self._pursue(Relist(), now)

    def step(self, event: Event, now: float) -> Step[R]:
        """Take the outcome of the command that was out; give the next."""
        changes: list[Change[R]] = []
        command = self._next(event, now, changes)
        if self.trouble:
            self.cache.troubled_at = now
        return Step(command, changes)

    def _next(self, event: Event, now: float, changes: list[Change[R]]) -> Command:
        match self._state, event:
            case Following() as state, bytes() as data:
                return self._apply(state, self._lines(state, data), now, changes)
            case Filling() as state, bytes() as data:
                return self._fill(state, data, now, changes)
            case Paging(), (Answer() | Unsent() | Unanswered()) as reply:
                return self._take_page(reply, now, changes)
            case Opening() as state, Opened():
                return self._begin_reading(state, now)
            case Opening(goal), (Answer() | Unsent() | Unanswered()) as reply:
                return self._retry_opening(goal, reply, now)
            case (Filling() | Following()) as state, StreamSilent():
                return self._leave_silence(state, now)
            case (Filling() | Following()) as state, StreamEnded() as ended:
                return self._leave_ended(state, ended, now)
            case Closing(seconds, goal), Closed():
                self._state = Waiting(goal)
                return Sleep(seconds)
            case Waiting(goal), Slept():
                return self._pursue(goal, now)
            case state, _:
                raise RuntimeError(f"{type(event).__name__} is no outcome of {type(state).__name__}")

    # Asking.

    def _pursue(self, goal: Goal[W, R], now: float) -> Command:
        match goal:
            case Relist() if self._streaming:
                request = watch_list(self._projection.resource, self._of, seconds=self._watch_seconds())
            case Relist():
                return self._ask_page(Paging(now, Gathering(self._projection, self.cache)), now)
            case Paging():
                return self._ask_page(goal, now)
            case Resume(version):
                seconds = self._watch_seconds()
                request = watch(self._projection.resource, self._of, version=version, seconds=seconds)
            case _:
                assert_never(goal)
        self._state = Opening(goal, now)
        return OpenStream(request, now + self._timings.open_within)

    def _ask_page(self, state: Paging[W, R], now: float) -> Command:
        self._state = state
        request = list_page(self._projection.resource, self._of, limit=self._page_size, token=state.token)
        return SendPage(request, now + self._timings.page_within)

    def _watch_seconds(self) -> int:
        shortest, longest = self._timings.shortest_watch, self._timings.longest_watch
        return max(int(shortest + (longest - shortest) * self._chance()), 1)

    # Listing.

    @property
    def is_behind(self) -> bool:
        """Whether a page waits to be read while the next one is out."""
        return isinstance(self._state, Paging) and bool(self._state.unread)

    def catch_up(self) -> None:
        """Read it. For whoever performs the command to do meanwhile; `step` does it if nobody did."""
        if isinstance(self._state, Paging) and self._state.unread:
            self._state.gathering.take_page(self._decoder.page(self._state.unread))
            self._state = replace(self._state, unread=b"")

    def _take_page(self, reply: Reply, now: float, changes: list[Change[R]]) -> Command:
        self.catch_up()
        state = self._state
        assert isinstance(state, Paging)  # noqa: S101 - only called in this state
        if state.gathering.garbage:
            return self._wait(state.gathering.garbage, Relist())
        if not isinstance(reply, Answer):
            return self._wait(reply.why, state)
        if reply.status != 200:
            goal = Relist() if reply.status in _NO_SUCH_VERSION else state
            return self._wait(_explain(reply), goal, reply.retry_after)
        if not state.gathering.weigh(reply.body):
            return self._wait(state.gathering.garbage, Relist())
        if token := self._decoder.next_page(reply.body):
            return self._ask_page(Paging(state.began_at, state.gathering, token, reply.body), now)
        page = self._decoder.page(reply.body)
        if isinstance(page, Garbage):
            return self._wait(page.why, state)
        state.gathering.take_page(page)
        if page.metadata.continue_:
            return self._ask_page(Paging(state.began_at, state.gathering, page.metadata.continue_), now)
        self._adopt(state.gathering, state.began_at, now, changes)
        return self._pursue(Resume(page.metadata.resource_version), now)

    def _fill(self, state: Filling[W, R], data: bytes, now: float, changes: list[Change[R]]) -> Command:
        if not state.gathering.weigh(data, page=False):
            return self._leave(state, Garbage(state.gathering.garbage), now)
        lines = self._lines(state, data)
        for place, line in enumerate(lines):
            match line:
                case WatchEvent():
                    state.gathering.take_event(line)
                case Unreadable():
                    state.gathering.set_aside(line)
                case Bookmark(version, ends_list):
                    if ends_list:
                        self._adopt(state.gathering, state.asked_at, now, changes)
                        following = self._state = Following(version, now, now, state.splitter)
                        return self._apply(following, lines[place:], now, changes)
                case WatchError() | Garbage():
                    return self._leave(state, line, now)
                case _:
                    assert_never(line)
            state.last_line_at = now
        return self._read_on(state, now)

    def _adopt(
        self, gathering: Gathering[W, R], true_at: float, now: float, changes: list[Change[R]]
    ) -> None:
        """The list is complete: become it. It is as true as the moment at which it was asked for."""
        self.cache.replace(gathering.records, changes)
        self.cache.synced_at = now
        self.cache.last_contact = max(true_at, self.cache.last_contact or true_at)
        self.unreadable = gathering.unreadable
        self._unfinished_lists = 0
        self._silent_streams = 0

    # Watching.

    def _begin_reading(self, state: Opening, now: float) -> Command:
        match state.goal:
            case Relist():
                gathering = Gathering(self._projection, self.cache)
                self._state = Filling(state.asked_at, gathering, last_line_at=now)
            case Resume(version):
                self._state = Following(version, opened_at=now, last_line_at=now)
            case _:
                assert_never(state.goal)
        return ReadStream(self._timings.stall_limit)

    def _lines(self, state: Filling[W, R] | Following, data: bytes) -> Sequence[WatchLine[W]]:
        if len(self.cache) + len(self.unreadable) > self._projection.limits.objects:
            return [Garbage("more objects than a list may have")]
        try:
            blocks = state.splitter.feed(data)
        except LineTooLongError as error:
            return [Garbage(str(error))]
        lines: list[WatchLine[W]] = []
        for block in blocks:
            lines += self._decoder.lines(block)
            if lines and isinstance(lines[-1], Garbage):
                break
        return lines

    def _apply(
        self, state: Following, lines: Sequence[WatchLine[W]], now: float, changes: list[Change[R]]
    ) -> Command:
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
                    except UNREADABLE as error:
                        self._set_aside(key, str(error), changes)
                    else:
                        if record is not old:
                            cache.put(key, record, changes)
                state.version = metadata.resource_version or state.version
            elif isinstance(line, Bookmark):
                state.version = line.version or state.version
            elif isinstance(line, Unreadable):
                self._set_aside(line.key, line.why, changes)
                state.version = line.version or state.version
            else:
                return self._leave(state, line, now)
            state.heard = True
        if lines:
            state.last_line_at = cache.last_contact = now
            self.trouble = ""
        return self._read_on(state, now)

    def _set_aside(self, key: str, why: str, changes: list[Change[R]]) -> None:
        self.cache.drop(key, changes)
        self.unreadable[key] = why

    def _read_on(self, state: Filling[W, R] | Following, now: float) -> Command:
        """Bytes that complete no line are no sign of life: the limit runs from the last whole line."""
        return ReadStream(max(state.last_line_at + self._timings.stall_limit - now, 0.0))

    # Leaving a stream.

    def _leave(self, state: Filling[W, R] | Following, last: WatchError | Garbage, now: float) -> Command:
        """The stream said that it is over, or what it said means nothing."""
        match last:
            case Garbage(why):
                return self._close(state, why, now)
            case WatchError(status):
                why = f"the watch ended with {status.code} {status.reason}: {status.message}"
                expired = status.code in _NO_SUCH_VERSION
                return self._close(state, why, now, expired=expired, quiet=status.retry_after)
            case _:
                assert_never(last)

    def _leave_silence(self, state: Filling[W, R] | Following, now: float) -> Command:
        why = f"no line in {now - state.last_line_at:.0f} s"
        if isinstance(state, Filling):
            return self._close(state, why, now)
        # Of a kind of which nothing has happened since it was started, a server sends no bookmarks for two
        # minutes, or for as long as its store does not speak by itself. What fits on a page is simply asked
        # for again: then we know, before our view is too old to act upon.
        if len(self.cache) < self._page_size:
            return self._close(state, why, now, expired=True)
        if state.heard:
            return self._close(state, why, now)
        # Twice not one line, not even a bookmark: the server may not know our version (its store was put
        # back to an older one) and wait for it for ever.
        self._silent_streams += 1
        return self._close(state, why, now, expired=self._silent_streams >= _SILENT_BEFORE_RELIST)

    def _leave_ended(self, state: Filling[W, R] | Following, ended: StreamEnded, now: float) -> Command:
        """The loop has already closed it."""
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
    ) -> Command:
        if isinstance(state, Following) and self._lived_well(state, now):
            self._pace.recover()
        goal = self._goal_after(state, expired=expired)
        self.trouble = why
        self._state = Closing(self._pace.fail(relists=isinstance(goal, Relist), quiet=quiet), goal)
        return CloseStream()

    def _goal_after(self, state: Filling[W, R] | Following, *, expired: bool) -> Relist | Resume:
        if isinstance(state, Following):
            return Relist() if expired else Resume(state.version)
        self._unfinished_lists += 1
        if self._unfinished_lists >= _UNFINISHED_BEFORE_PAGES:
            # Something on the way does not let them through. Pages always work, and are remembered.
            self._streaming = False
        return Relist()

    def _lived_well(self, state: Following, now: float) -> bool:
        return now - state.opened_at >= self._timings.good_period

    # Failing.

    def _retry_opening(self, goal: Relist | Resume, reply: Reply, now: float) -> Command:
        if not isinstance(reply, Answer):
            return self._wait(reply.why, goal)
        if isinstance(goal, Relist) and reply.status in _NO_STREAMING_LIST:
            self._streaming = False
            return self._pursue(goal, now)
        expired = isinstance(goal, Resume) and reply.status in _NO_SUCH_VERSION
        return self._wait(_explain(reply), Relist() if expired else goal, reply.retry_after)

    def _wait(self, why: str, goal: Goal[W, R], quiet: float | None = None) -> Command:
        self.trouble = why
        self._state = Waiting(goal)
        return Sleep(self._pace.fail(relists=isinstance(goal, Relist), quiet=quiet))


def _explain(answer: Answer) -> str:
    return f"the server answered {answer.status}: {read_status(answer.body).message}"
