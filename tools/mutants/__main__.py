"""`python -m mutants`: mutates every module of decisions; at least 90 % must be noticed."""

import argparse
import sys
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from mutants.hunt import hunt, warm_up
from mutants.operators import Mutant, mutants_of, unbroken
from mutants.survivors import read_survivors

ROOT: Final = Path(__file__).resolve().parents[2]
CONTRACT: Final = "Decisions read types of api, not msgspec"
"""The contract in pyproject.toml that lists the modules to break."""
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
    everything = _all()
    if selecting_nothing := [
        part for part in options.only if not any(part in one.name for one in everything)
    ]:
        parser.error(f"no mutant has this in its name: {' '.join(selecting_nothing)}")
    wanted = [mutant for mutant in everything if any(part in mutant.name for part in options.only)]
    mutants = wanted[:: options.every]
    # A sample trusts the known reasons, and counts those as survivors; a full run checks them.
    reasons = read_survivors(KNOWN)
    confirmed = reasons if options.every > 1 else {}
    warm_up()
    with ThreadPoolExecutor(options.workers) as pool:
        hunted = pool.map(lambda one: "" if one.name in confirmed else hunt(one), mutants)
        catches = [_tell(mutant, catch) for mutant, catch in zip(mutants, hunted, strict=True)]
    if blind := _blind({catch.partition(" (")[0] for catch in catches if catch}):
        print(f"the {blind} tests fail on unbroken code: they would catch every mutant")
        return 1
    return _report(mutants, catches, reasons)


def _blind(kinds: set[str]) -> str:
    """Test kinds that caught a mutant although they would fail on unbroken code as well."""
    return hunt(unbroken(ROOT / "src" / "nodemend" / "safety" / "guard.py", "nodemend.safety.guard"), kinds)


def _tell(mutant: Mutant, catch: str) -> str:
    print(f"{catch or 'SURVIVED':24} {mutant}", file=sys.stderr, flush=True)
    return catch


def _all() -> list[Mutant]:
    return [mutant for path in decision_modules() for mutant in mutants_of(path, module_name(path))]


def decision_modules() -> list[Path]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [modules] = [one["source_modules"] for one in contracts if one["name"] == CONTRACT]
    places = [ROOT / "src" / name.replace(".", "/") for name in modules]
    return sorted(
        file for one in places for file in (one.glob("*.py") if one.is_dir() else (one.with_suffix(".py"),))
    )


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)


def _report(mutants: list[Mutant], catches: list[str], reasons: dict[str, str]) -> int:
    survivors = [mutant for mutant, catch in zip(mutants, catches, strict=True) if not catch]
    for mutant in survivors:
        print(f"survived  {mutant}\n          {reasons.get(mutant.name, 'NO REASON GIVEN')}")
    unexplained = [mutant for mutant in survivors if mutant.name not in reasons]
    for kind, count in Counter(catch for catch in catches if catch).most_common():
        print(f"{count:5}  caught by {kind}")
    share = 1 - len(survivors) / len(mutants)
    print(
        f"{len(mutants)} mutants of decisions, {share:.1%} caught (at least {WANTED:.0%} wanted), "
        f"{len(survivors)} survived, {len(unexplained)} of them without a reason"
    )
    return 1 if share < WANTED or unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
