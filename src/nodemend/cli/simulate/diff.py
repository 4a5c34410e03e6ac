"""Two simulations of the same cluster under different rules, side by side."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from nodemend.cli.simulate.story import Attempt, Story
from nodemend.cli.simulate.view import RulesView, SimulateView, TotalsView
from nodemend.decide.hold_explanations import explain


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two. `name` is what the person calls these rules."""

    name: str
    story: Story
    view: SimulateView


@dataclass(frozen=True, slots=True, kw_only=True)
class SideView:
    name: str
    rules: RulesView
    totals: TotalsView
    first_begins_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartingView:
    """The first moment at which they differ: one begins what the other does not."""

    at: float
    begins: str
    node: str
    other: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyView:
    """Nodes that only one of them remediates, and what the other says of them when that one begins."""

    remediated_by: str
    nodes: tuple[str, ...]
    other: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffView:
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
        first_begins_at=min((one.begun_at for one in side.story.attempts), default=None),
    )


def _parting(first: Side, second: Side) -> PartingView | None:
    found = [(*_first_alone(one, other), one, other) for one, other in ((first, second), (second, first))]
    at, node, one, other = min(found, key=lambda part: part[:2])
    if at == inf:
        return None
    why = _why_not(other.story, node, at)
    return PartingView(at=at, begins=one.name, node=node, other=other.name, why=why)


def _first_alone(one: Side, other: Side) -> tuple[float, str]:
    """When it first begins something that the other does not begin then."""
    theirs = {(attempt.begun_at, attempt.node) for attempt in other.story.attempts}
    mine = ((attempt.begun_at, attempt.node) for attempt in one.story.attempts)
    return min((begun for begun in mine if begun not in theirs), default=(inf, ""))


def _only(one: Side, other: Side) -> Iterator[OnlyView]:
    """By what the other says, in the order of the first of each."""
    theirs = {attempt.node for attempt in other.story.attempts}
    nodes: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for attempt in one.story.attempts:
        if attempt.node not in theirs:
            nodes[_why_not(other.story, attempt.node, attempt.begun_at)][attempt.node] = None
    for why, named in nodes.items():
        yield OnlyView(remediated_by=one.name, nodes=tuple(named), other=other.name, why=why)


def _why_not(story: Story, node: str, at: float) -> str:
    """What a story says of a node at a moment at which it does not begin to remediate it."""
    if any(one.node == node and _lasts_at(one, at) for one in story.attempts):
        return "It is under remediation already."
    for spell in story.spells.all():
        if spell.node == node and spell.since <= at < (inf if spell.until is None else spell.until):
            return explain(story.spells.reason(spell.sort)).sentence
    return "It is not unhealthy then."


def _lasts_at(attempt: Attempt, at: float) -> bool:
    return attempt.begun_at <= at < (inf if attempt.over_at is None else attempt.over_at)
