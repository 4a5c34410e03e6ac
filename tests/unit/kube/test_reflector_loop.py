"""The loop executes the state machine's commands, and sends an unhealthy server few requests."""

from collections.abc import Callable
from itertools import count

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodemend.kube.informer import run_reflector
from nodemend.kube.outcome import ApiResponse, Reply, Unanswered, Unsent
from nodemend.kube.ports import StreamEnded
from nodemend.kube.reflector import Reflector
from nodemend.kube.request import Request
from nodemend.kube.store import Change
from nodemend.records.node import NodeRecord, NodeWire, node_records
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.unit.kube.scripted_transport import Piece, ScriptedTransport

Script = Callable[[Request], Reply | list[Piece]]

_LIST = ApiResponse(
    200, b'{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"n","uid":"u"}}]}'
)
_LIST_END = (
    b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)
_EXPIRED = b'{"type":"ERROR","object":{"code":410,"message":"too old"}}\n'
_CLOSED = StreamEnded(clean=True, why="closed")
_CUT = StreamEnded(clean=False, why="reset")
_TOO_MANY = ApiResponse(429, b"{}", retry_after=1.0)


class World:
    def __init__(self, script: Script, seed: int = 1, *, streaming: bool = True) -> None:
        self.scheduler = Scheduler(seed)
        self.process = SimulatedProcess(self.scheduler, "watcher", HostClock())
        self.transport = ScriptedTransport(self.process, script)
        self.reflector: Reflector[NodeWire, NodeRecord] = Reflector(
            node_records(), chance=self.process.random, streaming=streaming
        )
        self.changes: list[Change[NodeRecord]] = []
        work = run_reflector(self.reflector, self.transport, self.process, self.changes.extend)
        self.task = self.process.spawn(work, "reflector")

    def run(self, seconds: float) -> "World":
        self.scheduler.run(self.scheduler.now + seconds)
        return self

    def most_requests_in(self, seconds: float) -> int:
        """The most requests in any interval of this length."""
        times = [when for when, _ in self.transport.asked]
        return max(sum(begin <= when < begin + seconds for when in times) for begin in times)


def _is_list(request: Request) -> bool:
    return "watch" not in dict(request.query)


def test_it_lists_watches_and_hands_on_the_changes() -> None:
    deleted = b'{"type":"DELETED","object":{"metadata":{"name":"n","uid":"u","resourceVersion":"6"}}}\n'
    world = World(lambda request: _LIST if _is_list(request) else [1.0, deleted]).run(0.5)
    # This server does not support streaming lists but does not report it: two of them never end.
    world.run(200.0)

    assert [(change.key, change.new is None) for change in world.changes] == [("n", False), ("n", True)]
    assert len(world.reflector.cache) == 0


def test_a_long_list_is_read_page_by_page() -> None:
    def script(request: Request) -> Reply | list[Piece]:
        if not _is_list(request):
            return []
        number = int(dict(request.query).get("continue", "0"))
        metadata = {"resourceVersion": "5", "continue": str(number + 1) if number < 3 else ""}
        items = [{"metadata": {"name": f"n{number}", "uid": f"u{number}"}}]
        return ApiResponse(200, msgspec.json.encode({"metadata": metadata, "items": items}))

    world = World(script, streaming=False).run(1.0)

    assert sorted(world.reflector.cache.keys()) == ["n0", "n1", "n2", "n3"]
    assert len(world.transport.asked) == 5


def test_every_stream_it_opened_is_closed_in_the_end() -> None:
    world = World(lambda _: [_LIST_END, 3.0, _CUT]).run(100.0)
    while world.transport.streams[-1].closed:
        world.run(0.5)
    world.task.cancel()
    world.run(1.0)

    assert world.task.done
    assert len(world.transport.streams) > 3
    assert all(stream.closed for stream in world.transport.streams)


_FAILING: dict[str, Reply | list[Piece]] = {
    "closes at once": [_CLOSED],
    "is cut at once": [_CUT],
    "answers 500": ApiResponse(500, b"{}"),
    "answers 410": ApiResponse(410, b"{}"),
    "answers 429": _TOO_MANY,
    "answers 422": ApiResponse(422, b"{}"),
    "ends with 410": [_EXPIRED, _CLOSED],
    "sends garbage": [b"<html>\n", _CUT],
    "refuses connections": Unsent("refused"),
    "never answers": Unanswered("silence"),
    "ends its lists and nothing more": [_LIST_END, _CLOSED],
    "ends its lists and expires": [_LIST_END, _EXPIRED],
    "lives for just less than a good time": [_LIST_END, 29.9, _CUT],
    "lives for just a good time": [_LIST_END, 30.0, _CLOSED],
}


@pytest.mark.parametrize("way", _FAILING)
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_watch_that_always_fails_is_asked_at_most_ten_times_in_thirty_seconds(
    way: str, seed: int, *, streaming: bool
) -> None:
    def script(request: Request) -> Reply | list[Piece]:
        reply = _FAILING[way]
        return _LIST if _is_list(request) else (list(reply) if isinstance(reply, list) else reply)

    world = World(script, seed, streaming=streaming).run(600.0)

    assert world.most_requests_in(30.0) <= 10
    assert world.task.done is False


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    ways=st.lists(st.sampled_from(sorted(_FAILING)), min_size=1, max_size=12),
    lists=st.lists(
        st.sampled_from([_LIST, _LIST, ApiResponse(500, b"{}"), Unanswered("cut"), _TOO_MANY]), min_size=1
    ),
    seed=st.integers(0, 2**32),
    streaming=st.booleans(),
)
def test_so_is_one_that_fails_in_any_mixture_of_ways(
    ways: list[str], lists: list[Reply], seed: int, *, streaming: bool
) -> None:
    turns = count()

    def script(request: Request) -> Reply | list[Piece]:
        turn = next(turns)
        if _is_list(request):
            return lists[turn % len(lists)]
        reply = _FAILING[ways[turn % len(ways)]]
        return list(reply) if isinstance(reply, list) else reply

    assert World(script, seed, streaming=streaming).run(300.0).most_requests_in(30.0) <= 10


def test_after_the_trouble_is_over_the_cache_is_true_within_the_longest_wait() -> None:
    sick = True

    def script(request: Request) -> Reply | list[Piece]:
        if sick:
            return Unsent("refused")
        names = [{"metadata": {"name": name, "uid": name}} for name in ("a", "b")]
        body = msgspec.json.encode({"metadata": {"resourceVersion": "9"}, "items": names})
        return (
            ApiResponse(200, body)
            if _is_list(request)
            else ApiResponse(422, b"{}")
            if _wants_list(request)
            else []
        )

    world = World(script).run(3600.0)
    assert world.reflector.cache.synced_at is None
    sick = False

    world.run(60.0)
    assert sorted(world.reflector.cache.keys()) == ["a", "b"]


def _wants_list(request: Request) -> bool:
    return "sendInitialEvents" in dict(request.query)


def test_a_node_whose_labels_cannot_be_read_is_set_aside_whether_listed_or_watched() -> None:
    strange = b'{"metadata":{"name":"%s","uid":"u","resourceVersion":"7","labels":{"zone":7}}}'
    listed = b'{"metadata":{"resourceVersion":"5"},"items":[%s,%s]}'
    sane = b'{"metadata":{"name":"n","uid":"u"}}'
    event = b'{"type":"MODIFIED","object":' + strange % b"n" + b"}\n"

    def script(request: Request) -> Reply | list[Piece]:
        if _is_list(request):
            return ApiResponse(200, listed % (strange % b"m", sane))
        return [1.0, event]

    world = World(script, streaming=False).run(0.5)
    assert (list(world.reflector.cache.keys()), list(world.reflector.unreadable)) == (["n"], ["m"])
    world.run(5.0)
    assert (list(world.reflector.cache.keys()), list(world.reflector.unreadable)) == ([], ["m", "n"])
