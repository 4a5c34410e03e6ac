"""Draws a timeline as one self-contained SVG, with styles for light and dark colour schemes. Pure.

The upper half has one lane per actor, with its bars and pins. Below are the numbered moments with their
sources. A pin is labelled with the numbers of its moments in that list, and overlapping pins are merged. Long
gaps without entries are shortened.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from nodemend.cli.text import fold, spell_seconds
from nodemend.cli.timeline.collect import Bar, Emphasis, Lane, Moment, TimelineView, Tone
from nodemend.cli.timeline.text import spell_change, spell_measures, spell_release
from nodemend.telemetry.printable import printable

CUT_WIDTH: Final = 44.0
CUT_FROM: Final = 600.0
"""Seconds. A shorter gap is never cut."""
_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


@dataclass(frozen=True, slots=True)
class ShortenedGap:
    """A gap that is drawn shorter than it was."""

    left: float
    right: float
    begin: datetime
    seconds: float


@dataclass(frozen=True, slots=True)
class Scale:
    """A mapping that is linear between its knots, which are in order of time."""

    times: tuple[datetime, ...]
    places: tuple[float, ...]
    cuts: tuple[ShortenedGap, ...]

    def place(self, at: datetime) -> float:
        """Return the x coordinate. A time outside the scale is at its edge."""
        if at <= self.times[0]:
            return self.places[0]
        if at >= self.times[-1]:
            return self.places[-1]
        after = bisect_right(self.times, at)
        begin, end = self.times[after - 1], self.times[after]
        left, right = self.places[after - 1], self.places[after]
        return left + (right - left) * ((at - begin) / (end - begin))

    def ticks(self, apart: float) -> Iterator[datetime]:
        """Yield round times with at least this distance, none near a cut."""
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
        """Yield the intervals between the cuts."""
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
    """Return a scale from the first time to the last. `moments` are in order and not all equal."""
    times = sorted(set(moments))
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    cut = _too_long(gaps)
    room = (right - left) - CUT_WIDTH * len(cut)
    rest = sum(gap for place, gap in enumerate(gaps) if place not in cut)
    places, cuts = [left], []
    for place, gap in enumerate(gaps):
        width = CUT_WIDTH if place in cut else room * gap / rest
        if place in cut:
            cuts.append(ShortenedGap(places[-1], places[-1] + width, times[place], gap))
        places.append(places[-1] + width)
    return Scale(tuple(times), tuple(places), tuple(cuts))


def _too_long(gaps: Sequence[float]) -> frozenset[int]:
    """Return the indexes of the gaps to cut.

    These are repeatedly the longest gap, if it takes a third or more of the remaining time. The only
    remaining gap is never cut.
    """
    total, cut = sum(gaps), set()
    for place in sorted(range(len(gaps)), key=lambda place: -gaps[place]):
        others = total - gaps[place]
        if gaps[place] < CUT_FROM or gaps[place] * 2 < others or others <= 0:
            break
        cut.add(place)
        total = others
    return frozenset(cut)


def widened(first: datetime, last: datetime) -> tuple[datetime, datetime]:
    """Return an interval of at least one minute, so that a single moment can be drawn."""
    return first, max(last, first + timedelta(minutes=1))


LETTER: Final = 0.56
"""Assumed maximum of the average letter width, relative to the font size. The reader's font is unknown."""
_STYLES: Final = {
    ".page": ("fill:#ffffff", "fill:#0d1117"),
    ".ink": ("fill:#1f2328", "fill:#e6edf3"),
    ".soft": ("fill:#59636e", "fill:#9ba4ae"),
    ".grid": ("stroke:#e4e8ec", "stroke:#21262d"),
    ".edge": ("stroke:#c5ccd3", "stroke:#3d444d"),
    ".band": ("fill:#f6f8fa", "fill:#151b23"),
    ".well": ("fill:#bfe8c8", "fill:#1d5c2e"),
    ".waits": ("fill:#f7e3a1", "fill:#6b5310"),
    ".sick": ("fill:#f9c0bb", "fill:#86251f"),
    ".works": ("fill:#bcd9f7", "fill:#174d85"),
    ".dark": ("fill:#3a424c", "fill:#000000;stroke:#6e7681"),
    ".on-dark": ("fill:#ffffff", "fill:#e6edf3"),
    ".plain": ("fill:#ffffff;stroke:#59636e", "fill:#0d1117;stroke:#9ba4ae"),
    ".trouble": ("fill:#ffe5e2;stroke:#b3261e", "fill:#3d1412;stroke:#ff7b72"),
    ".evidence": ("fill:#e9ddfb;stroke:#6f42c1", "fill:#2c1f45;stroke:#c297ff"),
    ".release": ("fill:#6f42c1;stroke:#6f42c1", "fill:#c297ff;stroke:#c297ff"),
    ".flag": ("stroke:#6f42c1", "stroke:#c297ff"),
    ".flagged": ("fill:#6f42c1", "fill:#c297ff"),
    ".on-release": ("fill:#ffffff", "fill:#0d1117"),
}
"""Light and dark style by class."""
_FONT: Final = "Inter,'Helvetica Neue',Helvetica,Arial,'Liberation Sans',sans-serif"


def style() -> str:
    light = "".join(f"{name}{{{css_class}}}" for name, (css_class, _) in _STYLES.items())
    dark = "".join(f"{name}{{{css_class}}}" for name, (_, css_class) in _STYLES.items())
    return (
        f"<style>text{{font-family:{_FONT};font-variant-numeric:tabular-nums}}"
        f"{light}@media (prefers-color-scheme:dark){{{dark}}}</style>"
    )


def text(x: float, y: float, said: str, css_class: str = "ink", *, size: float = 12.0, **others: str) -> str:
    """Return a text element. `others` are SVG attributes, with _ for -."""
    extra = "".join(f" {name.replace('_', '-')}={quoteattr(value)}" for name, value in others.items())
    return (
        f'<text class="{css_class}" x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{extra}>{safe(said)}</text>'
    )


def line(css_class: str, from_: tuple[float, float], to: tuple[float, float]) -> str:
    (x, y), (to_x, to_y) = from_, to
    return f'<line class="{css_class}" x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>'


def path(css_class: str, way: str) -> str:
    return f'<path class="{css_class}" d="{way}"/>'


def box(
    css_class: str,
    at: tuple[float, float],
    size: tuple[float, float],
    *,
    round_: float = 0.0,
    title: str = "",
) -> str:
    reported = f"<title>{safe(title)}</title>" if title else ""
    return (
        f'<rect class="{css_class}" x="{at[0]:.1f}" y="{at[1]:.1f}"'
        f' width="{size[0]:.1f}" height="{size[1]:.1f}"'
        f' rx="{round_:g}">{reported}</rect>'
    )


def sign(mark: Emphasis, x: float, y: float) -> str:
    """Return a shape per mark, so that no information is in colour alone: dot, triangle, diamond, arrow."""
    shapes = {
        Emphasis.PLAIN: f"M{x - 3:.1f} {y:.1f}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
        Emphasis.PROBLEM: f"M{x:.1f} {y - 5:.1f}l5 9h-10z",
        Emphasis.EVIDENCE: f"M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
        Emphasis.RELEASE: f"M{x - 5:.1f} {y - 5:.1f}l10 5l-10 5z",
    }
    return path(mark, shapes[mark])


def width_of(said: str, size: float) -> float:
    return len(said) * size * LETTER


def shortened(said: str, room: float, size: float) -> str:
    """Return the text, truncated to the available width."""
    most = int(room / (size * LETTER))
    return said if len(said) <= most else f"{said[: max(most - 1, 0)]}…"


def safe(said: str) -> str:
    return escape(printable(said, 4000))


HEIGHT: Final = 16.0
SIZE: Final = 11.0
"""Font size of the label."""
_HEAVY: Final = (Emphasis.PROBLEM, Emphasis.RELEASE, Emphasis.EVIDENCE, Emphasis.PLAIN)
"""Priority of marks, the highest first. A pin of several moments shows the highest."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One moment or several that are too close to each other, by their numbers in the list."""

    numbers: tuple[int, ...]
    x: float
    mark: Emphasis

    @property
    def label(self) -> str:
        first, last = self.numbers[0], self.numbers[-1]
        if first == last:
            return str(first)
        whole = len(self.numbers) == last - first + 1
        return f"{first}-{last}" if whole or len(self.numbers) > 3 else ",".join(map(str, self.numbers))

    @property
    def width(self) -> float:
        return max(HEIGHT, width_of(self.label, SIZE) + 9)

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2


def group_pins(pins: Sequence[Pin]) -> list[Pin]:
    """Merge overlapping pins until none covers another."""
    placed: list[Pin] = []
    for pin in pins:
        placed.append(pin)
        while len(placed) > 1 and placed[-1].left < placed[-2].right + 2:
            second, first = placed.pop(), placed.pop()
            placed.append(_together(first, second))
    return placed


def _together(first: Pin, second: Pin) -> Pin:
    many, more = len(first.numbers), len(second.numbers)
    x = (first.x * many + second.x * more) / (many + more)
    mark = min(first.mark, second.mark, key=_HEAVY.index)
    return Pin((*first.numbers, *second.numbers), x, mark)


LEFT: Final = 128.0
RIGHT: Final = 1176.0
LANE: Final = 62.0
_BAR: Final = 20.0
_SMALL: Final = 11.0
_SMALLEST: Final = 9.5


@dataclass(frozen=True, slots=True)
class Frame:
    """Position of the lanes."""

    view: TimelineView
    scale: Scale
    zone: tzinfo | None
    top: float
    lanes: tuple[Lane, ...]

    @property
    def bottom(self) -> float:
        return self.top + LANE * len(self.lanes)

    def lane_top(self, lane: Lane) -> float:
        return self.top + LANE * self.lanes.index(lane)


def lanes_of(view: TimelineView) -> tuple[Lane, ...]:
    """Return the lanes that are not empty."""
    used = {one.lane for one in view.moments} | {one.lane for one in view.bars}
    return tuple(lane for lane in Lane if lane in used)


def draw_lanes(frame: Frame) -> Iterator[str]:
    yield from _ground(frame)
    yield from _axis(frame)
    stretches = [_stretch(frame, bar) for bar in frame.view.bars]
    yield from (one.box for one in stretches)
    yield from _cuts(frame)
    yield from _flags(frame)
    yield from (label for one in stretches if (label := one.label))
    for lane in frame.lanes:
        yield from _pins(frame, lane)


def _ground(frame: Frame) -> Iterator[str]:
    for number, lane in enumerate(frame.lanes):
        top = frame.lane_top(lane)
        if number % 2 == 0:
            yield box("band", (24, top), (RIGHT - 24, LANE))
        yield text(36, top + 25, lane, size=13, font_weight="600")


def _axis(frame: Frame) -> Iterator[str]:
    for at in frame.scale.ticks(apart=92.0):
        x = frame.scale.place(at)
        yield line("grid", (x, frame.top - 6), (x, frame.bottom))
        said = spell_clock(at, frame.zone)
        yield text(x, frame.top - 12, said, "soft", size=_SMALL, text_anchor="middle")


def _cuts(frame: Frame) -> Iterator[str]:
    """Draw a slanted gap through all lanes for each cut of the time axis, with its duration."""
    for cut in frame.scale.cuts:
        middle, above = (cut.left + cut.right) / 2, frame.top - 6
        yield path("page", f"M{middle - 2:.1f} {above:.1f}h8L{middle + 2:.1f} {frame.bottom:.1f}h-8z")
        for x in (middle - 2, middle + 6):
            yield line("edge", (x, above), (x - 4, frame.bottom))
        yield text(
            middle,
            frame.top - 12,
            spell_seconds(cut.seconds),
            "soft",
            size=_SMALL,
            text_anchor="middle",
            font_style="italic",
        )


@dataclass(frozen=True, slots=True)
class _BarSegment:
    bar: Bar
    left: float
    width: float
    top: float
    took: str

    @property
    def box(self) -> str:
        title = f"{self.bar.state.label}: {self.took}{' so far' if self.bar.end is None else ''}"
        at, size = (self.left, self.top), (self.width, _BAR)
        return box(self.bar.state.tone, at, size, round_=min(4.0, self.width / 2), title=title)

    @property
    def label(self) -> str:
        """The label with its duration, without it, in a smaller font, or empty, depending on the width."""
        named = self.bar.state.label
        choices = ((f"{named} {self.took}", _SMALL), (named, _SMALL), (named, _SMALLEST))
        css_class = "on-dark" if self.bar.state.tone is Tone.DARK else "ink"
        for said, size in choices:
            margin = (self.width - width_of(said, size)) / 2
            if margin >= 1.0:
                return text(self.left + min(6.0, margin), self.top + 14, said, css_class, size=size)
        return ""


def _stretch(frame: Frame, bar: Bar) -> _BarSegment:
    end = bar.end or frame.view.now
    left, right = frame.scale.place(bar.begin), frame.scale.place(end)
    took = spell_seconds((end - bar.begin).total_seconds())
    # One unit narrower, so that adjacent bars of one colour stay distinguishable.
    return _BarSegment(bar, left, max(right - left - 1.0, 3.0), frame.lane_top(bar.lane) + 10, took)


def _flags(frame: Frame) -> Iterator[str]:
    """Draw each release as a line through all lanes, with its evidence."""
    free = 0.0
    for release in frame.view.releases:
        x = frame.scale.place(release.at)
        yield line("flag", (x, frame.top - 28), (x, frame.bottom))
        said = f"released on {release.evidence or 'evidence of the past'}"
        width = width_of(said, 12.0) + 12
        left = min(x, RIGHT - width)
        if left >= free:
            yield box("flagged", (left, frame.top - 46), (width, 18), round_=3)
            yield text(left + 6, frame.top - 33, said, "on-release", size=12, font_weight="600")
            free = left + width + 6


def _pins(frame: Frame, lane: Lane) -> Iterator[str]:
    top = frame.lane_top(lane) + 36
    single = [
        Pin((number,), frame.scale.place(one.at), one.mark)
        for number, one in enumerate(frame.view.moments, 1)
        if one.lane is lane
    ]
    for pin in group_pins(single):
        moments = [frame.view.moments[number - 1] for number in pin.numbers]
        title = "; ".join(f"{spell_clock(one.at, frame.zone)} {one.what}" for one in moments)
        yield box(pin.mark, (pin.left, top), (pin.width, HEIGHT), round_=HEIGHT / 2, title=title)
        css_class = "on-release" if pin.mark is Emphasis.RELEASE else "ink"
        yield text(pin.x, top + 12, pin.label, css_class, size=SIZE, text_anchor="middle")


def spell_clock(at: datetime, zone: tzinfo | None) -> str:
    return f"{at.astimezone(zone):%H:%M:%S}"


_WIDTH: Final = 1200.0
_SIZE: Final = 12.0
_LINE: Final = 17.0
_WHAT: Final = 262.0
"""X coordinate of a moment's text."""
_TONES: Final = {
    Tone.WELL: "well",
    Tone.WAITS: "waits",
    Tone.SICK: "sick",
    Tone.WORKS: "in progress",
    Tone.DARK: "without power",
}
_SIGNS: Final = {Emphasis.EVIDENCE: "evidence", Emphasis.RELEASE: "release", Emphasis.PROBLEM: "trouble"}


def draw(view: TimelineView, zone: tzinfo | None) -> str:
    """Return the SVG. If `zone` is None, times are in the local time zone."""
    head, top = _head(view, zone)
    body, bottom = _body(view, zone, top)
    height = bottom + 20
    title = f"What happened to {view.node}"
    size = f'viewBox="0 0 {_WIDTH:g} {height:g}" width="{_WIDTH:g}" height="{height:g}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{safe(title)}</title>",
            style(),
            box("page", (0, 0), (_WIDTH, height)),
            *head,
            *body,
            "</svg>",
            "",
        )
    )


def _head(view: TimelineView, zone: tzinfo | None) -> tuple[list[str], float]:
    """Draw the node's name and the summary. Returns the elements and the y coordinate below them."""
    name = shortened(view.node, RIGHT - 36, 20)
    drawn = [text(36, 42, name, size=20, font_weight="700")]
    y = 64.0
    for said, css_class in _sentences(view, zone):
        for part in fold(said, _letters(RIGHT - 36)):
            drawn.append(text(36, y, part, css_class, size=_SIZE + 1))
            y += _LINE + 2
    return drawn, y


def _sentences(view: TimelineView, zone: tzinfo | None) -> Iterator[tuple[str, str]]:
    span = f"{view.now.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"
    if view.moments:
        took = spell_seconds((view.now - view.moments[0].at).total_seconds())
        yield f"{view.state} at {span}; shown are the {took} before", "soft"
    else:
        since = spell_seconds(view.since_seconds)
        yield f"{view.state} at {span}; no change is recorded in the {since} before", "soft"
    if view.releases:
        yield spell_release(view, zone), "flagged"
    if view.measures:
        said = spell_measures(view)
        yield f"{said[0].upper()}{said[1:]}.", "ink"


def _body(view: TimelineView, zone: tzinfo | None, top: float) -> tuple[list[str], float]:
    if not view.moments:
        return [], top
    first, last = widened(view.moments[0].at, max(view.now, view.moments[-1].at))
    scale = fit([first, *(one.at for one in view.moments), last], LEFT, RIGHT - 16)
    flags = 24 if view.releases else 0
    frame = Frame(view, scale, zone, top + 36 + flags, lanes_of(view))
    drawn = [*draw_lanes(frame), line("edge", (24, frame.bottom), (RIGHT, frame.bottom))]
    drawn += _legend(frame.bottom + 22)
    y = frame.bottom + 56
    for number, moment in enumerate(view.moments, 1):
        rows = fold(spell_change(moment), _letters(RIGHT - _WHAT))
        drawn += _row(number, moment, rows, y, zone)
        y += _LINE * len(rows) + 5
    for note in (*view.notes, *view.unread):
        for part in fold(note, _letters(RIGHT - 36)):
            drawn.append(text(36, y + 6, part, "soft", size=_SIZE))
            y += _LINE
    return drawn, y


def _legend(y: float) -> Iterator[str]:
    x = LEFT
    for tone, meaning in _TONES.items():
        yield box(tone, (x, y - 9), (14, 11), round_=2)
        yield text(x + 20, y, meaning, "soft", size=_SIZE - 1)
        x += 34 + width_of(meaning, _SIZE - 1)
    x += 24
    for mark, meaning in _SIGNS.items():
        yield sign(mark, x + 6, y - 4)
        yield text(x + 18, y, meaning, "soft", size=_SIZE - 1)
        x += 34 + width_of(meaning, _SIZE - 1)


def _row(number: int, moment: Moment, rows: list[str], y: float, zone: tzinfo | None) -> Iterator[str]:
    yield text(56, y, str(number), "soft", size=_SIZE, text_anchor="end")
    yield sign(moment.mark, 72, y - 4)
    yield text(88, y, spell_clock(moment.at, zone), size=_SIZE)
    yield text(152, y, moment.lane, "soft", size=_SIZE)
    weight = "400" if moment.mark is Emphasis.PLAIN else "600"
    for place, said in enumerate(rows):
        yield text(_WHAT, y + _LINE * place, said, size=_SIZE, font_weight=weight)


def _letters(room: float) -> int:
    return int(room / (_SIZE * LETTER))
