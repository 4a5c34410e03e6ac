"""The upper half of the picture: one lane for each actor, with what lasted and what happened in it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

from nodemend.cli.timeline import svg
from nodemend.cli.timeline.pins import HEIGHT, SIZE, Pin, gathered
from nodemend.cli.timeline.scale import Scale
from nodemend.cli.timeline.view import Bar, Lane, Mark, Moment, TimelineView, Tone
from nodemend.cli.words import spell_seconds

LEFT: Final = 128.0
RIGHT: Final = 1176.0
LANE: Final = 62.0
_BAR: Final = 20.0
_SMALL: Final = 11.0
_SMALLEST: Final = 9.5


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the lanes are."""

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
    """Those in which there is something."""
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
            yield svg.box("band", (24, top), (RIGHT - 24, LANE))
        yield svg.text(36, top + 25, lane, size=13, font_weight="600")


def _axis(frame: Frame) -> Iterator[str]:
    for at in frame.scale.ticks(apart=92.0):
        x = frame.scale.place(at)
        yield svg.line("grid", (x, frame.top - 6), (x, frame.bottom))
        said = f"{at.astimezone(frame.zone):%H:%M:%S}"
        yield svg.text(x, frame.top - 12, said, "soft", size=_SMALL, text_anchor="middle")


def _cuts(frame: Frame) -> Iterator[str]:
    """A slanted slit through all lanes, with how long it was."""
    for cut in frame.scale.cuts:
        middle, above = (cut.left + cut.right) / 2, frame.top - 6
        yield svg.path("page", f"M{middle - 2:.1f} {above:.1f}h8L{middle + 2:.1f} {frame.bottom:.1f}h-8z")
        for x in (middle - 2, middle + 6):
            yield svg.line("edge", (x, above), (x - 4, frame.bottom))
        yield svg.text(
            middle,
            frame.top - 12,
            spell_seconds(cut.seconds),
            "soft",
            size=_SMALL,
            text_anchor="middle",
            font_style="italic",
        )


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A bar as it is drawn."""

    bar: Bar
    left: float
    width: float
    top: float
    took: str

    @property
    def box(self) -> str:
        title = f"{self.bar.state.label}: {self.took}{' so far' if self.bar.end is None else ''}"
        at, size = (self.left, self.top), (self.width, _BAR)
        return svg.box(self.bar.state.tone, at, size, round_=min(4.0, self.width / 2), title=title)

    @property
    def label(self) -> str:
        """With its duration, or without, or smaller, or none, as there is room."""
        named = self.bar.state.label
        choices = ((f"{named} {self.took}", _SMALL), (named, _SMALL), (named, _SMALLEST))
        look = "on-dark" if self.bar.state.tone is Tone.DARK else "ink"
        for said, size in choices:
            margin = (self.width - svg.width_of(said, size)) / 2
            if margin >= 1.0:
                return svg.text(self.left + min(6.0, margin), self.top + 14, said, look, size=size)
        return ""


def _stretch(frame: Frame, bar: Bar) -> _Stretch:
    end = bar.end or frame.view.now
    left, right = frame.scale.place(bar.begin), frame.scale.place(end)
    took = spell_seconds((end - bar.begin).total_seconds())
    # A hair's breadth less, so that two of the same colour are seen to be two.
    return _Stretch(bar, left, max(right - left - 1.0, 3.0), frame.lane_top(bar.lane) + 10, took)


def _flags(frame: Frame) -> Iterator[str]:
    """Each release, through all lanes, with the evidence that it was allowed on."""
    free = 0.0
    for release in frame.view.releases:
        x = frame.scale.place(release.at)
        yield svg.line("flag", (x, frame.top - 28), (x, frame.bottom))
        said = f"released on {release.evidence or 'evidence of the past'}"
        width = svg.width_of(said, 12.0) + 12
        left = min(x, RIGHT - width)
        if left >= free:
            yield svg.box("flagged", (left, frame.top - 46), (width, 18), round_=3)
            yield svg.text(left + 6, frame.top - 33, said, "on-release", size=12, font_weight="600")
            free = left + width + 6


def _pins(frame: Frame, lane: Lane) -> Iterator[str]:
    top = frame.lane_top(lane) + 36
    single = [
        Pin((number,), frame.scale.place(one.at), one.mark)
        for number, one in enumerate(frame.view.moments, 1)
        if one.lane is lane
    ]
    for pin in gathered(single):
        titles = [_title(frame.view.moments[number - 1], frame.zone) for number in pin.numbers]
        yield svg.box(
            pin.mark, (pin.left, top), (pin.width, HEIGHT), round_=HEIGHT / 2, title="; ".join(titles)
        )
        look = "on-release" if pin.mark is Mark.RELEASE else "ink"
        yield svg.text(pin.x, top + 12, pin.label, look, size=SIZE, text_anchor="middle")


def _title(moment: Moment, zone: tzinfo | None) -> str:
    return f"{spell_clock(moment.at, zone)} {moment.what}"


def spell_clock(at: datetime, zone: tzinfo | None) -> str:
    return f"{at.astimezone(zone):%H:%M:%S}"
