"""`python -m tests.peer_fuzz [EXECUTIONS] [--seed N]`: nonsense for everything that an agent reads.

An input that leads to an outcome which was not seen before becomes one of those that others are made from.
"""

import argparse
import resource
import sys
import time
import traceback
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.peer_fuzz.mutator import Mutator
from tests.peer_fuzz.targets import TARGETS, Target

EXECUTIONS: Final = 1_000_000
MOST_SECONDS: Final = 0.5
"""Of CPU, for one input."""
MOST_MEGABYTES: Final = 64.0
"""By which all inputs together may let the process grow."""
_CORPUS: Final = 500
_TOLD: Final = 5


@dataclass
class Fuzzer:
    target: Target
    chance: Random
    corpus: list[bytes] = field(init=False)
    outcomes: set[str] = field(default_factory=set)
    executions: int = 0
    slowest: float = 0.0
    findings: dict[str, tuple[bytes, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.corpus = list(self.target.seeds)
        for seed in self.target.seeds:
            self._feed(seed)

    def run(self, executions: int) -> None:
        mutator = Mutator(self.chance)
        ways = [getattr(mutator, way) for way in self.target.ways]
        for _ in range(executions):
            seed, other = self.chance.choice(self.corpus), self.chance.choice(self.corpus)
            self._feed(self.chance.choice(ways)(seed, other))

    def _feed(self, data: bytes) -> None:
        self.executions += 1
        began = time.process_time()
        try:
            outcome = self.target.feed(data)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.findings.setdefault(f"{type(error).__name__} at {place.name}: {str(error)[:80]}", (data, ""))
            return
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
        for what, (data, more) in list(self.findings.items())[:_TOLD]:
            print(f"  FOUND {what} {more}\n    {len(data)} bytes: {data[:300]!r}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("executions", type=int, nargs="?", default=EXECUTIONS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only the target of this name")
    options = parser.parse_args()
    chosen = [target for target in TARGETS if options.only in target.name]
    began, grown = time.monotonic(), _megabytes()
    fuzzers = [Fuzzer(target, Random(f"{options.seed} {target.name}")) for target in chosen]
    for one in fuzzers:
        one.run(-(-options.executions // len(fuzzers)))
        one.tell()
    return _report(fuzzers, time.monotonic() - began, _megabytes() - grown)


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _report(fuzzers: list[Fuzzer], seconds: float, grown: float) -> int:
    executions = sum(one.executions for one in fuzzers)
    findings = sum(len(one.findings) for one in fuzzers)
    print(
        f"peer-fuzz: {executions} executions ({executions / seconds:.0f} a second) of {len(fuzzers)} readers,"
        f" {sum(len(one.outcomes) for one in fuzzers)} distinct outcomes,"
        f" corpus {sum(len(one.corpus) for one in fuzzers)},"
        f" slowest {max(one.slowest for one in fuzzers) * 1000:.0f} ms (at most {MOST_SECONDS * 1000:.0f}),"
        f" grown by {grown:.0f} MB (at most {MOST_MEGABYTES:.0f}), {findings} findings (0 wanted)"
    )
    return 1 if findings or grown > MOST_MEGABYTES else 0


if __name__ == "__main__":
    sys.exit(main())
