"""Pins for the moments of one lane, by their numbers in the list; those too close share one. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from nodemend.cli.timeline import svg
from nodemend.cli.timeline.view import Mark

HEIGHT: Final = 16.0
SIZE: Final = 11.0
"""Of its letters."""
_HEAVY: Final = (Mark.TROUBLE, Mark.RELEASE, Mark.EVIDENCE, Mark.PLAIN)
"""The heaviest first: what a pin for several moments shows."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One moment, or several that stand too close to each other; by their numbers in the list."""

    numbers: tuple[int, ...]
    x: float
    mark: Mark

    @property
    def label(self) -> str:
        first, last = self.numbers[0], self.numbers[-1]
        if first == last:
            return str(first)
        whole = len(self.numbers) == last - first + 1
        return f"{first}-{last}" if whole or len(self.numbers) > 3 else ",".join(map(str, self.numbers))

    @property
    def width(self) -> float:
        return max(HEIGHT, svg.width_of(self.label, SIZE) + 9)

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2


def gathered(pins: Sequence[Pin]) -> list[Pin]:
    """Until none covers another."""
    placed: list[Pin] = []
    for pin in pins:
        placed.append(pin)
        while len(placed) > 1 and placed[-1].left < placed[-2].right + 2:
            second, first = placed.pop(), placed.pop()
            placed.append(_together(first, second))
    return placed


def _together(first: Pin, second: Pin) -> Pin:
    many, more = len(first.numbers), len(second.numbers)
    x = (first.x * many + second.x * more) / (many + more)
    mark = min(first.mark, second.mark, key=_HEAVY.index)
    return Pin((*first.numbers, *second.numbers), x, mark)
