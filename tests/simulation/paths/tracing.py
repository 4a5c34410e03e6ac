"""Follows one cause through the simulated world, and records the files of src whose functions run for it.

A flow begins with bytes of a watch and covers the step that reads them. A workqueue key that this step
adds begins the next flow: it covers the task that takes the key, until the task ends, and the tasks that
it spawns. A key that this task adds or requeues begins another flow, and so on. A signal begins none: it
wakes a worker, which may take an unrelated key. A path is the flow that sends the awaited request and all
flows before it, so a side branch, such as a status report, is not on the path.

The hook wraps ports and the workqueue from outside. Shipped code is not changed.
"""

import inspect
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final
from unittest.mock import patch

import nodemend
from nodemend.kube.request import Request
from nodemend.kube.workqueue import WorkQueue
from simulation.processes import SimulatedProcess, SimulatedTask
from simulation.transport import SimulatedStream, SimulatedTransport

SOURCE: Final = Path(nodemend.__file__).parent
SIMULATION: Final = Path(inspect.getfile(SimulatedProcess)).parent

IsCause = Callable[[bytes], bool]
IsEnd = Callable[[Request], bool]


@dataclass(eq=False, slots=True)
class Flow:
    """The work for one workqueue key, or for the bytes that are the cause."""

    before: tuple["Flow", ...] = ()
    files: set[str] = field(default_factory=set)

    def path(self) -> set[str]:
        """The files of this flow and of all before it."""
        files: set[str] = set()
        pending, known = [self], {self}
        while pending:
            flow = pending.pop()
            files |= flow.files
            new = set(flow.before) - known
            known |= new
            pending += new
        return files


@dataclass(slots=True)
class MeasuredPath:
    """The files of a path, relative to the package, and the request that ends it."""

    files: tuple[str, ...]
    request: Request
    sender: str


class Tracer:
    """Use `following` around the part of a run in which the cause and the end lie."""

    def __init__(self, is_cause: IsCause, is_end: IsEnd) -> None:
        self._is_cause = is_cause
        self._is_end = is_end
        self._current: Flow | None = None
        self._keys: dict[tuple[int, Any], tuple[Flow, ...]] = {}
        self.found: MeasuredPath | None = None

    @contextmanager
    def following(self) -> Iterator[None]:
        forget_results()
        with (
            patch.object(SimulatedProcess, "spawn", self._spawning(SimulatedProcess.spawn)),
            patch.object(SimulatedStream, "read", self._reading(SimulatedStream.read)),
            patch.object(SimulatedTransport, "send", self._sending(SimulatedTransport.send)),
            patch.object(WorkQueue, "add", self._queueing(WorkQueue.add)),
            patch.object(WorkQueue, "again", self._queueing(WorkQueue.again)),
            patch.object(WorkQueue, "failed", self._queueing(WorkQueue.failed)),
            patch.object(WorkQueue, "take", self._taking(WorkQueue.take)),
        ):
            yield

    def run(self, flow: Flow | None, step: Callable[[], Any]) -> Any:
        """Run one step of a task that belongs to `flow`, or to none."""
        previous = self._current
        self._switch_to(flow)
        try:
            return step()
        finally:
            self._switch_to(previous)

    def _switch_to(self, flow: Flow | None) -> None:
        self._current = flow
        sys.setprofile(None if flow is None or self.found else self._profile)

    def _profile(self, frame: FrameType, event: str, _argument: object) -> None:
        # A return counts too: the callers of the function that read the cause were called before it arrived.
        if event in ("call", "return") and self._current is not None:
            code = frame.f_code
            if code.co_flags & inspect.CO_OPTIMIZED and (file := _shipped(code.co_filename)):
                self._current.files.add(file)

    # The hooks.

    def _spawning(self, spawn: Callable[..., SimulatedTask]) -> Callable[..., SimulatedTask]:
        def wrapped(process: SimulatedProcess, work: Coroutine[Any, Any, None], name: str) -> SimulatedTask:
            return spawn(process, Followed(work, self, self._current), name)

        return wrapped

    def _reading(self, read: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
        async def wrapped(stream: SimulatedStream, within: float) -> Any:
            outcome = await read(stream, within)
            if isinstance(outcome, bytes) and self._is_cause(outcome):
                self._switch_to(Flow())
            return outcome

        return wrapped

    def _sending(self, send: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
        async def wrapped(transport: SimulatedTransport, request: Request, deadline: float) -> Any:
            if self._current is not None and self.found is None and self._is_end(request):
                files = tuple(sorted(self._current.path()))
                self.found = MeasuredPath(files, request, transport._process.name)
            return await send(transport, request, deadline)

        return wrapped

    def _queueing(self, add: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(queue: WorkQueue[Any], key: Any, *arguments: Any, **named: Any) -> Any:
            if self._current is not None:
                before = self._keys.get((id(queue), key), ())
                if self._current not in before:
                    self._keys[id(queue), key] = (*before, self._current)
            return add(queue, key, *arguments, **named)

        return wrapped

    def _taking(self, take: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(queue: WorkQueue[Any], *arguments: Any) -> Any:
            key = take(queue, *arguments)
            before = self._keys.pop((id(queue), key), ())
            self._switch_to(Flow(before) if before else None)
            return key

        return wrapped


class Followed(Coroutine[Any, Any, None]):
    """The coroutine of a task that belongs to one flow, or to none."""

    def __init__(self, work: Coroutine[Any, Any, None], tracer: Tracer, flow: Flow | None) -> None:
        self._work = work
        self._tracer = tracer
        self._flow = flow

    def send(self, value: Any) -> Any:
        return self._tracer.run(self._flow, lambda: self._work.send(value))

    def throw(
        self, kind: Any, value: BaseException | object = None, trace: TracebackType | None = None
    ) -> Any:
        error = kind if value is None else value
        assert isinstance(error, BaseException)
        return self._tracer.run(self._flow, lambda: self._work.throw(error))

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Any:
        raise RuntimeError("a task drives its coroutine by send")


def forget_results() -> None:
    """Empty the caches of functions: a second run in the same process must call what the first one called."""
    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0] == nodemend.__name__:
            for value in vars(module).values():
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()


@cache
def _shipped(filename: str) -> str | None:
    """The file relative to the package; None outside of it and in the simulation."""
    path = Path(filename)
    if not path.is_relative_to(SOURCE) or path.is_relative_to(SIMULATION):
        return None
    return str(path.relative_to(SOURCE))
