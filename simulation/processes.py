"""Simulated processes: coroutines on a host with a clock that drifts and steps. They can pause and crash."""

import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from simulation.scheduler import EPOCH, Scheduler, Timer


class Cancelled(BaseException):
    """Raised in a task at its await, like asyncio.CancelledError."""


class ProcessDied(BaseException):
    """Ends a task of a crashed process when it uses the runtime. None of its actions has an effect."""


@dataclass(slots=True)
class HostClock:
    """A host's clocks as functions of true time. With `rate` 1.001 they are fast by a thousandth.

    With `slewed` 1.1, the time daemon slews the clock from `slewed_from` on to run 10 % faster than its
    oscillator.
    """

    rate: float = 1.0
    slewed: float = 1.0
    slewed_from: float = 0.0
    started_at: float = 0.0
    wall_error: timedelta = timedelta()

    def monotonic(self, true_now: float) -> float:
        slewed_for = max(0.0, true_now - self.slewed_from)
        return self.started_at + (true_now + slewed_for * (self.slewed - 1.0)) * self.rate

    def unslewed(self, true_now: float) -> float:
        return self.started_at + true_now * self.rate

    def wall(self, true_now: float) -> datetime:
        return EPOCH + timedelta(seconds=true_now) + self.wall_error

    def true_seconds(self, seconds: float) -> float:
        return seconds / (self.rate * self.slewed)


@types.coroutine
def _park() -> Generator[None, object, object]:
    return (yield)


class SimulatedTask:
    """One coroutine of a process."""

    __slots__ = ("_cancelling", "_coroutine", "_joiners", "_parking", "_process", "done", "error", "name")

    def __init__(self, process: "SimulatedProcess", coroutine: Coroutine[Any, Any, None], name: str) -> None:
        self.name = name
        self.done = False
        self._cancelling = False
        self.error: BaseException | None = None
        self._process = process
        self._coroutine = coroutine
        self._joiners: list[tuple[SimulatedTask, int]] = []
        self._parking = 0

    def cancel(self) -> None:
        """Cancel as in asyncio: calls before the exception is raised count once; a later one repeats it."""
        if not self.done and not self._cancelling:
            self._cancelling = True
            self._process.schedule(self._throw_cancelled)

    def _throw_cancelled(self) -> None:
        self._cancelling = False
        self._resume(self._parking, None, Cancelled())

    async def join(self) -> None:
        while not self.done:
            joiner = self._process.current
            self._joiners.append((joiner, joiner.parking + 1))
            await joiner.park()
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    async def park(self, within: float | None = None) -> object:
        """Wait for `wake`. Returns None if `within` seconds of this host's clock pass first."""
        self._parking += 1
        parking = self._parking
        timer: Timer | None = None
        if within is not None:
            timer = self._process.schedule(lambda: self._resume(parking, None), after=within)
        try:
            return await _park()
        finally:
            if timer is not None:
                timer.cancel()

    @property
    def parking(self) -> int:
        """Identifies the current wait; a wake-up for an earlier wait has no effect."""
        return self._parking

    def wake(self, parking: int, value: object) -> None:
        self._process.schedule(lambda: self._resume(parking, value))

    def start(self) -> None:
        self._process.schedule(lambda: self._resume(0, None))

    def _resume(self, parking: int, value: object, error: BaseException | None = None) -> None:
        if self.done or parking != self._parking:
            return
        # Invalidates other wake-ups until the next park.
        self._parking += 1
        process, previous = self._process, self._process.running
        process.running = self
        try:
            if error is None:
                self._coroutine.send(value)
            else:
                self._coroutine.throw(error)
        except StopIteration:
            self._end(None)
        except Cancelled:
            self._end(None)
        except ProcessDied:
            self.done = True
        except Exception as failure:  # noqa: BLE001 - raised by `join`, as in a real runtime
            self._end(failure)
        finally:
            process.running = previous

    def _end(self, error: Exception | None) -> None:
        self.done = True
        self.error = error
        if error is not None:
            self._process.failed_tasks.append(self)
        for joiner, parking in self._joiners:
            joiner.wake(parking, None)

    def abandon(self) -> None:
        """Close the coroutine after its process crashed; its clean-up has no effect."""
        self.done = True
        # The clean-up may use the dead process or await something; both fail and are ignored.
        with suppress(ProcessDied, RuntimeError):
            self._coroutine.close()


class SimulatedSignal:
    """The Signal port."""

    __slots__ = ("_is_set", "_process", "_waiter")

    def __init__(self, process: "SimulatedProcess") -> None:
        self._process = process
        self._is_set = False
        self._waiter: tuple[SimulatedTask, int] | None = None

    def set(self) -> None:
        self._is_set = True
        if self._waiter is not None:
            task, parking = self._waiter
            task.wake(parking, None)

    async def wait(self, within: float | None = None) -> bool:
        if not self._is_set:
            task = self._process.current
            self._waiter = (task, task.parking + 1)
            try:
                await task.park(within)
            finally:
                self._waiter = None
        was_set, self._is_set = self._is_set, False
        return was_set


class SimulatedProcess:
    """The Runtime port. Tests can crash it, pause it, and falsify its clock."""

    def __init__(self, scheduler: Scheduler, name: str, clock: HostClock) -> None:
        self.name = name
        self.clock = clock
        self.alive = True
        self.running: SimulatedTask | None = None
        self.failed_tasks: list[SimulatedTask] = []
        self.scheduler = scheduler
        self._chance = scheduler.chance(f"process {name}")
        self._tasks: list[SimulatedTask] = []
        self._resumes_at = 0.0

    @property
    def unjoined_failures(self) -> list[tuple[str, BaseException]]:
        """Exceptions of tasks that no caller has joined yet."""
        return [(task.name, task.error) for task in self.failed_tasks if task.error is not None]

    @property
    def current(self) -> SimulatedTask:
        self._must_live()
        assert self.running is not None, "awaited outside a task of this process"  # noqa: S101
        return self.running

    def monotonic(self) -> float:
        self._must_live()
        return self.clock.monotonic(self.scheduler.now)

    def unslewed(self) -> float:
        self._must_live()
        return self.clock.unslewed(self.scheduler.now)

    def wall(self) -> datetime:
        return self.clock.wall(self.scheduler.now)

    def random(self) -> float:
        return self._chance.random()

    async def sleep(self, seconds: float) -> None:
        await self.current.park(max(seconds, 0.0))

    def signal(self) -> SimulatedSignal:
        return SimulatedSignal(self)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> SimulatedTask:
        self._must_live()
        task = SimulatedTask(self, work, name)
        self._tasks = [known for known in self._tasks if not known.done]
        self._tasks.append(task)
        task.start()
        return task

    def schedule(self, callback: Callable[[], None], *, after: float = 0.0) -> Timer:
        """Run `callback` in this process. It never runs after a crash, and not during a pause."""

        def when_due() -> None:
            if not self.alive:
                return
            if self.paused:
                self.scheduler.at(self._resumes_at, when_due)
                return
            callback()

        return self.scheduler.after(self.clock.true_seconds(after) if after else 0.0, when_due)

    @property
    def paused(self) -> bool:
        return self.scheduler.now < self._resumes_at

    def pause(self, seconds: float) -> None:
        """Pause the whole process, as SIGSTOP or a stalled machine does. Its clocks continue."""
        self._resumes_at = max(self._resumes_at, self.scheduler.now + seconds)

    def crash(self) -> None:
        """Stop permanently between two steps. Pending actions do not happen."""
        self.alive = False
        for task in self._tasks:
            if task is not self.running:
                task.abandon()

    def _must_live(self) -> None:
        if not self.alive:
            raise ProcessDied
