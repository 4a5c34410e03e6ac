"""The form of an answer to "why does nothing happen"."""

from dataclasses import dataclass
from typing import Final

LONGEST_MESSAGE: Final = 1024
"""Characters of status.message, as the CRDs have it."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """For a person: what holds, and what would change it."""

    sentence: str
    next_step: str

    def __str__(self) -> str:
        """Within what a status may have: what others wrote is cut, and our advice stays."""
        room = max(LONGEST_MESSAGE - len(self.next_step) - 1, 0)
        said = self.sentence if len(self.sentence) <= room else self.sentence[: max(room - 1, 0)] + "…"
        return f"{said} {self.next_step}"[:LONGEST_MESSAGE]


def spell_count(number: int, one: str, several: str = "") -> str:
    return f"{number} {one}" if number == 1 else f"{number} {several or one + 's'}"
