"""Where in a picture each moment stands. Long times in which nothing happened are cut. Pure."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

CUT_WIDTH: Final = 44.0
CUT_FROM: Final = 600.0
"""Seconds: a shorter gap is never cut."""
_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


@dataclass(frozen=True, slots=True)
class Cut:
    """A gap that is drawn shorter than it was."""

    left: float
    right: float
    begin: datetime
    seconds: float


@dataclass(frozen=True, slots=True)
class Scale:
    """Straight between its knots, which are in order of time."""

    times: tuple[datetime, ...]
    places: tuple[float, ...]
    cuts: tuple[Cut, ...]

    def place(self, at: datetime) -> float:
        """What is outside stands at the edge."""
        if at <= self.times[0]:
            return self.places[0]
        if at >= self.times[-1]:
            return self.places[-1]
        after = bisect_right(self.times, at)
        begin, end = self.times[after - 1], self.times[after]
        left, right = self.places[after - 1], self.places[after]
        return left + (right - left) * ((at - begin) / (end - begin))

    def ticks(self, apart: float) -> Iterator[datetime]:
        """Round times, at least so far apart, and none near a cut."""
        last, step = self.places[0] - apart, self._step(apart)
        for begin, end in self._stretches():
            first = -(-int(begin.timestamp()) // step) * step
            for seconds in range(first, int(end.timestamp()) + 1, step):
                at = datetime.fromtimestamp(seconds, UTC)
                place = self.place(at)
                near = any(cut.left - apart / 2 < place < cut.right + apart / 2 for cut in self.cuts)
                if place - last >= apart and not near:
                    yield at
                    last = place

    def _stretches(self) -> Iterator[tuple[datetime, datetime]]:
        """What is left between the cuts."""
        begin = self.times[0]
        for cut in self.cuts:
            yield begin, cut.begin
            begin = cut.begin + timedelta(seconds=cut.seconds)
        yield begin, self.times[-1]

    def _step(self, apart: float) -> int:
        drawn = self.places[-1] - self.places[0] - CUT_WIDTH * len(self.cuts)
        took = (self.times[-1] - self.times[0]).total_seconds() - sum(cut.seconds for cut in self.cuts)
        needed = took / max(drawn, 1.0) * apart
        return next((step for step in _STEPS if step >= needed), _STEPS[-1])


def fit(moments: Sequence[datetime], left: float, right: float) -> Scale:
    """From the first of them to the last, which are in order and not all the same."""
    times = sorted(set(moments))
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    cut = _too_long(gaps)
    room = (right - left) - CUT_WIDTH * len(cut)
    rest = sum(gap for place, gap in enumerate(gaps) if place not in cut)
    places, cuts = [left], []
    for place, gap in enumerate(gaps):
        width = CUT_WIDTH if place in cut else room * gap / rest
        if place in cut:
            cuts.append(Cut(places[-1], places[-1] + width, times[place], gap))
        places.append(places[-1] + width)
    return Scale(tuple(times), tuple(places), tuple(cuts))


def _too_long(gaps: Sequence[float]) -> frozenset[int]:
    """Those that would take more than a third of the picture, the longest first; but never the only one."""
    total, cut = sum(gaps), set()
    for place in sorted(range(len(gaps)), key=lambda place: -gaps[place]):
        others = total - gaps[place]
        if gaps[place] < CUT_FROM or gaps[place] * 2 < others or others <= 0:
            break
        cut.add(place)
        total = others
    return frozenset(cut)


def widened(first: datetime, last: datetime) -> tuple[datetime, datetime]:
    """At least a minute, so that a single moment has a picture too."""
    return (first, last) if last - first >= timedelta(minutes=1) else (first, first + timedelta(minutes=1))
