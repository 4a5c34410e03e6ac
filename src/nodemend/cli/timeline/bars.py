"""What lasted, and for how long, from what began when. Pure."""

from collections.abc import Iterable
from datetime import datetime

from nodemend.cli.timeline.drafts import HELD, OVER, REMEDIATION, Begin
from nodemend.cli.timeline.view import Bar, Lane, State


def bars_of(turns: Iterable[tuple[datetime, tuple[Begin, ...]]]) -> tuple[Bar, ...]:
    """In each lane one thing at a time. What lasts has no end. Turns are in order, if not quite by time."""
    lasting: dict[Lane, tuple[State, datetime]] = {}
    bars: list[Bar] = []
    for at, begins in turns:
        for lane, state in begins:
            before = lasting.get(lane)
            if before is not None and not _ends(before[0], state):
                continue
            if before is not None:
                bars.append(Bar(lane=lane, state=before[0], begin=before[1], end=max(before[1], at)))
                del lasting[lane]
            if state != OVER:
                lasting[lane] = (state, at)
    bars += [Bar(lane=lane, state=state, begin=at, end=None) for lane, (state, at) in lasting.items()]
    return tuple(sorted((bar for bar in bars if bar.begin != bar.end), key=lambda bar: (bar.begin, bar.lane)))


def _ends(before: State, state: State) -> bool:
    """Workloads that are on their way are not held back again by a node that stays away; and what is known
    of a remediation only as such tells nothing new of one whose steps are known."""
    return state not in (before, HELD, REMEDIATION)
