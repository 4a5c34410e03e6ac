"""`python -m mutants`: breaks all of decide/, and wants at least 90 % of it noticed."""

import argparse
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from mutants.hunt import hunt, warm_up
from mutants.operators import Mutant, mutants_of, unbroken
from mutants.survivors import read_survivors

ROOT: Final = Path(__file__).resolve().parents[2]
DECIDE: Final = ROOT / "src" / "nodemend" / "decide"
KNOWN: Final = Path(__file__).with_name("survivors.txt")
WANTED: Final = 0.90


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only every so-manieth mutant")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--only", nargs="*", default=[""], help="only mutants that have one of these in their name"
    )
    options = parser.parse_args()
    wanted = [mutant for mutant in _all() if any(part in mutant.name for part in options.only)]
    mutants = wanted[:: options.every]
    # A sample believes the reasons that are given, and counts those as survivors; the whole doubts them.
    reasons = read_survivors(KNOWN)
    believed = reasons if options.every > 1 else {}
    warm_up()
    with ThreadPoolExecutor(options.workers) as pool:
        hunted = pool.map(lambda one: "" if one.name in believed else hunt(one), mutants)
        catches = [_tell(mutant, catch) for mutant, catch in zip(mutants, hunted, strict=True)]
    if blind := _blind({catch.partition(" (")[0] for catch in catches if catch}):
        print(f"the {blind} tests fail on unbroken code: they would catch every mutant")
        return 1
    return _report(mutants, catches, reasons)


def _blind(kinds: set[str]) -> str:
    """Of those that have caught anything: one that would catch unbroken code as well."""
    return hunt(unbroken(DECIDE / "storm_guard.py", "nodemend.decide.storm_guard"), kinds)


def _tell(mutant: Mutant, catch: str) -> str:
    print(f"{catch or 'SURVIVED':24} {mutant}", file=sys.stderr, flush=True)
    return catch


def _all() -> list[Mutant]:
    return [
        mutant
        for path in sorted(DECIDE.glob("*.py"))
        for mutant in mutants_of(path, f"nodemend.decide.{path.stem}")
    ]


def _report(mutants: list[Mutant], catches: list[str], reasons: dict[str, str]) -> int:
    survivors = [mutant for mutant, catch in zip(mutants, catches, strict=True) if not catch]
    for mutant in survivors:
        print(f"survived  {mutant}\n          {reasons.get(mutant.name, 'NO REASON GIVEN')}")
    unexplained = [mutant for mutant in survivors if mutant.name not in reasons]
    for kind, count in Counter(catch for catch in catches if catch).most_common():
        print(f"{count:5}  caught by {kind}")
    share = 1 - len(survivors) / len(mutants)
    print(
        f"{len(mutants)} mutants of decide/, {share:.1%} caught (at least {WANTED:.0%} wanted), "
        f"{len(survivors)} survived, {len(unexplained)} of them without a reason"
    )
    return 1 if share < WANTED or unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
