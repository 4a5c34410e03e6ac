"""Evaluates the logs of one run: times of assumed leadership, of actions, and committed versions."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

LONGEST_TICK: Final = 0.5
"""A longer interval between ticks counts as a pause."""

Line = dict[str, Any]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Term:
    """One leader term of Nodemend's elector."""

    who: str
    epoch: int
    claimed_at: float
    """The time at which the claim was sent, which is before its commit."""
    began: float
    accepted: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """One committed version of the object that the leaders write to."""

    revision: int
    epoch: int


def read_log(path: Path) -> list[Line]:
    if not path.exists():
        return []
    # A process may be killed in the middle of a line.
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def terms_of(who: str, lines: Iterable[Line], renew_deadline: float) -> list[Term]:
    """A process assumes leadership from each such line until the end in it, or until the term was ended."""
    by_epoch: dict[int, list[Line]] = {}
    ends: dict[int, float] = {}
    for line in lines:
        if line["what"] == "leads":
            by_epoch.setdefault(line["epoch"], []).append(line)
        elif line["what"] == "ended":
            ends[line["epoch"]] = line["at"]
    terms = []
    for epoch, leads in by_epoch.items():
        end = ends.get(epoch, float("inf"))
        accepted = tuple((line["at"], max(min(line["until"], end), line["at"])) for line in leads)
        terms.append(Term(who, epoch, leads[0]["until"] - renew_deadline, leads[0]["at"], accepted))
    return terms


def foreign_actions(who: str, lines: Iterable[Line], terms: Sequence[Term]) -> int:
    """The number of actions started with an epoch after another process may have committed a later claim."""
    return sum(
        any(
            term.who != who and term.epoch > line["epoch"] and line["at"] >= term.claimed_at for term in terms
        )
        for line in lines
        if line["what"] == "action"
    )


def ticked(lines: Iterable[Line]) -> list[Interval]:
    """The times in which the work of a process without terms was acting. Pauses leave gaps."""
    moments = [line["at"] for line in lines if line["what"] == "action"]
    return [(one, other) for one, other in pairwise(moments) if other - one <= LONGEST_TICK]


def overlap(histories: Sequence[Iterable[Interval]]) -> float:
    """Seconds that lie in the histories of at least two processes."""
    edges: list[tuple[float, int]] = []
    for history in histories:
        for start, end in _merged(history):
            edges += [(start, 1), (end, -1)]
    edges.sort()
    total, depth, since = 0.0, 0, 0.0
    for moment, change in edges:
        if depth >= 2:
            total += moment - since
        depth, since = depth + change, moment
    return total


def _merged(intervals: Iterable[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def foreign_writes(versions: Sequence[Version]) -> int:
    """The number of commits with a lower epoch than one that the object already had."""
    return sum(
        later.epoch < max(v.epoch for v in versions[:place]) for place, later in _after_first(versions)
    )


def late_writes(versions: Sequence[Version], claims: Iterable[int]) -> int:
    """The number of commits after the claim of a later epoch. Claims and commits share one counter."""
    claimed = sorted(claims)
    return sum(any(version.epoch < claim < version.revision for claim in claimed) for version in versions)


def _after_first(versions: Sequence[Version]) -> Iterable[tuple[int, Version]]:
    return ((place, version) for place, version in enumerate(versions) if place > 0)
