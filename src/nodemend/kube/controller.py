"""Reconciles keys: one reconcile at a time for each key, several keys at once, back-off after failures."""

from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar, assert_never

from nodemend.kube.ports import Runtime, Task
from nodemend.kube.tasks import end_all
from nodemend.kube.workqueue import WorkQueue

K = TypeVar("K")
K_contra = TypeVar("K_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing is left to do for this key until something changes."""

    outcome: ClassVar[str] = "Done"


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Success. Reconcile again after `seconds`, even if nothing changes."""

    outcome: ClassVar[str] = "RequeueAfter"
    seconds: float


@dataclass(frozen=True, slots=True)
class Retry:
    """Not possible now, because of the state of the cluster. Try again after a back-off."""

    outcome: ClassVar[str] = "Retry"
    why: str
    refused: bool = False
    """True if the API server refused, and will again until a user or a controller changes something."""


Outcome = Done | RequeueAfter | Retry
Reconcile = Callable[[K], Coroutine[Any, Any, Outcome]]


class LoopObserver(Protocol[K_contra]):
    """Receives events of the loop, for logs and metrics. Must not raise."""

    def took(self, key: K_contra, late: float) -> None:
        """A reconcile starts, `late` seconds after its key was due."""
        ...

    def finished(self, key: K_contra, outcome: Outcome, seconds: float) -> None: ...

    def crashed(self, key: K_contra, error: Exception, seconds: float) -> None:
        """The reconcile raised: a bug in Nodemend, handled like a Retry."""
        ...

    def overflowed(self) -> None:
        """The queue was full and refused keys; the loop will add all keys again."""
        ...


class Controller(Generic[K]):
    """Add keys with `add`, at any time; `run` reconciles them until it is cancelled.

    `everything` returns all existing keys. It is called only after the queue refused keys.
    """

    def __init__(
        self,
        runtime: Runtime,
        reconcile: Reconcile[K],
        observer: LoopObserver[K],
        everything: Callable[[], Iterable[K]],
        *,
        workers: int = 4,
        queue: WorkQueue[K] | None = None,
    ) -> None:
        if workers < 1:
            raise ValueError(f"{workers} workers work off nothing")
        self._runtime = runtime
        self._reconcile = reconcile
        self._observer = observer
        self._everything = everything
        self._workers = workers
        self._queue: WorkQueue[K] = WorkQueue() if queue is None else queue
        # By number, not by key: a key whose reconcile ended may start again before the end is processed.
        self._tasks: dict[int, Task] = {}
        self._ended: list[int] = []
        self._begun = 0
        self._pending: Iterator[K] = iter(())
        self._wake = runtime.signal()

    def add(self, key: K, after: float = 0.0) -> None:
        self._queue.add(key, self._runtime.monotonic(), after=after)
        self._wake.set()

    @property
    def waiting(self) -> int:
        return self._queue.waiting

    async def run(self) -> None:
        try:
            while True:
                self._begin_due()
                await self._wake.wait(self._seconds_to_next())
                await self._reap()
                self._make_up_for_refusals()
        finally:
            self._queue.drain()
            await end_all(list(self._tasks.values()))

    def _begin_due(self) -> None:
        while len(self._tasks) < self._workers:
            now = self._runtime.monotonic()
            due = self._queue.next_due()
            key = self._queue.take(now)
            if key is None or due is None:
                return
            self._observer.took(key, now - due)
            self._begun += 1
            self._tasks[self._begun] = self._runtime.spawn(self._work(key, self._begun), f"reconcile {key}")

    def _seconds_to_next(self) -> float | None:
        """Seconds until a key is due. None: nothing can start until a key is added or a reconcile ends."""
        due = self._queue.next_due()
        if due is None or len(self._tasks) >= self._workers:
            return None
        return max(due - self._runtime.monotonic(), 0.0)

    async def _work(self, key: K, number: int) -> None:
        began = self._runtime.monotonic()
        try:
            outcome = await self._reconcile(key)
        except Exception as error:  # noqa: BLE001 - one faulty key must not stop the others; reported and retried
            self._observer.crashed(key, error, self._runtime.monotonic() - began)
            self._queue.failed(key, self._runtime.monotonic(), self._runtime.random())
        else:
            self._settle(key, outcome)
            self._observer.finished(key, outcome, self._runtime.monotonic() - began)
        finally:
            self._ended.append(number)
            self._wake.set()

    def _settle(self, key: K, outcome: Outcome) -> None:
        match outcome:
            case Done():
                self._queue.done(key)
            case RequeueAfter(seconds):
                self._queue.again(key, self._runtime.monotonic(), seconds)
            case Retry():
                self._queue.failed(key, self._runtime.monotonic(), self._runtime.random())
            case _:
                assert_never(outcome)

    async def _reap(self) -> None:
        ended, self._ended = self._ended, []
        for number in ended:
            await self._tasks.pop(number).join()

    def _make_up_for_refusals(self) -> None:
        """Add all keys again, from first to last, without filling the queue by it."""
        for key in self._pending:
            self._queue.add(key, self._runtime.monotonic())
            if not self._queue.half_empty:
                return
        if self._queue.take_overflow():
            self._observer.overflowed()
            self._pending = iter(tuple(self._everything()))
            self._wake.set()
