"""`kubectl mend explain` for a person."""

from collections.abc import Iterator
from typing import Final

from nodemend.cli.explain.view import ExplainView
from nodemend.cli.next_steps import Step, step_lines
from nodemend.cli.words import align, fold

_WIDEST: Final = 100


def render(view: ExplainView, width: int = _WIDEST) -> Iterator[str]:
    room = min(width, _WIDEST)
    yield view.headline
    yield ""
    rows = [("#", "QUESTION", "ANSWER", "BECAUSE")]
    for number, question in enumerate(view.questions, 1):
        rows.append((str(number), question.asked, question.answer, question.because))
    yield from align(rows)
    yield ""
    for note in view.notes:
        yield from fold(note, room)
    for unread in view.unread:
        yield from fold(f"Warning: {unread}", room)
    yield from step_lines(Step(view.advice, view.next_step))
    for machine in view.machines:
        yield ""
        yield from render(machine, width)
