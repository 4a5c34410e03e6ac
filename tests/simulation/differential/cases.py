"""Regression cases: sequences on which the servers once differed, with the answers of the real server.

A case is a JSON file: the reason why it is kept, its steps, and the recorded run of the real server. It is
replayed in two ways: on the simulated server alone, against the record; on both servers, to verify the
record.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tests.simulation.differential.comparing import Comparison, Run, compare
from tests.simulation.differential.running import run, simulated_side
from tests.simulation.differential.steps import Outcome, Step

FOLDER: Final = Path(__file__).parent / "cases"


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    why: str
    steps: list[Step]
    recorded: Run | None


def read(path: Path) -> Case:
    document = json.loads(path.read_text())
    steps = [Step(**step) for step in document["steps"]]
    recorded = document.get("recorded")
    real = None
    if recorded is not None:
        real = Run([Outcome(**outcome) for outcome in recorded["outcomes"]], recorded["events"])
    return Case(path.stem, document["why"], steps, real)


def read_all() -> list[Case]:
    return [read(path) for path in sorted(FOLDER.glob("*.json"))]


def write(case: Case) -> Path:
    """Write a case with one line for each step, answer and watch, so that diffs are readable."""
    sections = [f'"why": {_line(case.why)}', _section("steps", [step.as_json() for step in case.steps])]
    if case.recorded is not None:
        outcomes = [asdict(outcome) for outcome in case.recorded.outcomes]
        inner = [_section("outcomes", outcomes), _section("events", case.recorded.events)]
        sections.append('"recorded": {\n' + ",\n".join(inner) + "\n}")
    path = FOLDER / f"{case.name}.json"
    path.write_text("{\n" + ",\n".join(sections) + "\n}\n")
    return path


def _section(name: str, items: Sequence[Any]) -> str:
    return f'"{name}": [\n' + ",\n".join(_line(item) for item in items) + "\n]"


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def replay(case: Case) -> Comparison:
    """Compare the simulated server with the record."""
    assert case.recorded is not None, f"{case.name} has no record"
    times = [outcome.begun for outcome in case.recorded.outcomes]
    return compare(case.recorded, run(simulated_side(), case.steps, times))
