"""`kubectl mend explain` for a person."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from nodemend.cli.explain.view import ExplainView
from nodemend.cli.words import align

_WIDTH: Final = 100


def render(view: ExplainView) -> Iterator[str]:
    yield view.headline
    yield ""
    rows = [("#", "QUESTION", "ANSWER", "BECAUSE")]
    for number, question in enumerate(view.questions, 1):
        rows.append((str(number), question.asked, question.answer, question.because))
    yield from align(rows)
    yield ""
    for note in view.notes:
        yield from wrap(note, _WIDTH)
    for unread in view.unread:
        yield from wrap(f"Warning: {unread}", _WIDTH)
    yield f"Next: {view.next_step}"
    for machine in view.machines:
        yield ""
        yield from render(machine)
