"""The order of what several clocks tell, some of them in whole seconds only. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from nodemend.cli.timeline.drafts import Draft

CAUSES: Final = (
    "last-life",
    "not-ready",
    "unhealthy",
    "started",
    "asked-to-end",
    "held-off",
    "off",
    "evidence",
    "release",
    "gone",
    "marker-off",
    "let-on",
    "on",
    "rebooted",
    "ready",
    "succeeded",
    "withdrawn",
    "ended",
    "healthy",
)
"""By their keys: what comes later here follows from what comes before."""


def ranking(drafts: Iterable[Draft]) -> Callable[[Draft], tuple[datetime, int]]:
    """A key to sort them by. Of one second, what bears no fraction comes after what it follows from."""
    finely: defaultdict[datetime, list[Draft]] = defaultdict(list)
    for draft in drafts:
        if draft.at.microsecond and draft.key in CAUSES:
            finely[draft.at.replace(microsecond=0)].append(draft)

    def key(draft: Draft) -> tuple[datetime, int]:
        rank = _rank(draft)
        if draft.at.microsecond or draft.key not in CAUSES:
            return draft.at, rank
        causes = (other.at for other in finely[draft.at] if _rank(other) < rank)
        return max(causes, default=draft.at), rank

    return key


def _rank(draft: Draft) -> int:
    return CAUSES.index(draft.key) if draft.key in CAUSES else len(CAUSES)
