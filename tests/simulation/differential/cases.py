"""Regression cases: sequences on which the two once differed, with what the real server answered.

A case is a JSON file: why it is kept, its steps, and the recorded run of the real server. So it is replayed in two
ways: on the simulated server alone, against the record; and on both, to see that the record is still true.
"""

import json
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
    document: dict[str, Any] = {"why": case.why, "steps": [step.as_json() for step in case.steps]}
    if case.recorded is not None:
        outcomes = [asdict(outcome) for outcome in case.recorded.outcomes]
        document["recorded"] = {"outcomes": outcomes, "events": case.recorded.events}
    path = FOLDER / f"{case.name}.json"
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    return path


def replay(case: Case) -> Comparison:
    """The simulated server against the record."""
    assert case.recorded is not None, f"{case.name} has no record"
    times = [outcome.begun for outcome in case.recorded.outcomes]
    return compare(case.recorded, run(simulated_side(), case.steps, times))
