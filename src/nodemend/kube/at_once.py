"""Several questions at once, each with an answer of its own type."""

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

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


class Questions:
    """Asked at once. Whoever opened the block owns them."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.tasks: list[Task] = []
        self.works: list[Coroutine[Any, Any, object]] = []

    def ask(self, work: Coroutine[Any, Any, T]) -> Pending[T]:
        pending: Pending[T] = Pending()
        self.works.append(work)
        self.tasks.append(self._runtime.spawn(pending.wait_for(work), "question"))
        return pending


@asynccontextmanager
async def at_once(runtime: Runtime) -> AsyncIterator[Questions]:
    """What is asked within the block is answered when it ends, and nothing of it goes on after that.

    Raises what the first of the questions raised that did; the others are cancelled then. That each of them
    has an end is theirs to see to.
    """
    questions = Questions(runtime)
    try:
        yield questions
        for task in questions.tasks:
            await task.join()
    finally:
        await end_all(questions.tasks, questions.works)
