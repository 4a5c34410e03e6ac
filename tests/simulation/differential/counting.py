"""Counts of operations, answers and events by kind."""

from collections import Counter
from typing import Final

from tests.simulation.differential.running import Trial

ENOUGH: Final = 200
WANTED_ANSWERS: Final = (404, 409, 410, 422)
OPERATIONS: Final = (
    "apply",
    "bind",
    "compact",
    "create",
    "delete",
    "delete collection",
    "forced apply",
    "get",
    "json patch",
    "list",
    "merge patch",
    "merge patch of status",
    "page",
    "replace",
    "replace of status",
    "watch",
    "watch with initial events",
)


def count(trial: Trial, counts: Counter[str]) -> None:
    """Count the steps of the sequence itself. The cleanup after it is compared, but not counted."""
    for name in trial.comparison.known:
        counts[f"known difference: {name}"] += 1
    for step, outcome in zip(trial.steps, trial.real.outcomes, strict=False):
        counts["operations"] += 1
        counts[f"operation {step.label}"] += 1
        if outcome.status:
            counts[f"answer {outcome.status}"] += 1
    for events in trial.real.events:
        for event in events:
            counts["events"] += 1
            counts[f"event {event['type']}"] += 1
            if event["type"] == "ERROR":
                counts[f"answer {event['object'].get('code')} as an event"] += 1


def shortfalls(counts: Counter[str]) -> list[str]:
    """Return the kinds that occurred less often than a full run requires."""
    answers = {
        code: counts[f"answer {code}"] + counts[f"answer {code} as an event"] for code in WANTED_ANSWERS
    }
    return [
        *(name for name in OPERATIONS if counts[f"operation {name}"] < ENOUGH),
        *(str(code) for code, times in answers.items() if times < ENOUGH),
    ]
