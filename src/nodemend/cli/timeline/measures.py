"""How long the parts of it took, of the last time that each came to pass. Pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from nodemend.cli.timeline.view import Measure, Moment

_CUT_SHORT: Final = ("failed", "stopped", "ended", "withdrawn", "voided", "attempt-failed")
_PARTS: Final = (
    ("silent", "last-life", "ready", ()),
    ("to fence", "started", "evidence", (*_CUT_SHORT, "gone")),
    ("to release", "evidence", "gone", _CUT_SHORT),
    ("to recover", "gone", "succeeded", _CUT_SHORT),
)
"""Its name, what it begins with, what it ends with, and what cuts it short."""


def measure(moments: Sequence[Moment], now: datetime) -> Iterator[Measure]:
    stands = [one for place, one in enumerate(moments) if not _is_voided(moments[place:])]
    for name, first, last, cut_short in _PARTS:
        begins = [one.at for one in stands if one.key == first]
        if not begins:
            continue
        after = [one for one in stands if one.at >= begins[-1]]
        ends = [one.at for one in after if one.key == last]
        if ends:
            yield Measure(name=name, seconds=(ends[0] - begins[-1]).total_seconds())
        elif not any(one.key in cut_short for one in after):
            yield Measure(name=name, seconds=(now - begins[-1]).total_seconds(), lasts=True)


def _is_voided(moments: Sequence[Moment]) -> bool:
    """The first of them is evidence, and was taken back before there was other."""
    first, *later = moments
    if first.key != "evidence":
        return False
    return next((one.key for one in later if one.key in ("evidence", "voided", "gone")), "") == "voided"
