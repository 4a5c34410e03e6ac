"""The list-and-watch state machine against hand-written bytes: no network, no clock."""

from collections.abc import Callable

import msgspec
import pytest

from nodemend.api.meta import ObjectMeta, Wire
from nodemend.api.resources import NODE
from nodemend.kube.client import PAGE_SIZE
from nodemend.kube.outcome import ApiResponse, Reply, Unanswered
from nodemend.kube.ports import StreamEnded, StreamSilent
from nodemend.kube.reflector import (
    CloseStream,
    OpenStream,
    ReadStream,
    Reflector,
    ReflectorCommand,
    ReflectorEvent,
    SendPage,
    Sleep,
    SleepEnded,
    StreamClosed,
    StreamOpened,
)
from nodemend.kube.store import whole


class Thing(Wire):
    metadata: ObjectMeta
    size: int = 0


def thing(name: str, version: int, uid: str = "", size: int = 0) -> dict[str, object]:
    metadata = {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, "size": size}


def line(kind: str, object_: object) -> bytes:
    return msgspec.json.encode({"type": kind, "object": object_}) + b"\n"


def bookmark(version: int, *, ends_list: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if ends_list else {}
    return line("BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": annotations}})


def page(*items: object, version: int, follow: str = "") -> ApiResponse:
    metadata = {"resourceVersion": str(version), "continue": follow}
    return ApiResponse(200, msgspec.json.encode({"metadata": metadata, "items": items}))


def failure(code: int, message: str = "no", retry_after: float | None = None) -> ApiResponse:
    return ApiResponse(code, msgspec.json.encode({"code": code, "message": message}), retry_after)


EXPIRED = line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
ENDED = StreamEnded(clean=True, why="closed")
CUT = StreamEnded(clean=False, why="reset")
NO_STREAMING = failure(422, "sendInitialEvents is forbidden")


class Story:
    """A reflector, the changes that it reported, and its next command."""

    def __init__(
        self, *, streaming: bool = True, chance: Callable[[], float] = lambda: 0.0, page_size: int = PAGE_SIZE
    ) -> None:
        self.now = 1000.0
        self.reflector = Reflector(
            whole(NODE, Thing), chance=chance, streaming=streaming, page_size=page_size
        )
        self.changes: list[str] = []
        self.command: ReflectorCommand = self.reflector.start(self.now)

    def tell(self, *events: ReflectorEvent, after: float = 0.0) -> "Story":
        for event in events:
            self.now += after
            step = self.reflector.step(event, self.now)
            self.command = step.command
            for change in step.changes:
                old, new = change.old, change.new
                before = f"{old.metadata.uid}:{old.size}" if old else "-"
                after_ = f"{new.metadata.uid}:{new.size}" if new else "-"
                self.changes.append(f"{change.key} {before} > {after_}")
        return self

    @property
    def next(self) -> str:
        """The command, as text."""
        match self.command:
            case SendPage(request):
                return f"page {dict(request.query).get('continue', '')}".strip()
            case OpenStream(request):
                query = dict(request.query)
                return "stream list" if "sendInitialEvents" in query else f"watch {query['resourceVersion']}"
            case ReadStream(within):
                return f"read {within:g}"
            case CloseStream():
                return "close"
            case Sleep(seconds):
                return f"sleep {seconds:g}"

    @property
    def synced_at(self) -> float | None:
        return self.reflector.cache.synced_at

    @property
    def cached(self) -> dict[str, int]:
        return {record.metadata.name: record.size for record in self.reflector.cache.all()}


def following(*items: object, version: int = 10, page_size: int = PAGE_SIZE) -> Story:
    """A reflector that has listed these objects and reads the watch from there."""
    story = Story(streaming=False, page_size=page_size).tell(page(*items, version=version), StreamOpened())
    story.changes.clear()
    return story


# Listing.


def test_a_streaming_list_is_taken_at_its_mark_and_then_followed() -> None:
    story = Story()
    assert story.next == "stream list"

    story.tell(StreamOpened(), line("ADDED", thing("a", 1)), line("ADDED", thing("b", 2)))
    assert (story.cached, story.synced_at) == ({}, None)

    story.tell(bookmark(7, ends_list=True) + line("MODIFIED", thing("a", 8, size=5)), after=2.0)
    assert story.cached == {"a": 5, "b": 0}
    assert story.changes == ["a - > uid-a:0", "b - > uid-b:0", "a uid-a:0 > uid-a:5"]
    assert story.synced_at == 1002.0
    assert story.next == "read 75"


def test_objects_that_change_and_go_while_a_streaming_list_comes_in_are_as_they_are_at_its_mark() -> None:
    story = Story().tell(
        StreamOpened(),
        line("ADDED", thing("a", 1)) + line("ADDED", thing("b", 2)),
        line("MODIFIED", thing("a", 3, size=4)) + line("DELETED", thing("b", 4)),
        bookmark(3),
        bookmark(5, ends_list=True),
    )

    assert story.changes == ["a - > uid-a:4"]


def test_a_server_without_streaming_lists_gets_paged_lists_from_then_on() -> None:
    story = Story().tell(NO_STREAMING)
    assert story.next == "page"

    story.tell(page(thing("a", 1), version=3), failure(410))
    assert story.next.startswith("sleep")
    story.tell(SleepEnded())
    assert story.next == "page"


def test_pages_are_gathered_and_taken_as_one() -> None:
    story = Story(streaming=False).tell(page(thing("a", 1), version=9, follow="t1"))
    assert (story.next, story.cached) == ("page t1", {})

    story.tell(page(thing("b", 2), version=9))
    assert (story.next, story.cached) == ("watch 9", {"a": 0, "b": 0})


def test_a_page_is_read_while_the_next_one_is_out_or_else_after() -> None:
    first, last = page(thing("a", 1), version=9, follow="t1"), page(thing("b", 2), version=9)
    meanwhile, late = Story(streaming=False).tell(first), Story(streaming=False).tell(first)
    behind = [meanwhile.reflector.is_behind]

    meanwhile.reflector.catch_up()

    assert [*behind, meanwhile.reflector.is_behind] == [True, False]
    assert meanwhile.tell(last).changes == late.tell(last).changes == ["a - > uid-a:0", "b - > uid-b:0"]


def test_a_page_that_turns_out_to_be_garbage_later_starts_the_list_again() -> None:
    head = page(version=9, follow="t1").body.removesuffix(b"[]}")
    story = Story(streaming=False).tell(ApiResponse(200, head + b"[{"))
    assert story.next == "page t1"

    story.tell(page(thing("b", 2), version=9), SleepEnded())
    assert (story.next, story.cached) == ("page", {})


def test_a_list_that_names_its_next_page_last_is_followed_too() -> None:
    body = (
        b'{"items":[{"metadata":{"name":"a","uid":"u"}}],"metadata":{"resourceVersion":"9","continue":"t1"}}'
    )
    story = Story(streaming=False).tell(ApiResponse(200, body))

    assert story.next == "page t1"
    assert story.tell(page(thing("b", 2), version=9)).cached == {"a": 0, "b": 0}


def test_a_failed_page_is_requested_again_and_the_earlier_pages_are_kept() -> None:
    story = Story(streaming=False).tell(page(thing("a", 1), version=9, follow="t1"), failure(500))
    assert story.next == "sleep 0.8"

    story.tell(SleepEnded())
    assert story.next == "page t1"
    story.tell(page(thing("b", 2), version=9))
    assert story.cached == {"a": 0, "b": 0}


def test_an_expired_page_starts_the_list_again_with_nothing_kept() -> None:
    story = Story(streaming=False).tell(
        page(thing("a", 1), version=9, follow="t1"), failure(410), SleepEnded()
    )
    assert story.next == "page"

    story.tell(page(thing("b", 20), version=20))
    assert story.cached == {"b": 0}


def test_streaming_lists_that_never_end_are_given_up_for_pages() -> None:
    story = Story().tell(StreamOpened(), line("ADDED", thing("a", 1)), CUT, SleepEnded())
    assert story.next == "stream list"

    story.tell(StreamOpened(), line("ADDED", thing("a", 1)), ENDED, SleepEnded())
    assert story.next == "page"
    assert story.cached == {}


def test_a_list_is_as_fresh_as_its_request() -> None:
    story = Story(streaming=False)
    story.tell(page(version=9, follow="t1"), page(version=9), after=20.0)

    assert story.reflector.cache.last_contact == 1000.0
    assert story.synced_at == 1040.0
    assert story.reflector.cache.age(1041.0) == 41.0


# Watching.


def test_changes_are_applied_and_reported() -> None:
    story = following(thing("a", 1), thing("b", 2))

    story.tell(
        line("MODIFIED", thing("a", 11, size=3)),
        line("DELETED", thing("b", 12)) + line("ADDED", thing("c", 13)),
    )

    assert story.changes == ["a uid-a:0 > uid-a:3", "b uid-b:0 > -", "c - > uid-c:0"]


def test_a_line_cut_by_the_network_is_put_together_again() -> None:
    story = following()
    text = line("ADDED", thing("a", 11))

    story.tell(*[text[place : place + 1] for place in range(len(text))])

    assert story.changes == ["a - > uid-a:0"]


def test_a_clean_end_after_a_good_time_is_followed_on_at_once_from_the_last_version() -> None:
    story = following().tell(line("ADDED", thing("a", 15)), after=60.0).tell(ENDED, after=60.0)

    assert story.next == "watch 15"


def test_a_bookmark_moves_the_version_from_which_a_watch_resumes() -> None:
    story = following().tell(line("ADDED", thing("a", 15)), bookmark(99), CUT, SleepEnded())

    assert story.next == "watch 99"


def test_a_cut_waits_and_resumes() -> None:
    story = following().tell(line("ADDED", thing("a", 15)) + b'{"type":"MODI', CUT)
    assert story.next == "sleep 0.8"
    assert story.reflector.failure == "reset"

    story.tell(SleepEnded(), StreamOpened(), line("MODIFIED", thing("a", 16, size=2)))
    assert story.changes == ["a - > uid-a:0", "a uid-a:0 > uid-a:2"]
    assert story.reflector.failure == ""


@pytest.mark.parametrize("reported", [[EXPIRED, StreamClosed()], [ENDED, SleepEnded(), failure(410)]])
def test_an_expired_version_leads_to_a_list_that_yields_the_deletes(reported: list[ReflectorEvent]) -> None:
    story = following(thing("stays", 1), thing("went", 2), thing("replaced", 3), thing("changed", 4))
    story.tell(*reported, SleepEnded())
    assert story.next == "page"

    story.tell(
        page(thing("stays", 1), thing("replaced", 30, uid="new"), thing("changed", 40, size=4), version=50)
    )

    assert story.changes == [
        "went uid-went:0 > -",
        "replaced uid-replaced:0 > -",
        "replaced - > new:0",
        "changed uid-changed:0 > uid-changed:4",
    ]
    assert story.next == "watch 50"


def test_until_the_new_list_is_complete_the_cache_stays_as_it_was() -> None:
    story = following(thing("a", 1)).tell(EXPIRED, StreamClosed(), SleepEnded())

    story.tell(page(thing("b", 60), version=60, follow="t"))

    assert story.cached == {"a": 0}


def test_a_restarted_reflector_lists_and_yields_the_deletions_in_between() -> None:
    story = following(thing("a", 9), thing("b", 10)).tell(CUT)
    assert story.reflector.failure
    story.command = story.reflector.start(story.now)
    assert (story.next, story.reflector.failure) == ("page", "")
    assert story.cached == {"a": 0, "b": 0}
    story.tell(page(thing("b", 10), version=30), StreamOpened())
    assert (story.changes, story.cached) == (["a uid-a:0 > -"], {"b": 0})


def test_garbage_ends_the_stream_and_it_resumes_from_the_last_good_line() -> None:
    story = following().tell(line("ADDED", thing("a", 15)) + b"<html>\n" + line("DELETED", thing("a", 16)))
    assert story.next == "close"
    assert story.cached == {"a": 0}

    story.tell(StreamClosed(), SleepEnded())
    assert story.next == "watch 15"


def test_an_object_that_cannot_be_read_is_set_aside_and_the_rest_goes_on() -> None:
    story = following(thing("a", 1), thing("b", 2))

    story.tell(line("MODIFIED", {**thing("a", 11), "size": "huge"}) + line("ADDED", thing("c", 12)))
    assert story.changes == ["a uid-a:0 > -", "c - > uid-c:0"]
    assert list(story.reflector.unreadable) == ["a"]

    story.tell(line("MODIFIED", thing("a", 13)))
    assert story.changes[-1] == "a - > uid-a:0"
    assert story.reflector.unreadable == {}


# Silence.


def test_without_a_whole_line_for_the_stall_limit_the_stream_is_closed() -> None:
    story = following().tell(bookmark(11), after=10.0)
    assert story.next == "read 75"

    story.tell(b'{"type":', after=70.0)
    assert story.next == "read 5"
    story.tell(StreamSilent(), after=5.0)
    assert story.next == "close"


def test_what_fits_on_a_page_is_listed_again_after_a_silence_so_that_it_is_known_to_be_true() -> None:
    story = following().tell(StreamSilent(), StreamClosed(), SleepEnded(), after=75.0)
    assert story.next == "page"

    story.tell(page(thing("a", 10), version=12))
    assert story.next == "watch 12"
    assert story.reflector.cache.age(story.now) < 1.0


def test_a_long_list_is_not_read_again_for_one_silence() -> None:
    story = following(thing("a", 5), page_size=1).tell(bookmark(11), after=10.0)
    story.tell(StreamSilent(), StreamClosed(), SleepEnded(), after=75.0)

    assert story.next == "watch 11"


def test_after_two_streams_without_an_event_the_version_is_discarded() -> None:
    story = following(thing("a", 5), page_size=1).tell(
        StreamSilent(), StreamClosed(), SleepEnded(), after=75.0
    )
    assert story.next == "watch 10"

    story.tell(StreamOpened(), StreamSilent(), StreamClosed(), SleepEnded(), after=75.0)
    assert story.next == "page"


def test_last_contact_is_the_last_whole_line_and_nothing_less() -> None:
    story = following(thing("a", 5), page_size=1)
    story.tell(bookmark(11), after=10.0)
    story.tell(b'{"type":', StreamSilent(), StreamClosed(), SleepEnded(), StreamOpened(), after=10.0)

    assert story.reflector.cache.last_contact == 1010.0


# Failing.


@pytest.mark.parametrize("reply", [failure(500), failure(403), failure(404), failure(401), Unanswered("cut")])
def test_a_watch_that_does_not_open_is_tried_again_from_the_same_version(reply: Reply) -> None:
    story = following().tell(CUT, SleepEnded(), reply)
    assert story.next == "sleep 1.6"

    assert story.tell(SleepEnded()).next == "watch 10"


def test_the_server_s_retry_after_is_respected() -> None:
    story = following().tell(CUT, SleepEnded(), failure(429, retry_after=17.0))

    assert story.next == "sleep 17"


def test_so_is_one_that_ends_a_stream() -> None:
    busy = {"code": 429, "reason": "TooManyRequests", "message": "x", "details": {"retryAfterSeconds": 17}}

    assert following().tell(line("ERROR", busy), StreamClosed()).next == "sleep 17"


@pytest.mark.parametrize("end", [[CUT], [b"<html>\n", StreamClosed()], [StreamSilent(), StreamClosed()]])
def test_a_long_stream_resets_the_backoff(end: list[ReflectorEvent]) -> None:
    story = following()
    for _ in range(5):
        story.tell(CUT, SleepEnded(), StreamOpened())
    assert story.tell(CUT).next == "sleep 25.6"

    story.tell(SleepEnded(), StreamOpened())
    assert story.tell(*end, after=30.0).next == "sleep 0.8"


def test_the_length_of_a_watch_and_of_a_wait_depend_on_chance() -> None:
    story = Story(streaming=False, chance=lambda: 0.5).tell(page(version=3))

    assert isinstance(story.command, OpenStream)
    assert dict(story.command.request.query)["timeoutSeconds"] == "450"
    assert story.tell(failure(500)).next == "sleep 1.2"


def test_an_outcome_of_something_that_was_not_asked_is_a_bug() -> None:
    with pytest.raises(RuntimeError, match="SleepEnded is no outcome of Opening"):
        Story().tell(SleepEnded())
