"""From a verdict to the line in the book: where a target stands, in words that last."""

from dataclasses import replace
from typing import assert_never

from nodemend.controllers.checking.standings import HEALTHY, REMEDIATING, Entry, Standing
from nodemend.decide.findings import spell_finding
from nodemend.decide.guard_holds import ApiUnsettled, Pacing, Settling
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged


def held_entry(hold: Hold) -> Entry:
    explanation = explain(hold.reason)
    # A countdown would be out of date as soon as it is written.
    lasting = not isinstance(hold.reason, Settling | Pacing | ApiUnsettled)
    message = str(explanation) if lasting else explanation.sentence
    return Entry(Standing.HELD, type(hold.reason).__name__, message)


def entry_of(health: NodeHealth, hold: Hold | None, *, remediating: bool) -> Entry:
    """Where the target stands, in words that do not change while nothing does."""
    if hold is not None:
        held = held_entry(hold)
        return replace(held, standing=Standing.REMEDIATING) if remediating else held
    if remediating:
        return REMEDIATING
    match health:
        case Healthy():
            return HEALTHY
        case Suspect(match):
            why = spell_finding(match)
            return Entry(Standing.SUSPECT, why, why)
        case Unhealthy(match, more):
            why = "; ".join(spell_finding(finding) for finding in (match, *more))
            return Entry(Standing.UNHEALTHY, why, why)
        case Unjudged(why):
            return Entry(Standing.UNJUDGED, why, why)
        case _:
            assert_never(health)
