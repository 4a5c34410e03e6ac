"""`python -m tests.power_mutants`: mistakes made by hand, each of which the simulated world has to notice."""

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from tests.power_mutants.by_hand import MISTAKES

SECONDS_A_SEED: Final = 20.0
"""At the very most, on a busy machine."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=300, help="how many are played before it is let go")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", help="mistakes whose name has this in it")
    options = parser.parse_args()
    chosen = [number for number, one in enumerate(MISTAKES) if options.only in one.name]
    with ThreadPoolExecutor(options.workers) as pool:
        noticed = list(pool.map(partial(_hunt, seeds=options.seeds), chosen))
    print(f"{len(chosen)} mistakes by hand: {sum(noticed)} noticed by the simulated world")
    return 0 if all(noticed) else 1


def _hunt(number: int, *, seeds: int) -> bool:
    """In a process of its own: the mistake must be in the code before anything imports it."""
    played = subprocess.run(
        [sys.executable, "-m", "tests.power_mutants.hunt", str(number), str(seeds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        timeout=seeds * SECONDS_A_SEED,
    ).stdout.strip()
    print(f"{MISTAKES[number].name}: {played or 'NOT NOTICED'}", flush=True)
    return bool(played)


if __name__ == "__main__":
    sys.exit(main())
