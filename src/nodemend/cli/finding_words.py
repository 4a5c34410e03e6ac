"""What is wrong with a target, with its times, for readers."""

from nodemend.cli.words import spell_seconds
from nodemend.decide.findings import (
    AskedFor,
    Finding,
    Match,
    NeverStarted,
    NodeGone,
    PhaseFailed,
    Subject,
    spell_finding,
)


def spell_met(finding: Finding) -> str:
    """What is met, and how long it has to last for that."""
    match finding:
        case Match(period=period):
            return f"{_condition(finding)} for {spell_seconds(period)}"
        case NeverStarted(period=period):
            return f"no node for {spell_seconds(period)}"
        case NodeGone() | AskedFor() | PhaseFailed():
            return spell_finding(finding)


def spell_so_far(finding: Finding) -> str:
    """What is met, and for how long it has been."""
    match finding:
        case Match(age=age):
            return f"{_condition(finding)} for {spell_seconds(age)}"
        case NeverStarted(age=age):
            return f"no node for {spell_seconds(age)}"
        case NodeGone() | AskedFor() | PhaseFailed():
            return spell_finding(finding)


def spell_age(finding: Finding) -> str:
    """What is met, for how long, and how long it may last."""
    match finding:
        case Match(period=period) | NeverStarted(period=period):
            return f"{spell_so_far(finding)}, limit {spell_seconds(period)}"
        case NodeGone() | AskedFor() | PhaseFailed():
            return spell_finding(finding)


def _condition(match: Match) -> str:
    whose = "" if match.of is Subject.NODE else f"{match.of} "
    return f"{whose}{match.type}={match.status}"
