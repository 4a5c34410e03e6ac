"""Why one of CAPM3's remediations is left alone. Each reason carries its words."""

from dataclasses import dataclass
from typing import assert_never

from nodemend.decide.explanation import Explanation


@dataclass(frozen=True, slots=True)
class ServedByCapm3:
    """CAPM3 is at work on it, or may be."""

    because: str


@dataclass(frozen=True, slots=True)
class NameTaken:
    """A Metal3Remediation of our kind has its name, and does not stand in for it."""

    name: str


@dataclass(frozen=True, slots=True)
class StrategyUnknown:
    """It asks for what nobody can do."""

    said: str


@dataclass(frozen=True, slots=True)
class NobodyAsks:
    """It stands in for one of CAPM3's that is gone, or may be."""

    why: str


Capm3Hold = ServedByCapm3 | NameTaken | StrategyUnknown | NobodyAsks


def explain_capm3(reason: Capm3Hold) -> Explanation:
    match reason:
        case ServedByCapm3(because):
            return Explanation(
                f"CAPM3 serves it: {because}.",
                "Two that switch one host would undo each other's evidence. Let one of them serve it.",
            )
        case NameTaken(name):
            return Explanation(
                f"Another Metal3Remediation {name}, of remediation.metal3.io, is there already.",
                "It goes on when that one is gone.",
            )
        case StrategyUnknown(said):
            return Explanation(
                f"What it asks for cannot be done: {said}.", "Mend the template that it was made from."
            )
        case NobodyAsks(why):
            return Explanation(
                f"The remediation of CAPM3's that it stands in for is not there: {why}.",
                "Nothing is switched off. It is taken back when that is certain.",
            )
        case _:
            assert_never(reason)
