"""Tests that a seed gives the same trace in two processes that hash strings differently.

`python -m tests.simulation.walking_path.determinism --seeds 1000`
"""

import argparse
import os
import subprocess
import sys
import time
from typing import Final

from tests.simulation.walking_path.run import play

SIMULATED: Final = 400.0
REPLAY: Final = "python -m tests.simulation.walking_path.campaign --replay {seed}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--print-digests", action="store_true", help="what each of the two processes does")
    options = parser.parse_args()
    if options.print_digests:
        for seed in range(options.seeds):
            print(play(seed, until=SIMULATED).digest, flush=True)
        return 0
    return _compare(options.seeds)


def _compare(seeds: int) -> int:
    began = time.monotonic()
    children = [_child(seeds, hash_seed) for hash_seed in ("1", "4711")]
    first, second = (child.communicate()[0].split() for child in children)
    seconds = time.monotonic() - began
    different = [seed for seed, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1]]
    for seed in different[:10]:
        print(f"seed {seed} differs: {REPLAY.format(seed=seed)}")
    complete = len(first) == len(second) == seeds and all(child.returncode == 0 for child in children)
    print(
        f"{len(first)} of {seeds} seeds played twice, {len(set(first))} different traces, "
        f"{len(different)} seeds differ; {2 * seeds * SIMULATED / seconds:,.0f} simulated seconds a second"
    )
    return 0 if complete and not different else 1


def _child(seeds: int, hash_seed: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.simulation.walking_path.determinism", "--print-digests"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.Popen(
        [*command, "--seeds", str(seeds)], env=environment, stdout=subprocess.PIPE, text=True
    )


if __name__ == "__main__":
    sys.exit(main())
