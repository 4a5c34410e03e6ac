"""The steps of a simulation as few lines as a person will read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from nodemend.cli.simulate.spells import TURN, TURN_REASONS
from nodemend.cli.simulate.story import What
from nodemend.cli.simulate.view import StepView
from nodemend.cli.words import spell_names

MOST_LINES: Final = 45
_MINUTE: Final = 60
SLICES: Final = tuple(minutes * _MINUTE for minutes in (1, 5, 15, 60, 360, 1440))
"""What happens within one of these for one cause is one line."""
_FEW: Final = 2
_MOST_NAMES: Final = 5
_ROOM: Final = 60
"""Signs for names."""
_WORDS: Final[dict[str, str]] = {
    What.HOLD: "HOLD",
    What.STILL_SICK: "still sick",
    What.GIVE_UP: "give up",
}


@dataclass(slots=True)
class Line:
    """`at` is when the first of it happened."""

    at: float
    what: str
    why: str
    nodes: list[str] = field(default_factory=list)


def fold(steps: Sequence[StepView]) -> tuple[int, list[Line]]:
    """The lines, and the seconds that each stands for: as few as keep it short."""
    for slice_ in SLICES:
        lines = _folded(steps, slice_)
        if len(lines) <= MOST_LINES:
            return slice_, lines
    return SLICES[-1], _folded(steps, SLICES[-1])


def spell_what(line: Line) -> str:
    return _WORDS.get(line.what, line.what.lower())


def spell_line(line: Line) -> str:
    """Which nodes, or why: whatever says more."""
    if not line.nodes:
        return line.why
    names = _names(line.nodes)
    if line.what == What.BEGIN and line.why:
        return f"{names} ({line.why})"
    if not line.why:
        return names
    return f"{names}: {line.why}" if len(line.nodes) <= _FEW else line.why


def _names(nodes: Sequence[str]) -> str:
    """As many as fit, and at least one."""
    fit = 1
    while fit < min(len(nodes), _MOST_NAMES) and sum(map(len, nodes[: fit + 1])) <= _ROOM:
        fit += 1
    return spell_names(nodes, fit)


def _folded(steps: Sequence[StepView], slice_: int) -> list[Line]:
    lines: dict[tuple[int, str, str], Line] = {}
    for step in steps:
        if step.what == What.CLOSE:
            # It follows in time, and says no more than that the node is back.
            continue
        key = int(step.at // slice_), step.what, _cause(step)
        line = lines.setdefault(key, Line(step.at, step.what, step.why))
        line.why = step.why
        line.nodes += step.nodes
    return list(lines.values())


def _cause(step: StepView) -> str:
    """Holds of one sort differ in their numbers: the last ones stand for all."""
    if step.reason in TURN_REASONS:
        return TURN[0]
    return f"{step.reason} {step.scope}" if step.reason else step.why
