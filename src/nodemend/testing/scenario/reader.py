"""A scenario as it is written."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from nodemend.api.quantities import parse_duration

LINE: Final = "---"
_GIVEN: Final = re.compile(r"given (\d+) nodes?, (\d+) workloads?")
_RECOVERY: Final = "given a recovery"
_AT: Final = re.compile(r"at (\S+) (.+)")
_UNTIL: Final = re.compile(r"until (\S+)")


class ScenarioError(ValueError):
    """A line that means nothing."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that happens, in words, at a time."""

    at: timedelta
    words: str


@dataclass(frozen=True, slots=True)
class Scenario:
    title: str
    nodes: int
    workloads: int
    incidents: tuple[Incident, ...]
    until: timedelta
    told: tuple[str, ...]
    """What is written below the line."""
    recovers: bool = False
    """Whether the check names a recovery."""


def read(text: str) -> Scenario:
    """Raises ScenarioError for what it does not understand."""
    above, _, below = text.partition(f"\n{LINE}\n")
    title, nodes, workloads, until = "", 3, 1, timedelta(minutes=10)
    incidents: list[Incident] = []
    recovers = False
    for line in (raw.strip() for raw in above.splitlines()):
        if line.startswith("#"):
            title = title or line.lstrip("# ")
        elif found := _GIVEN.fullmatch(line):
            nodes, workloads = int(found[1]), int(found[2])
        elif line == _RECOVERY:
            recovers = True
        elif found := _AT.fullmatch(line):
            incidents.append(Incident(parse_duration(found[1]), found[2]))
        elif found := _UNTIL.fullmatch(line):
            until = parse_duration(found[1])
        elif line:
            raise ScenarioError(f"what is {line!r}?")
    if not title:
        raise ScenarioError("the first line says what the scenario shows: # ...")
    return Scenario(title, nodes, workloads, tuple(incidents), until, tuple(below.splitlines()), recovers)


def with_told(text: str, told: tuple[str, ...]) -> str:
    """The same scenario with another story below the line."""
    above, _, _ = text.partition(f"\n{LINE}\n")
    return "\n".join((above.rstrip(), LINE, *told, ""))
