"""`python -m gate [--ci]`: measures the gates, and fails when one fails or takes longer than its bar.

`quick` is measured with the last commit that changed the product. With --ci, `.ci/run` is measured too, with
the caches that it finds.
"""

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from exit_status import exit_status

ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    command: tuple[str, ...]
    bar: int
    """Seconds, on two cores."""


CHECK: Final = Recipe("check", ("just", "check"), 240)
CI: Final = Recipe(".ci/run", (".ci/run",), 1800)


def quick() -> Recipe:
    log = ("git", "log", "-1", "--format=%H", "--", "src")
    last = subprocess.run(log, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    return Recipe("quick", ("just", "quick", f"{last}~1"), 60)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ci", action="store_true", help="measure .ci/run too")
    options = parser.parse_args()
    wrong = late = False
    results = []
    for gate in (quick(), CHECK, CI) if options.ci else (quick(), CHECK):
        began = time.monotonic()
        failed = subprocess.run(gate.command, cwd=ROOT, check=False).returncode != 0
        seconds = time.monotonic() - began
        wrong |= failed
        late |= seconds > gate.bar
        results.append(f"{gate.name} {'FAILED after ' if failed else ''}{seconds:.0f} s (at most {gate.bar})")
    print(f"gate: {', '.join(results)}")
    return exit_status(wrong=wrong, late=late)


if __name__ == "__main__":
    sys.exit(main())
