"""A verdict in words that complete "NODE ..."."""

from typing import assert_never

from nodemend.cli.words import spell_seconds
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged


def spell_state(health: NodeHealth) -> str:
    """As the beginning of a sentence."""
    match health:
        case Healthy():
            return "meets no threshold"
        case Suspect():
            return "is suspect"
        case Unhealthy():
            return "is unhealthy"
        case Unjudged():
            return "cannot be judged"
        case _:
            assert_never(health)


def spell_health(health: NodeHealth) -> str:
    """As a whole sentence."""
    match health:
        case Healthy():
            return "is healthy."
        case Suspect(match):
            return f"is suspect. It counts as unhealthy in {spell_seconds(match.remaining)}."
        case Unhealthy():
            return "is unhealthy."
        case Unjudged(why):
            return f"cannot be judged: {why}."
        case _:
            assert_never(health)
