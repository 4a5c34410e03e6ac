"""Whether this process lives and is ready, as far as its own parts can tell."""

from collections.abc import Callable
from typing import Protocol


class HealthView(Protocol):
    """What the probes ask. Both must answer at once."""

    def why_dead(self) -> tuple[str, ...]:
        """Reasons to restart the process; none while all is well."""
        ...

    def why_not_ready(self) -> tuple[str, ...]:
        """What is still missing; nothing once it is ready. A standby is as ready as a leader."""
        ...


class HealthBoard:
    """A HealthView made of parts: tasks that must not end, and states that must be reached."""

    def __init__(self) -> None:
        self._tasks: dict[str, Callable[[], bool]] = {}
        self._states: dict[str, Callable[[], bool]] = {}

    def must_run(self, task: str, ended: Callable[[], bool]) -> None:
        self._tasks[task] = ended

    def must_reach(self, state: str, reached: Callable[[], bool]) -> None:
        """`state` names it in words, such as "the first list of nodes"."""
        self._states[state] = reached

    def why_dead(self) -> tuple[str, ...]:
        return tuple(f"{task} has ended" for task, ended in self._tasks.items() if ended())

    def why_not_ready(self) -> tuple[str, ...]:
        waiting = tuple(f"waiting for {state}" for state, reached in self._states.items() if not reached())
        return (*self.why_dead(), *waiting)
