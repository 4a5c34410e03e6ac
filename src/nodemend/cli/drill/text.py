"""`kubectl mend drill` for a person."""

from collections.abc import Iterator

from nodemend.cli.drill.view import DrilledView, DrillView, Outcome
from nodemend.cli.words import fold, spell_names, spell_seconds
from nodemend.decide.explanation import spell_count


def render_preview(view: DrillView, width: int) -> Iterator[str]:
    """All that a person should know before they type the node's name."""
    yield f"This resets {view.node}, now, by its watchdog: {view.watchdog}."
    yield from fold(
        f"It is marked, may feed its watchdog for {view.feed_lease_seconds:g} s more, and should be reset "
        f"within {view.effective_seconds:g} s of its last ping (W; {view.written_seconds:g} s are written to "
        "the driver).",
        width,
    )
    if view.safe_time_seconds is not None:
        yield f"Managers count on that: {view.safe_time_seconds} s after a marker they release it (T_safe)."
    else:
        yield from fold(f"Nothing is released by time there: {view.why_not_by_time}.", width)
    if view.pods:
        count = spell_count(len(view.pods), "pod goes", "pods go")
        yield from fold(f"{count} with it: {spell_names(view.pods)}.", width)


def render_drilled(view: DrilledView, width: int) -> Iterator[str]:
    for line in _said(view):
        yield from fold(line, width)


def _said(view: DrilledView) -> Iterator[str]:
    drill, back = view.drill, spell_seconds(view.back_after_seconds)
    match view.outcome:
        case Outcome.WITHIN:
            yield f"{_timed(view)}, within W ({drill.effective_seconds:g} s)."
            yield from _against_safe_time(view)
        case Outcome.LATE:
            yield f"{_timed(view)}, LATER than W ({drill.effective_seconds:g} s)."
            yield "Nothing may be released there by time until W is right."
        case Outcome.NOT_BY_WATCHDOG:
            yield f"{drill.node} was rebooted by its kernel, as its feeder asked: its watchdog was not timed."
        case Outcome.NO_RECORD:
            yield f"{drill.node} booted anew, with no record on its disk of how: its watchdog was not timed."
    yield f"It reported its new boot {back} after the marker, and is back in service."
    yield from _next(view)


def _timed(view: DrilledView) -> str:
    after = view.reset_after_seconds or 0.0
    return f"{view.drill.node}: its watchdog reset it {after:.1f} s after the last ping"


def _against_safe_time(view: DrilledView) -> Iterator[str]:
    safe = view.drill.safe_time_seconds
    if safe is not None:
        yield f"Its boot was over at most {view.over_after:.1f} s after the marker; T_safe is {safe} s."


def _next(view: DrilledView) -> Iterator[str]:
    node = view.drill.node
    match view.outcome:
        case Outcome.WITHIN | Outcome.LATE:
            yield f"To keep this: on {node}, in /etc/nodemend/host.env: NODEMEND_DRILL={view.setting}"
        case Outcome.NOT_BY_WATCHDOG:
            yield "Look at what its agent and feeder log, and drill it again."
        case Outcome.NO_RECORD:
            yield "Is its feeder as new as its agent, and /var/lib/nodemend on a disk?"
    yield "To let pods start there again:"
    yield f"Next: kubectl uncordon {node}"
