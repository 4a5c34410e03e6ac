"""`python -m nightly`: runs every campaign in full; prints a table of results and durations.

A failing part does not keep the others from running. `--only` runs the parts whose line contains a string,
`--list` prints the parts.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PARTS: Final = (
    "check",
    "slow",
    "pythons",
    "matrix",
    "attacks",
    "attacks --mutants",
    "conformance",
    "capm3-map",
    "seeds",
    "breakages",
    "differential 500",
    "watch-faults 1000",
    "leader-election 10000 20",
    "determinism 1000",
    "oracle --seeds 100",
    "simulate 2000",
    "simulate-checks 5000 1",
    "simulate-power 5000",
    "simulate-self-fencing 2000",
    "simulate-hostile 5000",
    "campaign-power",
    "campaign-power --tests",
    "link-matrices",
    "thresholds 200",
    "mutants 1",
    "power-mutants",
    "self-fencing-mutants",
    "models full",
    "traces 10000",
    "peer-fuzz 1000000",
    "border-fuzz 1000000",
    "border-fuzz 20000 --mutants",
    "outage",
    "outage --mutants",
    "outage --real 45",
    "restore 200",
    "restore 150 --mutants",
    "boot-gate",
    "self-fencing-time 20",
    "self-fencing-storm 100",
    "self-fencing-e2e",
    "self-fencing-guests",
    "watchdog 77",
    "checks-e2e 1000",
    "power-e2e",
    "power-capi 3",
    "lifecycle",
    "refusals",
    "agent-refusals",
    "check-refusals",
    "host-conformance",
    "power-table",
    "explain",
    "agent-footprint 60",
    "feeder-footprint",
    "peer-load 120",
    "scale normal",
    "heartbeat-path",
    "user-output",
    "bench-clients normal",
    "bench-workload-clusters",
    "package",
    "demo",
)
"""Recipes of the justfile, with the arguments that make them whole."""


@dataclass(frozen=True, slots=True)
class Outcome:
    part: str
    status: int
    seconds: float
    last_line: str


def run(part: str) -> Outcome:
    """Run it with its output, and keep the last line, which is its result."""
    began, last = time.monotonic(), ""
    with subprocess.Popen(["just", *part.split()], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return Outcome(part, process.returncode, time.monotonic() - began, last)


def table(endings: Sequence[Outcome]) -> str:
    rows = [
        f"{ending.part:<28} {'ok' if ending.status == 0 else f'exit {ending.status}':<9}"
        f" {ending.seconds:>7.0f} s  {ending.last_line}"
        for ending in endings
    ]
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="words of the parts to run")
    parser.add_argument("--list", action="store_true", help="print the parts; run nothing")
    options = parser.parse_args()
    parts = [part for part in PARTS if not options.only or any(word in part for word in options.only)]
    if options.list or not parts:
        print("\n".join(parts) or "there is no such part")
        return 0 if parts else 1
    endings = []
    for part in parts:
        print(f"\n=== {part}", flush=True)
        endings.append(run(part))
    failed = sum(ending.status != 0 for ending in endings)
    print(f"\n{table(endings)}")
    total = sum(ending.seconds for ending in endings)
    print(f"nightly: {len(endings)} parts in {total:.0f} s, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
