"""Several questions at once, each with an answer of its own type."""

from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from nodemend.kube.ports import Runtime, Task
from nodemend.kube.running_together import end_all

T = TypeVar("T")


class Pending(Generic[T]):
    """A question that is out."""

    def __init__(self) -> None:
        self._answers: list[T] = []

    @property
    def answer(self) -> T:
        """There once the block that asked has ended."""
        if not self._answers:
            raise RuntimeError("there is no answer yet")
        return self._answers[0]

    async def wait_for(self, work: Coroutine[Any, Any, T]) -> None:
        self._answers.append(await work)


class AtOnce:
    """What is asked within the block is answered when it ends, and nothing of it goes on after that.

    Raises what the first of the questions raised that did; the others are cancelled then. That each of them
    has an end is theirs to see to.
    """

    # No generator: one that is thrown away in the middle, as by a process that dies, would end it by itself.

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._tasks: list[Task] = []
        self._works: list[Coroutine[Any, Any, object]] = []

    def ask(self, work: Coroutine[Any, Any, T]) -> Pending[T]:
        pending: Pending[T] = Pending()
        self._works.append(work)
        self._tasks.append(self._runtime.spawn(pending.wait_for(work), "question"))
        return pending

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                for task in self._tasks:
                    await task.join()
        finally:
            await end_all(self._tasks, self._works)
