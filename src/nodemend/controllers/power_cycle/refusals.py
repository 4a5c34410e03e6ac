"""What the API server would not let a remediation do, for as long as trying again would change nothing."""

from typing import Final

from nodemend.decide.power_cycle_steps import AskOwner, DeleteNode, Restore

Refusable = AskOwner | DeleteNode | Restore
REMEMBERED_FOR: Final = 600.0
"""Seconds. Somebody may have given us the right since."""


class Refusals:
    """One leadership's memory, by the UID of the remediation. `now` is monotonic."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, type[Refusable]], tuple[float, str]] = {}

    def note(self, uid: str, step: Refusable, message: str, *, now: float) -> None:
        self._said = {key: said for key, said in self._said.items() if now - said[0] < REMEMBERED_FOR}
        self._said[uid, type(step)] = (now, message)

    def find(self, uid: str, step: type[Refusable], *, now: float) -> str:
        """Empty where that was not refused lately."""
        when, message = self._said.get((uid, step), (now, ""))
        return message if now - when < REMEMBERED_FOR else ""
