"""`python -m tests.power_mutants.hunt NUMBER SEEDS`: plays seeds with a mistake in the code until one breaks.

Prints the seed, or nothing when none of them did.
"""

import sys
import warnings

from mutants.hunt import Impostor
from tests.power_mutants.by_hand import MISTAKES


def main(number: int, seeds: int) -> None:
    warnings.simplefilter("ignore")
    sys.meta_path.insert(0, Impostor(MISTAKES[number].mutant))
    from tests.simulation.power.run import play  # noqa: PLC0415 - only now is the mistake in it

    for seed in range(seeds):
        if broken := play(seed).broken:
            print(f"seed {seed}: {broken}")
            return


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
