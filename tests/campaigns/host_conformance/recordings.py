"""The recorded sequences, as in traces.yaml."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

FILE: Final = Path(__file__).parent / "traces.yaml"
_REPEATED: Final = re.compile(r"(.*) x(\d+)")


@dataclass(frozen=True, slots=True)
class Change:
    """One write that a watcher of the host saw. If `set` is empty, only the time of the write changed."""

    after: float
    set: dict[str, Any]
    moved: bool


@dataclass(frozen=True, slots=True)
class Ordered:
    """A command that reached the BMC."""

    after: float
    order: str


@dataclass(frozen=True, slots=True)
class Step:
    """One external action (`verb` and `what`), and the observations until the next."""

    verb: str
    what: Any
    changes: tuple[Change, ...]
    orders: tuple[Ordered, ...]
    events: Counter[str]
    watched: float


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    stack: str
    start: dict[str, Any] | None
    bmc_behaviour: dict[str, str]
    steps: tuple[Step, ...]


def scenarios() -> list[Scenario]:
    document = yaml.load(FILE.read_text(), yaml.CSafeLoader)
    return [
        Scenario(
            one["name"],
            one["stack"],
            one.get("start"),
            one.get("bmc_behaviour", {}),
            tuple(_step(step) for step in one["steps"]),
        )
        for one in document["scenarios"]
    ]


def _step(step: dict[str, Any]) -> Step:
    ((verb, what),) = step["write"].items()
    return Step(
        verb,
        what,
        tuple(Change(one["after"], one.get("set", {}), "lastUpdated" in one) for one in step["observed"]),
        tuple(_ordered(one) for one in step.get("bmc_orders", ())),
        _counted(step.get("events", ())),
        step["watched"],
    )


def _ordered(one: dict[str, Any]) -> Ordered:
    # YAML parses a bare On as true.
    return Ordered(one["after"], "On" if one["order"] is True else one["order"])


def _counted(events: list[str]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for event in events:
        repeated = _REPEATED.fullmatch(event)
        counted[repeated[1] if repeated else event] += int(repeated[2]) if repeated else 1
    return counted
