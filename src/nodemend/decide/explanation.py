"""The form of an answer to "why does nothing happen"."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """For a person: what holds, and what would change it."""

    sentence: str
    next_step: str

    def __str__(self) -> str:
        return f"{self.sentence} {self.next_step}"


def spell_count(number: int, one: str, several: str = "") -> str:
    return f"{number} {one}" if number == 1 else f"{number} {several or one + 's'}"
