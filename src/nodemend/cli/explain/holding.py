"""The hold of an explanation, and the question at which it stands."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from nodemend.cli.explain.questions import QUESTION_OF
from nodemend.cli.explain.view import Answer, HeldView, Question
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold

_WHERE = {kind.__name__: key for kind, key in QUESTION_OF.items()}


def held_view(hold: Hold, node: str) -> HeldView:
    explanation = explain(hold.reason)
    return HeldView(
        reason=type(hold.reason).__name__,
        sentence=explanation.sentence,
        # Explanations that do not know the node leave a place for its name.
        next_step=explanation.next_step.replace("NODE", node),
    )


def with_hold(rows: Iterable[Question], held: HeldView | None, *, else_at: str = "") -> Iterator[Question]:
    """Marks the question at which the hold stands; that of the key `else_at` if its own is not asked."""
    asked = list(rows)
    key = _WHERE.get(held.reason, "") if held else ""
    if all(row.key != key for row in asked):
        key = else_at
    for row in asked:
        if held is not None and row.key == key:
            yield replace(row, answer=Answer.HOLD, because=row.because or held.sentence)
        else:
            yield row
