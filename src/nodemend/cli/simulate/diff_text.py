"""`kubectl mend simulate --diff` for a person."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from nodemend.cli.simulate.diff import DiffView, SideView
from nodemend.cli.simulate.text import clock, render_assumed
from nodemend.cli.words import align, spell_names, spell_seconds
from nodemend.decide.explanation import spell_count

_WIDTH: Final = 100


def render_diff(view: DiffView) -> Iterator[str]:
    yield from wrap(_headline(view), _WIDTH)
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
    yield "To see one of them whole: --policy FILE without --diff."
    yield "Next: nothing"


def _headline(view: DiffView) -> str:
    (first, one), (second, other) = (
        (side.name, side.totals.remediated) for side in (view.first, view.second)
    )
    said = (
        f"In {spell_seconds(view.for_seconds)}, {spell_count(one, 'node')} would be remediated with {first},"
        f" and {other} with {second}."
    )
    if view.parting is None:
        return f"{said} The same remediations begin at the same moments. Nothing was changed."
    at, parting = clock(view.parting.at, view.for_seconds), view.parting
    return (
        f"{said} They part at {at}: with {parting.begins} the remediation of {parting.node} begins, with"
        f" {parting.other} not. {parting.why} Nothing was changed."
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
        "settles for": spell_seconds(rules.settle_seconds),
        "allowed at once": f"{rules.most_at_once}, {spell_seconds(rules.min_interval_seconds)} apart",
        "nodes remediated": str(totals.remediated),
        "remediations begun": str(totals.begun),
        "most at once": str(totals.most_at_once),
        "first begins": clock(first, lasts) if first is not None else "-",
        "nodes held": str(totals.held),
        "longest held": spell_seconds(totals.longest_held),
        "still held at the end": str(totals.still_held),
    }
