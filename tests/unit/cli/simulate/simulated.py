"""Simulations in few words."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from nodemend.cli.simulate.engine import simulate
from nodemend.cli.simulate.invention import parse_choice, parse_invention, parse_symptom
from nodemend.cli.simulate.plan import Plan
from nodemend.cli.simulate.snapshot import Snapshot
from nodemend.cli.simulate.snapshot_file import read_snapshot
from nodemend.cli.simulate.story import Story, What
from tests.unit.cli.simulate.clusters import Object, as_list

NOON: Final = datetime(2026, 1, 31, 12, tzinfo=UTC)
HOUR: Final = 3600


def a_snapshot(objects: Iterable[Object]) -> Snapshot:
    return read_snapshot(as_list(objects), "a test", NOON)


def a_plan(*fails: str, heals: tuple[str, ...] = (), stays_sick: tuple[str, ...] = (), **others: Any) -> Plan:
    """For an hour, with remediations of ten minutes, unless `lasts` and `takes` say otherwise."""
    return Plan(
        fails=tuple(map(parse_invention, fails)),
        heals=tuple(map(parse_invention, heals)),
        stays_sick=tuple(map(parse_choice, stays_sick)),
        symptom=parse_symptom(others.get("symptom", "Ready=Unknown")),
        lasts=others.get("lasts", HOUR),
        remediation_takes=others.get("takes", 600),
    )


def simulated(objects: Iterable[Object], *fails: str, **others: Any) -> Story:
    return simulate(a_snapshot(objects), a_plan(*fails, **others))


def begun(story: Story) -> list[tuple[float, str]]:
    return [(attempt.begun_at, attempt.node) for attempt in story.attempts]


def steps(story: Story, *kinds: What) -> list[tuple[float, What, list[str]]]:
    return [(step.at, step.what, step.nodes) for step in story.steps if not kinds or step.what in kinds]


def holds(story: Story) -> list[tuple[float, str, list[str]]]:
    return [(step.at, step.reason, step.nodes) for step in story.steps if step.what is What.HOLD]
