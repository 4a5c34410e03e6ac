"""`python -m tests.checks_e2e`: real silence and a storm, for every population."""

import argparse
import sys

from tests.checks_e2e.populations import POPULATIONS
from tests.checks_e2e.silence import fall_silent
from tests.checks_e2e.storm import rage

LATE_AT_MOST = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000, help="in the storm (%(default)s)")
    parser.add_argument("--only", help="one population, by its name")
    options = parser.parse_args()
    wrong = []
    latest = 0.0
    chosen = [one for one in POPULATIONS if options.only in (None, one.name)]
    for population in chosen:
        silence = fall_silent(population)
        print(
            f"{population.name}: asked for {silence.late:.2f} s after the deadline, withdrawn after"
            f" {silence.withdrawn:.2f} s, and after {silence.withdrawn_while_paused:.2f} s while paused",
            flush=True,
        )
        latest = max(latest, silence.late)
        if silence.late > LATE_AT_MOST:
            wrong.append(f"{population.name} was {silence.late:.2f} s late")
        storm = rage(population, options.nodes)
        print(
            f"{population.name}: {storm.failed} of {storm.total} failed, {storm.asked} asked for, guard shut"
            f" after {storm.closed_after:.1f} s, {storm.stale} stale afterwards",
            flush=True,
        )
        if storm.asked or storm.stale:
            wrong.append(
                f"{population.name} asked for {storm.asked} in a storm, {storm.stale} stale after it"
            )
    for one in wrong:
        print(f"WRONG: {one}")
    print(
        f"checks-e2e: {len(chosen)} populations, at most {latest:.2f} s after the deadline"
        f" (bar {LATE_AT_MOST:.0f} s), storms of 60 % of {options.nodes}: {len(wrong)} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
