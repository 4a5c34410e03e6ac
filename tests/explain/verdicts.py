"""Every verdict on a node, explained whole: a headline, its reason, and what to do next."""

from collections.abc import Iterator
from typing import Final, get_args

from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from tests.unit.cli.explain.goldens import NODE, explained

VERDICTS: Final = get_args(NodeHealth)
SHOWN_BY: Final = {
    Healthy: "healthy",
    Suspect: "suspect",
    Unhealthy: "unhealthy",
    Unjudged: "unjudged",
}
"""The world in which a node is just that."""


def verdicts_without_words() -> Iterator[str]:
    """One line for each thing that is wrong."""
    for verdict in VERDICTS:
        if verdict not in SHOWN_BY:
            yield f"nobody has shown a node that is {verdict.__name__}"
            continue
        view = explained(SHOWN_BY[verdict])
        if view.health != verdict.__name__:
            yield f"a node that should be {verdict.__name__} is {view.health}"
        if not view.headline.startswith(f"{NODE} ") or not view.headline.endswith(".") or not view.next_step:
            yield f"{verdict.__name__} is told as {view.headline!r}, next {view.next_step!r}"
        if not any(row.key == "unhealthy" and row.because for row in view.questions):
            yield f"{verdict.__name__} does not say by what"
