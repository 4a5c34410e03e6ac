"""Simulations in few words."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from nodemend.cli.simulate.engine import simulate
from nodemend.cli.simulate.input import Snapshot, read_snapshot
from nodemend.cli.simulate.log import RunLog, StepKind
from nodemend.cli.simulate.scenario import Plan, parse_choice, parse_failure_spec, parse_symptom
from tests.unit.cli.simulate.clusters import Object, as_list

NOON: Final = datetime(2026, 1, 31, 12, tzinfo=UTC)
HOUR: Final = 3600


def a_snapshot(objects: Iterable[Object]) -> Snapshot:
    return read_snapshot(as_list(objects), "a test", NOON)


def a_plan(
    *fails: str, heals: tuple[str, ...] = (), stays_unhealthy: tuple[str, ...] = (), **others: Any
) -> Plan:
    """For an hour, with remediations of ten minutes, unless `lasts` and `takes` say otherwise."""
    return Plan(
        fails=tuple(map(parse_failure_spec, fails)),
        heals=tuple(map(parse_failure_spec, heals)),
        stays_unhealthy=tuple(map(parse_choice, stays_unhealthy)),
        symptom=parse_symptom(others.get("symptom", "Ready=Unknown")),
        lasts=others.get("lasts", HOUR),
        remediation_takes=others.get("takes", 600),
    )


def simulated(objects: Iterable[Object], *fails: str, **others: Any) -> RunLog:
    return simulate(a_snapshot(objects), a_plan(*fails, **others))


def begun(story: RunLog) -> list[tuple[float, str]]:
    return [(attempt.begins_at, attempt.node) for attempt in story.attempts]


def steps(story: RunLog, *kinds: StepKind) -> list[tuple[float, StepKind, list[str]]]:
    return [(step.at, step.what, step.nodes) for step in story.steps if not kinds or step.what in kinds]


def holds(story: RunLog) -> list[tuple[float, str, list[str]]]:
    return [(step.at, step.reason, step.nodes) for step in story.steps if step.what is StepKind.HOLD]
