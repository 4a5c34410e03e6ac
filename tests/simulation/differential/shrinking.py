"""Reduces a failing sequence step by step while it still fails."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.simulation.differential.steps import REFERENCE, Step

MOST_TRIALS = 80


def shrink(steps: list[Step], fails: Callable[[list[Step]], bool]) -> list[Step]:
    """Return a shorter sequence for which `fails` is true. Calls `fails` at most MOST_TRIALS times."""
    trials = 0
    size = max(1, len(steps) // 2)
    while size >= 1:
        start = 0
        while start < len(steps):
            if trials >= MOST_TRIALS:
                return steps
            smaller = without(steps, range(start, min(start + size, len(steps))))
            trials += 1
            if smaller and fails(smaller):
                steps = smaller
            else:
                start += size
        size = 0 if size == 1 else size // 2
    return steps


def without(steps: list[Step], dropped: range) -> list[Step]:
    """Return the sequence without some steps, with adjusted references to the other steps."""

    def moved(found: re.Match[str]) -> str:
        index = int(found[2])
        if index in dropped:
            return f"@{found[1]}:9999"
        return f"@{found[1]}:{index - len([one for one in dropped if one < index])}"

    def follow(value: Any) -> Any:
        if isinstance(value, str):
            return REFERENCE.sub(moved, value)
        if isinstance(value, list):
            return [follow(part) for part in value]
        if isinstance(value, dict):
            if "@object" in value:
                at = value["@object"]
                place = 9999 if at in dropped else at - len([one for one in dropped if one < at])
                return {"@object": place, "with": follow(value.get("with", {}))}
            return {key: follow(part) for key, part in value.items()}
        return value

    kept = [step for index, step in enumerate(steps) if index not in dropped]
    return [replace(step, query=follow(step.query), body=follow(step.body)) for step in kept]
