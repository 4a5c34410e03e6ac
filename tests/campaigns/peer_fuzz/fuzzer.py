"""Feeds one target: mutated inputs in, outcomes counted, every exception kept as a finding."""

import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.campaigns.peer_fuzz.mutator import Mutator
from tests.campaigns.peer_fuzz.targets import Target

MOST_SECONDS: Final = 0.5
"""CPU seconds for one input."""
_CORPUS: Final = 500
_MAX_REPORTED: Final = 5


@dataclass
class Fuzzer:
    target: Target
    chance: Random
    corpus: list[bytes] = field(init=False)
    outcomes: set[str] = field(default_factory=set)
    executions: int = 0
    slowest: float = 0.0
    findings: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    """Counts by outcome."""
    mutator: type[Mutator] = Mutator

    def __post_init__(self) -> None:
        self.corpus = list(self.target.seeds)
        for seed in self.target.seeds:
            self._feed(seed)

    def run(self, executions: int) -> None:
        mutator = self.mutator(self.chance)
        ways = [getattr(mutator, way) for way in self.target.ways]
        for _ in range(executions):
            seed, other = self.chance.choice(self.corpus), self.chance.choice(self.corpus)
            self._feed(self.chance.choice(ways)(seed, other))

    def _feed(self, data: bytes) -> None:
        self.executions += 1
        began = time.process_time()
        try:
            outcome = self.target.feed(data)
        except Exception as error:  # noqa: BLE001 - any exception is a finding
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.findings.setdefault(f"{type(error).__name__} at {place.name}: {str(error)[:80]}", (data, ""))
            return
        self.counts[outcome] += 1
        took = time.process_time() - began
        self.slowest = max(self.slowest, took)
        if took > MOST_SECONDS:
            self.findings.setdefault("too slow", (data, f"{took:.2f} s"))
        if outcome not in self.outcomes and len(self.corpus) < _CORPUS:
            self.outcomes.add(outcome)
            self.corpus.append(data)

    def tell(self) -> None:
        print(
            f"{self.target.name:16} {self.executions:8} executions, {len(self.outcomes):3} outcomes,"
            f" corpus {len(self.corpus):3}, slowest {self.slowest * 1000:6.1f} ms"
        )
        self.tell_findings()

    def tell_findings(self) -> None:
        for what, (data, more) in list(self.findings.items())[:_MAX_REPORTED]:
            print(f"  FOUND {what} {more}\n    {len(data)} bytes: {data[:300]!r}")
