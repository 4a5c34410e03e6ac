"""`python -m tests.campaigns.peer_fuzz [EXECUTIONS] [--seed N]`: nonsense for everything that an agent reads.

An input with a new outcome becomes a seed for other inputs.
"""

import argparse
import resource
import sys
import time
from random import Random
from typing import Final

from tests.campaigns.peer_fuzz.fuzzer import MOST_SECONDS, Fuzzer
from tests.campaigns.peer_fuzz.targets import TARGETS

EXECUTIONS: Final = 1_000_000
MOST_MEGABYTES: Final = 64.0
"""Limit of the process's growth over all inputs."""


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
