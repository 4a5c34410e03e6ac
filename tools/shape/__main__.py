"""`python -m shape`: a table of bars (bar, measured, ok). Fails if one is missed.

--all names every offender.
"""

import argparse
import sys

from shape import bars
from shape.tree import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="print every offender of each missed bar")
    options = parser.parse_args()
    results = bars.evaluate(ROOT, bars.read_limits())
    for line in bars.table(results, shown=sys.maxsize if options.all else bars.SHOWN):
        print(line)
    return 0 if all(one.met for one in results) else 1


if __name__ == "__main__":
    sys.exit(main())
