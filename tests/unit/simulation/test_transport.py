"""A simulated link: the sender's outcome, and whether the request was really applied."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from nodemend.api.resources import NODE
from nodemend.kube.outcome import ApiResponse, Reply, Unanswered, Unsent
from nodemend.kube.ports import StreamEnded, StreamSilent
from nodemend.kube.request import Precondition, Request, get, merge_patch
from simulation.network import GOOD_LINK, CrashPoint, Fate, Link, LinkQuality, worse
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedStream, SimulatedTransport

READ = get(NODE, "n1")
WRITE = merge_patch(NODE, "n1", change={"spec": {}}, only_if=Precondition("u1", "7"), manager="test")


def _nothing() -> None:
    pass


class Served:
    """A stream with scripted pieces."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.ended: str | None = None
        self.closed = False
        self._tell: Callable[[], None] = _nothing

    def take(self) -> list[bytes]:
        taken, self.lines = self.lines, []
        return taken

    def subscribe(self, callback: Callable[[], None]) -> None:
        self._tell = callback

    def close(self) -> None:
        self.closed = True

    def say(self, *lines: bytes, ended: str | None = None) -> None:
        self.lines += lines
        self.ended = ended
        self._tell()


class Story:
    """One process, one link, and a server that answers 200 and records requests."""

    def __init__(self, quality: LinkQuality = GOOD_LINK) -> None:
        self.scheduler = Scheduler(1)
        self.process = SimulatedProcess(self.scheduler, "p", HostClock())
        self.applied: list[tuple[float, Request]] = []
        self.replies: list[Reply] = []
        self.heard: list[bytes | StreamSilent | StreamEnded] = []
        self.served = Served()
        self.link = Link(self.process, self, quality)
        self.transport = SimulatedTransport(self.link)

    def handle(self, request: Request) -> ApiResponse:
        self.applied.append((self.scheduler.now, request))
        return ApiResponse(200, b"{}")

    def watch(self, _request: Request) -> Served:
        return self.served

    def send(self, request: Request, *, within: float = 10.0, run: float = 100.0) -> "Story":
        async def act() -> None:
            self.replies.append(await self.transport.send(request, self.process.monotonic() + within))

        self.process.spawn(act(), "send")
        self.scheduler.run(self.scheduler.now + run)
        return self

    def follow(self, *, limit: float = 5.0) -> "Story":
        async def act() -> None:
            stream = await self.transport.open(READ, self.process.monotonic() + 10)
            assert isinstance(stream, SimulatedStream)
            while not isinstance(self.heard[-1] if self.heard else None, StreamEnded):
                self.heard.append(await stream.read(limit))

        self.process.spawn(act(), "follow")
        self.scheduler.run(self.scheduler.now + 1.0)
        return self

    def wait(self, seconds: float) -> "Story":
        self.scheduler.run(self.scheduler.now + seconds)
        return self


def always(**chance: Any) -> LinkQuality:
    return replace(GOOD_LINK, **chance)


@pytest.mark.parametrize(
    ("quality", "reported", "applied"),
    [
        (GOOD_LINK, ApiResponse(200, b"{}"), 1),
        (always(refused=1.0), Unsent("connection refused"), 0),
        (always(lost=1.0), Unanswered("no answer in time"), 0),
        (always(reply_lost=1.0), Unanswered("no answer in time"), 1),
        (always(reset=1.0), Unanswered("connection reset"), 1),
        (always(late=1.0, delay=(10.5, 11.0)), Unanswered("no answer in time"), 1),
    ],
)
def test_each_fate_of_a_request(quality: LinkQuality, reported: Reply, applied: int) -> None:
    story = Story(quality).send(WRITE)
    assert (story.replies, len(story.applied)) == ([reported], applied)


def test_a_late_request_is_applied_after_its_sender_has_given_up() -> None:
    story = Story(always(late=1.0, delay=(10.5, 11.0))).send(WRITE)
    assert story.applied[0][0] > 10.0


def test_a_request_that_is_dropped_under_way_is_never_applied() -> None:
    story = Story(always(late=1.0, delay=(10.5, 11.0))).send(WRITE, run=10.2)
    story.link.drop_requests()
    assert (story.wait(100.0).replies, story.applied) == ([Unanswered("no answer in time")], [])
    story.send(WRITE)
    assert len(story.applied) == 1


def test_what_has_no_time_left_is_not_sent() -> None:
    story = Story().send(WRITE, within=0.0)
    assert (story.replies, story.applied) == ([Unsent("no time left")], [])


@pytest.mark.parametrize(("up", "down", "applied"), [(True, True, 0), (True, False, 0), (False, True, 1)])
def test_a_cut_link_carries_nothing_that_way(up: bool, down: bool, applied: int) -> None:
    story = Story()
    story.link.cut(up=up, down=down)
    story.send(WRITE)
    assert (story.replies, len(story.applied)) == ([Unanswered("no answer in time")], applied)
    story.link.heal()
    story.send(WRITE)
    assert story.replies[-1] == ApiResponse(200, b"{}")


@pytest.mark.parametrize(
    ("point", "applied"), [(CrashPoint.BEFORE, 0), (CrashPoint.AFTER_COMMIT, 1), (CrashPoint.AFTER_REPLY, 1)]
)
def test_a_process_dies_at_its_write_and_never_gets_the_reply(point: CrashPoint, applied: int) -> None:
    story = Story()
    story.link.crash_plan = lambda _: point
    story.send(WRITE)
    assert (story.replies, len(story.applied), story.process.alive) == ([], applied, False)


def test_reads_do_not_crash() -> None:
    story = Story()
    story.link.crash_plan = lambda _: CrashPoint.BEFORE
    assert story.send(READ).replies == [ApiResponse(200, b"{}")]


def test_a_stream_brings_its_lines_in_order_and_then_its_end() -> None:
    story = Story().follow()
    for number in range(20):
        story.served.say(b"%d\n" % number)
    story.served.say(ended="timed out")
    story.wait(1.0)
    lines = b"".join(piece for piece in story.heard if isinstance(piece, bytes))
    assert lines.split() == [b"%d" % number for number in range(20)]
    assert story.heard[-1] == StreamEnded(clean=True, why="timed out")


def test_a_stream_over_a_cut_link_is_silent_and_then_brings_what_it_kept() -> None:
    story = Story().follow()
    story.link.cut(up=False)
    story.served.say(b"a\n")
    story.wait(12.0)
    assert set(map(type, story.heard)) == {StreamSilent}
    story.link.heal()
    story.wait(2.0)
    assert story.heard[-1] == b"a\n"


def test_one_knob_turns_all_kinds_of_loss() -> None:
    story = Story(worse(GOOD_LINK, 0.1))
    for _ in range(300):
        story.link.draw()
    assert set(story.link.faults) == set(Fate) - {Fate.DELIVERED}
