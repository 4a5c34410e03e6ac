"""A timeline as one self-contained SVG: lanes above, the numbered moments with their sources below. Pure."""

from collections.abc import Iterator
from datetime import tzinfo
from typing import Final

from nodemend.cli.timeline import svg
from nodemend.cli.timeline.lanes import LEFT, RIGHT, Frame, draw_lanes, lanes_of, spell_clock
from nodemend.cli.timeline.scale import fit, widened
from nodemend.cli.timeline.text import spell_measures, spell_release, spell_times
from nodemend.cli.timeline.view import Mark, Moment, TimelineView, Tone
from nodemend.cli.words import fold, spell_list, spell_seconds

_WIDTH: Final = 1200.0
_SIZE: Final = 12.0
_LINE: Final = 17.0
_WHAT: Final = 262.0
"""Where the words of a moment begin."""
_TONES: Final = {
    Tone.WELL: "well",
    Tone.WAITS: "waits",
    Tone.SICK: "sick",
    Tone.WORKS: "at work",
    Tone.DARK: "without power",
}
_SIGNS: Final = {Mark.EVIDENCE: "evidence", Mark.RELEASE: "release", Mark.TROUBLE: "trouble"}


def draw(view: TimelineView, zone: tzinfo | None) -> str:
    """`zone` None is wherever the reader is."""
    head, top = _head(view, zone)
    body, bottom = _body(view, zone, top)
    height = bottom + 20
    title = f"What happened to {view.node}"
    size = f'viewBox="0 0 {_WIDTH:g} {height:g}" width="{_WIDTH:g}" height="{height:g}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{svg.safe(title)}</title>",
            svg.style(),
            svg.box("page", (0, 0), (_WIDTH, height)),
            *head,
            *body,
            "</svg>",
            "",
        )
    )


def _head(view: TimelineView, zone: tzinfo | None) -> tuple[list[str], float]:
    """The name, and what matters in a few lines; and where that ends."""
    name = svg.shortened(view.node, RIGHT - 36, 20)
    drawn = [svg.text(36, 42, name, size=20, font_weight="700")]
    y = 64.0
    for said, look in _sentences(view, zone):
        for part in fold(said, _letters(RIGHT - 36)):
            drawn.append(svg.text(36, y, part, look, size=_SIZE + 1))
            y += _LINE + 2
    return drawn, y


def _sentences(view: TimelineView, zone: tzinfo | None) -> Iterator[tuple[str, str]]:
    span = f"{view.now.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"
    if view.moments:
        took = spell_seconds((view.now - view.moments[0].at).total_seconds())
        yield f"{view.state} at {span}; shown are the {took} before", "soft"
    else:
        yield (
            f"{view.state} at {span}; nothing is on record of the {spell_seconds(view.since_seconds)} before",
            "soft",
        )
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
    drawn = [*draw_lanes(frame), svg.line("edge", (24, frame.bottom), (RIGHT, frame.bottom))]
    drawn += _legend(frame.bottom + 22)
    y = frame.bottom + 56
    for number, moment in enumerate(view.moments, 1):
        rows = fold(_told(moment), _letters(RIGHT - _WHAT))
        drawn += _row(number, moment, rows, y, zone)
        y += _LINE * len(rows) + 5
    for note in (*view.notes, *view.unread):
        for part in fold(note, _letters(RIGHT - 36)):
            drawn.append(svg.text(36, y + 6, part, "soft", size=_SIZE))
            y += _LINE
    return drawn, y


def _legend(y: float) -> Iterator[str]:
    """What the colours and the signs mean."""
    x = LEFT
    for tone, meaning in _TONES.items():
        yield svg.box(tone, (x, y - 9), (14, 11), round_=2)
        yield svg.text(x + 20, y, meaning, "soft", size=_SIZE - 1)
        x += 34 + svg.width_of(meaning, _SIZE - 1)
    x += 24
    for mark, meaning in _SIGNS.items():
        yield svg.sign(mark, x + 6, y - 4)
        yield svg.text(x + 18, y, meaning, "soft", size=_SIZE - 1)
        x += 34 + svg.width_of(meaning, _SIZE - 1)


def _row(number: int, moment: Moment, rows: list[str], y: float, zone: tzinfo | None) -> Iterator[str]:
    yield svg.text(56, y, str(number), "soft", size=_SIZE, text_anchor="end")
    yield svg.sign(moment.mark, 72, y - 4)
    yield svg.text(88, y, spell_clock(moment.at, zone), size=_SIZE)
    yield svg.text(152, y, moment.lane, "soft", size=_SIZE)
    weight = "400" if moment.mark is Mark.PLAIN else "600"
    for place, said in enumerate(rows):
        yield svg.text(_WHAT, y + _LINE * place, said, size=_SIZE, font_weight=weight)


def _told(moment: Moment) -> str:
    return f"{moment.what}{spell_times(moment)} [{spell_list(moment.sources)}]"


def _letters(room: float) -> int:
    return int(room / (_SIZE * svg.LETTER))
