"""Two simulations of the same cluster under different rules, side by side: `kubectl mend simulate --diff`."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from textwrap import wrap
from typing import ClassVar, Final

from nodemend.cli.simulate.log import RemediationAttempt, RunLog
from nodemend.cli.simulate.output import RulesView, SimulateView, TotalsView, clock, render_assumed
from nodemend.cli.text import align, spell_names, spell_seconds
from nodemend.safety.holds import spell_count


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two simulations. `name` identifies its rules in the output."""

    name: str
    story: RunLog
    view: SimulateView


@dataclass(frozen=True, slots=True, kw_only=True)
class SideView:
    name: str
    rules: RulesView
    totals: TotalsView
    first_begins_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartingView:
    """The first time at which one simulation starts a remediation and the other does not."""

    at: float
    begins: str
    node: str
    other: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyView:
    """Nodes that only one simulation remediates, and the state of the other one when that starts."""

    remediated_by: str
    nodes: tuple[str, ...]
    other: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffView:
    kind: ClassVar[str] = "Diff"
    first: SideView
    second: SideView
    for_seconds: int
    parting: PartingView | None
    only: tuple[OnlyView, ...]
    assumed: tuple[str, ...]


def compare(first: Side, second: Side) -> DiffView:
    return DiffView(
        first=_side(first),
        second=_side(second),
        for_seconds=first.view.for_seconds,
        parting=_parting(first, second),
        only=(*_only(first, second), *_only(second, first)),
        assumed=first.view.assumed,
    )


def _side(side: Side) -> SideView:
    return SideView(
        name=side.name,
        rules=side.view.given.rules,
        totals=side.view.totals,
        first_begins_at=min((one.begins_at for one in side.story.attempts), default=None),
    )


def _parting(first: Side, second: Side) -> PartingView | None:
    found = [(*_first_alone(one, other), one, other) for one, other in ((first, second), (second, first))]
    at, node, one, other = min(found, key=lambda part: part[:2])
    if at == inf:
        return None
    why = _why_not(other.story, node, at)
    return PartingView(at=at, begins=one.name, node=node, other=other.name, why=why)


def _first_alone(one: Side, other: Side) -> tuple[float, str]:
    """Return the first remediation of `one` that `other` does not start at the same time."""
    theirs = {(attempt.begins_at, attempt.node) for attempt in other.story.attempts}
    mine = ((attempt.begins_at, attempt.node) for attempt in one.story.attempts)
    return min((begun for begun in mine if begun not in theirs), default=(inf, ""))


def _only(one: Side, other: Side) -> Iterator[OnlyView]:
    """Group the nodes that only `one` remediates by the other's reason, in order of first occurrence."""
    theirs = {attempt.node for attempt in other.story.attempts}
    nodes: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for attempt in one.story.attempts:
        if attempt.node not in theirs:
            nodes[_why_not(other.story, attempt.node, attempt.begins_at)][attempt.node] = None
    for why, named in nodes.items():
        yield OnlyView(remediated_by=one.name, nodes=tuple(named), other=other.name, why=why)


def _why_not(story: RunLog, node: str, at: float) -> str:
    """Return the reason why a run does not start a remediation of the node at this time."""
    if any(one.node == node and _lasts_at(one, at) for one in story.attempts):
        return "It is under remediation already."
    for spell in story.hold_periods.all():
        if spell.node == node and spell.since <= at < (inf if spell.until is None else spell.until):
            return story.hold_periods.reason(spell.sort).explain().sentence
    return "It is not unhealthy then."


def _lasts_at(attempt: RemediationAttempt, at: float) -> bool:
    return attempt.begins_at <= at < (inf if attempt.over_at is None else attempt.over_at)


_WIDTH: Final = 100


def render_diff(view: DiffView) -> Iterator[str]:
    yield from wrap(_diff_headline(view), _WIDTH)
    yield ""
    yield from align([("COMPARED", view.first.name, view.second.name), *_rows(view)])
    if view.only:
        yield ""
        rows = [("ONLY-WITH", "NODES", "WHICH", "WHAT-THE-OTHER-SAYS")]
        rows += [
            (one.remediated_by, str(len(one.nodes)), spell_names(one.nodes, 3), one.why) for one in view.only
        ]
        yield from align(rows)
    yield ""
    yield from render_assumed(view.assumed)
    yield "To see one of them in full: --policy FILE without --diff."
    yield "Next: nothing"


def _diff_headline(view: DiffView) -> str:
    (first, one), (second, other) = (
        (side.name, side.totals.remediated) for side in (view.first, view.second)
    )
    said = (
        f"In {spell_seconds(view.for_seconds)}, {spell_count(one, 'node')} would be remediated with {first},"
        f" and {other} with {second}."
    )
    if view.parting is None:
        return f"{said} Both start the same remediations at the same times. Nothing was changed."
    at, parting = clock(view.parting.at, view.for_seconds), view.parting
    return (
        f"{said} They first differ at {at}: only {parting.begins} starts the remediation of {parting.node}."
        f" With {parting.other}: {parting.why} Nothing was changed."
    )


def _rows(view: DiffView) -> Iterator[tuple[str, str, str]]:
    columns = [_column(side, view.for_seconds) for side in (view.first, view.second)]
    for what in columns[0]:
        yield what, columns[0][what], columns[1][what]


def _column(side: SideView, lasts: float) -> dict[str, str]:
    totals, rules, first = side.totals, side.rules, side.first_begins_at
    return {
        "mode": rules.mode or "DryRun, no policy",
        "guard closes at": f"{rules.closes_at} ({rules.max_unhealthy})" if rules.mode else "-",
        "in one domain at": rules.domain_max_unhealthy or "-",
        "cooldown": spell_seconds(rules.settle_seconds),
        "allowed at once": f"{rules.most_at_once}, {spell_seconds(rules.min_interval_seconds)} apart",
        "nodes remediated": str(totals.remediated),
        "remediations started": str(totals.begun),
        "most at once": str(totals.most_at_once),
        "first remediation at": clock(first, lasts) if first is not None else "-",
        "nodes held": str(totals.held),
        "longest held": spell_seconds(totals.longest_held),
        "still held at the end": str(totals.still_held),
    }
