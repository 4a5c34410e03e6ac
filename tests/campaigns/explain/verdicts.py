"""Every verdict on a node and on a Machine, explained whole: a headline, its reason, and what to do next."""

from collections.abc import Iterator
from typing import Final, get_args

from nodemend.cli.explain.view import ExplainView
from nodemend.rules.node import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from tests.unit.cli.explain import goldens, machine_goldens

VERDICTS: Final = get_args(NodeHealth)
SHOWN_BY: Final = {
    Healthy: "healthy",
    Suspect: "suspect",
    Unhealthy: "unhealthy",
    Unjudged: "unjudged",
}
"""The world in which a node is just that, and a Machine in that of the same name."""


def verdicts_without_words() -> Iterator[str]:
    """One line for each thing that is wrong."""
    for verdict in VERDICTS:
        if verdict not in SHOWN_BY:
            yield f"nobody has shown a node that is {verdict.__name__}"
            continue
        world = SHOWN_BY[verdict]
        yield from _explained_badly(verdict, f"{goldens.NODE} ", goldens.explained(world))
        machine = f"Machine default/{machine_goldens.MACHINE} "
        yield from _explained_badly(verdict, machine, machine_goldens.explained(world))


def _explained_badly(verdict: type, whose: str, view: ExplainView) -> Iterator[str]:
    if view.health != verdict.__name__:
        yield f"{whose}should be {verdict.__name__}, and is {view.health}"
    if not view.headline.startswith(whose) or not view.headline.endswith(".") or not view.next_step:
        yield f"{verdict.__name__} is told as {view.headline!r}, next {view.next_step!r}"
    if not any(row.key == "unhealthy" and row.because for row in view.questions):
        yield f"{verdict.__name__} does not say by what"
