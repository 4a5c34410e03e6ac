"""`kubectl mend simulate` for a person."""

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from textwrap import wrap
from typing import Final

from nodemend.api.remediation_policy import Mode
from nodemend.cli.next_steps import Step, step_lines
from nodemend.cli.simulate.timeline import SLICES, fold, spell_line, spell_what
from nodemend.cli.simulate.view import GivenView, HeldView, RulesView, SimulateView, TotalsView
from nodemend.cli.words import align, spell_list, spell_moment, spell_seconds
from nodemend.decide.explanation import spell_count

_WIDTH: Final = 100
_MOST_REMEDIATIONS: Final = 10
_MODES: Final = {
    "": "DryRun, as there is no RemediationPolicy: nothing is remediated, only told",
    Mode.DRY_RUN: "DryRun: nothing is remediated, only told",
    Mode.ACT: "Act",
}


def render(view: SimulateView, zone: tzinfo | None = None) -> Iterator[str]:
    yield from wrap(_headline(view), _WIDTH)
    yield ""
    yield from _given(view.given, zone)
    yield ""
    yield from _timeline(view)
    if view.remediations:
        yield ""
        yield from _remediations(view)
    if view.held:
        yield ""
        yield from _held(view.held)
    yield ""
    yield from render_assumed(view.assumed)
    yield from step_lines(Step(view.advice, view.next_step))


def render_assumed(assumed: Iterable[str]) -> Iterator[str]:
    lines = [line for said in assumed for line in wrap(said, _WIDTH - 10)]
    for number, line in enumerate(lines):
        yield f"{'Assumed' if number == 0 else '':<10}{line}"


def clock(at: float, lasts: float) -> str:
    """From the beginning: minutes and seconds, with hours before them where there are any in the whole."""
    minutes, seconds = divmod(int(at), 60)
    if lasts <= 3600:
        return f"{minutes:02}:{seconds:02}"
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _headline(view: SimulateView) -> str:
    totals, within = view.totals, spell_seconds(view.for_seconds)
    nodes = spell_count(totals.remediated, "node") if totals.remediated else "No node"
    said = f"{nodes} of {view.given.nodes} would be remediated in {within}"
    said += f", at most {totals.most_at_once} at once." if totals.remediated > 1 else "."
    said += _spell_held(totals)
    return f"{said} Nothing was changed."


def _spell_held(totals: TotalsView) -> str:
    longest = spell_seconds(totals.longest_held)
    match totals.held, totals.still_held:
        case 0, _:
            return ""
        case 1, still:
            return f" 1 would be held, for {longest}{', and still is at the end' if still else ''}."
        case held, still:
            rest = {0: "none", held: "all"}.get(still, str(still))
            return f" {held} would be held, the longest for {longest}; {rest} of them still at the end."


def _given(given: GivenView, zone: tzinfo | None) -> Iterator[str]:
    when = spell_moment(given.taken_at, zone)
    checks = spell_list([f"nhc/{name}" for name in given.checks])
    yield f"Given     {spell_count(given.nodes, 'node')} of {given.source} at {when}"
    unwatched = given.nodes - given.watched
    yield f"Watched   {given.watched} by {checks}" + (f"; {unwatched} by none" if unwatched else "")
    rules = given.rules
    if rules.paused:
        yield f"Paused    {rules.paused}"
    yield f"Mode      {_MODES[rules.mode]}"
    if rules.mode:
        yield f"Pace      {_pace(rules)}"
        yield f"Guard     {_guard(rules)}"


def _pace(rules: RulesView) -> str:
    here = f" ({rules.domain_max_concurrent} in one domain)" if rules.domain_key else ""
    return f"at most {rules.most_at_once} at once{here}, {spell_seconds(rules.min_interval_seconds)} apart"


def _guard(rules: RulesView) -> str:
    said = f"closes at {rules.closes_at} unhealthy ({rules.max_unhealthy})"
    if rules.domain_key:
        said += f", in one {rules.domain_key} at {rules.domain_max_unhealthy}"
    return f"{said}; settles for {spell_seconds(rules.settle_seconds)}"


def _timeline(view: SimulateView) -> Iterator[str]:
    if not view.steps:
        yield "Nothing happens."
        return
    slice_, lines = fold(view.steps)
    rows = [("TIME", "WHAT", "NODES", "WHICH-AND-WHY")]
    for line in lines:
        number = str(len(line.nodes)) if line.nodes else "-"
        rows.append((clock(line.at, view.for_seconds), spell_what(line), number, spell_line(line)))
    yield from align(rows)
    if slice_ > SLICES[0]:
        yield f"Each line stands for {spell_seconds(slice_)}; -o json has every step."


def _remediations(view: SimulateView) -> Iterator[str]:
    lasts = view.for_seconds
    rows = [("#", "NODE", "UNHEALTHY", "BEGINS", "WAITS", "OVER", "ENDING", "REMEDY")]
    for number, one in enumerate(view.remediations[:_MOST_REMEDIATIONS], 1):
        times = (clock(one.unhealthy_at, lasts), clock(one.begins_at, lasts))
        over = clock(one.over_at, lasts) if one.over_at is not None else "-"
        waits = spell_seconds(one.waited)
        rows.append((str(number), one.node, *times, waits, over, one.ending, f"{one.number}: {one.remedy}"))
    yield from align(rows)
    more = len(view.remediations) - _MOST_REMEDIATIONS
    if more > 0:
        yield f"And {more} more; -o json has them all."


def _held(held: tuple[HeldView, ...]) -> Iterator[str]:
    rows = [("HELD", "LONGEST", "STILL", "WHY")]
    for one in held:
        counts = (str(len(one.nodes)), spell_seconds(one.longest), str(len(one.still) or "-"))
        rows.append((*counts, one.sentence))
    yield from align(rows)
