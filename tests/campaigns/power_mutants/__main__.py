"""`python -m tests.campaigns.power_mutants`: mutation tests of the code that powers hosts off.

Scenarios of power cycles and simulated seeds must notice every hand-written bug and 90 % of the operator
mutants. No unit tests are run.
"""

import argparse
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from mutants.operators import Mutant, unbroken
from mutants.survivors import read_survivors
from tests.campaigns.power_mutants.by_hand import MISTAKES
from tests.campaigns.power_mutants.hunting import Quarry, hunt
from tests.campaigns.power_mutants.scouting import Map, scout
from tests.campaigns.power_mutants.targets import KNOWN, PATHS, all_mutants, module_of

WANTED: Final = 0.90


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only every so-manieth mutant by operators")
    parser.add_argument("--seeds", type=int, default=3, help="played when no scenario has noticed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", help="only those whose name has this in it")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    scouted = scout(options.workers)
    if blind := [one.path.stem for one in scouted if not one.same]:
        print(f"scenarios that tell another story on unbroken code would catch everything: {blind}")
        return 1
    hunter = Hunter(Map(scouted), range(options.seeds), options.workers)
    if hunter.sees_what_is_not_there():
        print("unbroken code is caught, too: nothing that is caught means anything")
        return 1
    by_hand = [one.mutant for one in MISTAKES if options.only in one.name]
    by_operators = [one for one in all_mutants() if options.only in one.name][:: options.every]
    if not by_hand and not by_operators:
        parser.error(f"no mutant has {options.only!r} in its name")
    missed = [one for one, catch in zip(by_hand, hunter.hunt_all(by_hand), strict=True) if not catch]
    good = _report(by_operators, hunter.hunt_all(by_operators))
    print(f"{len(by_hand)} mistakes by hand: {len(by_hand) - len(missed)} noticed by the simulated world")
    return 0 if good and not missed else 1


class Hunter:
    """Hunts mutants. Scenarios that noticed a mutant in a module run first for its next mutant."""

    def __init__(self, where: Map, seeds: range, workers: int) -> None:
        self._noticed: dict[str, Counter[str]] = defaultdict(Counter)
        self._where = where
        self._seeds = seeds
        self._workers = workers

    def hunt_all(self, mutants: Sequence[Mutant]) -> list[str]:
        with ThreadPoolExecutor(self._workers) as pool:
            return list(pool.map(self._hunt, mutants))

    def sees_what_is_not_there(self) -> bool:
        """Run with an unchanged module: True if some scenario reports a difference."""
        same = unbroken(PATHS[0], module_of(PATHS[0]))
        return bool(hunt(Quarry(same, tuple(self._where.by(same)[:3]), self._seeds[:1])))

    def _hunt(self, mutant: Mutant) -> str:
        before = self._noticed[mutant.module]
        # The sort is stable: of scenarios that noticed equally often, the cheapest stays first.
        stories = sorted(self._where.by(mutant), key=lambda story: -before[story.stem])
        catch = hunt(Quarry(mutant, tuple(stories), self._seeds))
        before[catch.removeprefix("scenario ").partition(" ")[0]] += 1
        print(f"{catch or 'NOT NOTICED':48} {mutant}", file=sys.stderr, flush=True)
        return catch


def _report(mutants: Sequence[Mutant], catches: Sequence[str]) -> bool:
    """Print the result; return True if enough mutants are caught. Equivalent mutants do not count."""
    reasons = read_survivors(KNOWN)
    survivors = [mutant for mutant, catch in zip(mutants, catches, strict=True) if not catch]
    alike = [mutant for mutant in survivors if mutant.name in reasons]
    for mutant in survivors:
        print(f"survived  {mutant}\n          {reasons.get(mutant.name, 'NO REASON GIVEN')}")
    for kind, count in Counter(catch.partition(" ")[0] for catch in catches if catch).most_common():
        print(f"{count:5}  caught by {kind}")
    judged = len(mutants) - len(alike)
    caught = len(mutants) - len(survivors)
    share = caught / judged if judged else 1.0
    print(
        f"{len(mutants)} mutants by operators: {len(alike)} decide the same, {caught} of the other {judged} "
        f"caught ({share:.1%}, at least {WANTED:.0%} wanted)"
    )
    return share >= WANTED


if __name__ == "__main__":
    sys.exit(main())
