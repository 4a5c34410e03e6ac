"""`python -m mutants`: breaks all of decide/, and wants at least 90 % of it noticed."""

import argparse
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from mutants.hunt import hunt
from mutants.operators import Mutant, mutants_of, unbroken

ROOT: Final = Path(__file__).resolve().parents[2]
DECIDE: Final = ROOT / "src" / "nodemend" / "decide"
KNOWN: Final = Path(__file__).with_name("survivors.txt")
WANTED: Final = 0.90


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only every so-manieth mutant")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", help="only mutants whose name contains this")
    options = parser.parse_args()
    mutants = [mutant for mutant in _all() if options.only in mutant.name][:: options.every]
    if blind := hunt(unbroken(DECIDE / "storm_guard.py", "nodemend.decide.storm_guard")):
        print(f"the {blind} tests fail on unbroken code: they would catch every mutant")
        return 1
    with ThreadPoolExecutor(options.workers) as pool:
        catches = [
            _tell(mutant, catch) for mutant, catch in zip(mutants, pool.map(hunt, mutants), strict=True)
        ]
    return _report(mutants, catches)


def _tell(mutant: Mutant, catch: str) -> str:
    print(f"{catch or 'SURVIVED':24} {mutant.name}", file=sys.stderr, flush=True)
    return catch


def _all() -> list[Mutant]:
    return [
        mutant
        for path in sorted(DECIDE.glob("*.py"))
        for mutant in mutants_of(path, f"nodemend.decide.{path.stem}")
    ]


def _report(mutants: list[Mutant], catches: list[str]) -> int:
    reasons = _known()
    survivors = [mutant for mutant, catch in zip(mutants, catches, strict=True) if not catch]
    for mutant in survivors:
        print(f"survived  {mutant.name}\n          {reasons.get(mutant.name, 'NO REASON GIVEN')}")
    unexplained = [mutant for mutant in survivors if mutant.name not in reasons]
    for kind, count in Counter(catch for catch in catches if catch).most_common():
        print(f"{count:5}  caught by {kind}")
    share = 1 - len(survivors) / len(mutants)
    print(
        f"{len(mutants)} mutants of decide/, {share:.1%} caught (at least {WANTED:.0%} wanted), "
        f"{len(survivors)} survived, {len(unexplained)} of them without a reason"
    )
    return 1 if share < WANTED or unexplained else 0


def _known() -> dict[str, str]:
    """Survivors that are no gap: `name | reason` a line."""
    lines = KNOWN.read_text().splitlines() if KNOWN.exists() else []
    pairs = (line.partition(" | ") for line in lines if line and not line.startswith("#"))
    return {name.strip(): reason.strip() for name, _, reason in pairs}


if __name__ == "__main__":
    sys.exit(main())
