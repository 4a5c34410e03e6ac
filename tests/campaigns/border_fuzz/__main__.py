"""`python -m tests.campaigns.border_fuzz [INPUTS] [--seed N] [--only NAME] [--mutants]`: bad data at borders.

Each input goes through the shipped parser and through what consumes it. Nothing may raise, nothing but the
documented outcomes may come back, and no output may exceed its bound. Every border must refuse some inputs
and accept some: else it was not tried.
"""

import argparse
import sys
import time
from random import Random
from typing import Final

from tests.campaigns.border_fuzz import nodes_and_peers, objects, servers
from tests.campaigns.border_fuzz.mutants import try_mutants
from tests.campaigns.border_fuzz.nonsense import Nonsense
from tests.campaigns.peer_fuzz.fuzzer import Fuzzer

INPUTS: Final = 100_000
BORDERS: Final = (*nodes_and_peers.BORDERS, *servers.BORDERS, *objects.BORDERS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inputs", type=int, nargs="?", default=INPUTS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only the borders with this in their names")
    parser.add_argument("--mutants", action="store_true", help="how many broken parsers this alone notices")
    options = parser.parse_args()
    if options.mutants:
        return try_mutants(options.inputs, options.seed)
    chosen = [one for one in BORDERS if options.only in one.name]
    began = time.monotonic()
    fuzzers = [Fuzzer(one, Random(f"{options.seed} {one.name}"), mutator=Nonsense) for one in chosen]
    for one in fuzzers:
        one.run(-(-options.inputs // len(fuzzers)))
    return _report(fuzzers, time.monotonic() - began)


def _report(fuzzers: list[Fuzzer], seconds: float) -> int:
    untried = 0
    for one in fuzzers:
        refused = sum(count for outcome, count in one.counts.items() if outcome.startswith("refused"))
        accepted = sum(count for outcome, count in one.counts.items() if outcome.startswith("accepted"))
        print(f"{one.target.name:22} {refused:7} refused {accepted:7} accepted")
        one.tell_findings()
        if not refused or not accepted:
            untried += 1
            print(f"  NOT TRIED: {refused} refused, {accepted} accepted (both must be more than 0)")
    escaped = sum(len(one.findings) for one in fuzzers)
    inputs = sum(one.executions for one in fuzzers)
    print(
        f"border-fuzz: {inputs} inputs over {len(fuzzers)} borders, {escaped} escaped"
        f" ({seconds:.0f} s, {untried} borders not tried)"
    )
    return 1 if escaped or untried else 0


if __name__ == "__main__":
    sys.exit(main())
