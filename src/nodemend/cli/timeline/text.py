"""Text output of `kubectl mend timeline`, as wide as the terminal."""

from collections.abc import Iterator
from datetime import tzinfo
from typing import Final

from nodemend.cli.text import fold, spell_list, spell_seconds
from nodemend.cli.timeline.collect import Emphasis, Moment, TimelineView
from nodemend.safety.holds import spell_count

GAP: Final = 120.0
"""Seconds without a record after which a separate line shows the gap."""
_NARROWEST: Final = 24
_HEADS: Final = ("TIME", "AFTER", "WHO")
_LOUD: Final = {
    Emphasis.EVIDENCE: "EVIDENCE ",
    Emphasis.RELEASE: "RELEASE: ",
    Emphasis.PROBLEM: "! ",
    Emphasis.PLAIN: "",
}


def render(view: TimelineView, width: int, zone: tzinfo | None) -> Iterator[str]:
    """Render the timeline. If `zone` is None, times are in the local time zone."""
    yield from fold(_headline(view, zone), width)
    yield ""
    if view.moments:
        yield from _table(view, width, zone)
        yield ""
    for line in _summary(view, zone):
        yield from fold(line, width, "  ")
    for note in view.notes:
        yield from fold(note, width)
    for unread in view.unread:
        yield f"Warning: {unread}"
    yield f"Next: {view.next_step}"


def _headline(view: TimelineView, zone: tzinfo | None) -> str:
    span = spell_seconds(view.since_seconds)
    if not view.moments:
        return f"{view.node}, {view.state}: no change is recorded in the last {span}."
    first = view.moments[0].at.astimezone(zone)
    took = spell_seconds((view.now - view.moments[0].at).total_seconds())
    counted = spell_count(len(view.moments), "change")
    return f"{view.node}, {view.state}: {counted} since {first:%Y-%m-%d %H:%M:%S %Z}, {took} ago"


def _table(view: TimelineView, width: int, zone: tzinfo | None) -> Iterator[str]:
    afters = [_after(view.moments, place) for place in range(len(view.moments))]
    widths = (8, max(5, *map(len, afters)), max(len(one.lane) for one in view.moments))
    room = max(width - sum(widths) - 9, _NARROWEST)
    yield _line(_HEADS, widths, "WHAT")
    day = None
    for place, moment in enumerate(view.moments):
        at = moment.at.astimezone(zone)
        if day not in (None, at.date()):
            yield f"{at:%Y-%m-%d}"
        day = at.date()
        if place and (gap := _seconds(view.moments, place)) >= GAP:
            yield _line(("   ...", "", ""), widths, f"({spell_seconds(gap)} without a record)")
        first, *more = fold(f"{_LOUD[moment.mark]}{spell_change(moment)}", room) or [""]
        yield _line((f"{at:%H:%M:%S}", afters[place], moment.lane), widths, first)
        yield from (_line(("", "", ""), widths, line) for line in more)


def _line(cells: tuple[str, ...], widths: tuple[int, ...], what: str) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "   ".join((*padded, what)).rstrip()


def _seconds(moments: tuple[Moment, ...], place: int) -> float:
    return (moments[place].at - moments[place - 1].at).total_seconds()


def _after(moments: tuple[Moment, ...], place: int) -> str:
    return f"+{spell_seconds(_seconds(moments, place))}" if place else ""


def spell_change(moment: Moment) -> str:
    """Return the change with its sources, and the number of its occurrences if there was more than one."""
    often = ""
    if moment.times > 1:
        lasted = (moment.last - moment.at).total_seconds() if moment.last is not None else 0.0
        often = f" (reported {moment.times} times in {spell_seconds(lasted)})"
    return f"{moment.what}{often} [{spell_list(moment.sources)}]"


def _summary(view: TimelineView, zone: tzinfo | None) -> Iterator[str]:
    if view.releases:
        yield spell_release(view, zone)
    if view.measures:
        yield f"Durations: {spell_measures(view)}."
    if view.earlier:
        older = spell_count(view.earlier, "change is", "changes are")
        yield f"{older} older than {spell_seconds(view.since_seconds)}; --since shows more."


def spell_release(view: TimelineView, zone: tzinfo | None) -> str:
    """Describe the last release, with the number of releases."""
    last = view.releases[-1]
    often = f"{len(view.releases)} times, the last " if len(view.releases) > 1 else ""
    on = (
        f"evidence {last.evidence}: {last.because}"
        if last.evidence
        else "evidence that is no longer on record."
    )
    return f"Released {often}at {last.at.astimezone(zone):%H:%M:%S} on {on}"


def spell_measures(view: TimelineView) -> str:
    return ", ".join(
        f"{one.name} {spell_seconds(one.seconds)}{' so far' if one.lasts else ''}" for one in view.measures
    )
