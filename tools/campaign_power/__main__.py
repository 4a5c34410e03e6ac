"""`python -m campaign_power`: removes rules, one at a time, and reports which campaigns notice.

A mutant is caught when a named invariant is violated at a seed that passes without the mutant. Exceptions,
time-outs and missed shares do not count. First each seed is played once without mutants, to learn which
mutants could change it at all; a mutant is not played with the other seeds, where nothing could differ.
Results are kept in --state, so that a run can be resumed. With --tests it runs the tests that each mutant
names instead: all of them have to fail.
"""

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from campaign_power.hunting import ROUNDS, Hunt
from campaign_power.mutants import FURTHER, MUTANTS, SERVER, Mutant, chosen
from campaign_power.results import Result

STATE: Final = Path.home() / ".cache" / "nodemend" / "campaign-power"
WANTED: Final = 0.80
WANTED_OF_SERVER: Final = 10 / 12


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="an area, or a part of a mutant's name")
    parser.add_argument("--seeds-scale", type=float, default=1.0, help="of the sizes that are wanted")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--state", type=Path, default=STATE, help="where results are kept")
    parser.add_argument("--enough", action="store_true", help="play no more when the bars are reached")
    parser.add_argument("--known", action="store_true", help="play nothing; tell what is known")
    parser.add_argument("--tests", action="store_true", help="run the tests that the mutants name")
    parser.add_argument("--further", action="store_true", help="those of further_mutants.yaml instead")
    options = parser.parse_args()
    mutants = chosen(options.only, FURTHER if options.further else MUTANTS)
    if not mutants:
        print(f"no mutant has {options.only!r} for its area or in its name")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        wanted = FURTHER if options.further else MUTANTS
        hunt = Hunt(options.state, wanted, Path(folder), workers=options.workers, scale=options.seeds_scale)
        if options.tests:
            return _run_tests(hunt, mutants)
        results = _play(hunt, mutants, options)
    return _report(mutants, results)


def _play(hunt: Hunt, mutants: list[Mutant], options: argparse.Namespace) -> dict[str, list[Result]]:
    """A few seeds for every mutant, then more for those that are not caught.

    Each round begins with the mutants that the fewest seeds can change.
    """
    results: dict[str, list[Result]] = {one.name: [] for one in mutants}
    for number in range(len(ROUNDS)):
        left = [one for one in mutants if not any(result.caught for result in results[one.name])]
        known = options.known or (options.enough and _enough(mutants, results))
        for campaign in sorted({name for one in left for name in one.campaigns}):
            hunt.poll(campaign, number, known=known)
            print(f"looked at the seeds of {campaign} for round {number + 1}", flush=True)
        left.sort(key=lambda one: sum(len(hunt.seeds(one, name)) for name in one.campaigns))

        def play_round(mutant: Mutant, number: int = number) -> None:
            known = options.known or (options.enough and _enough(mutants, results))
            found = hunt.play_round(mutant, number, known=known)
            results[mutant.name] += found
            if any(one.caught for one in found):
                print(_line(mutant, found), flush=True)

        with ThreadPoolExecutor(options.workers) as pool:
            list(pool.map(play_round, left))  # Raises what a worker raised.
        print(f"after round {number + 1} of {len(ROUNDS)}: {_caught(mutants, results)[0]} caught", flush=True)
    for mutant in mutants:
        if not any(result.caught for result in results[mutant.name]):
            print(_line(mutant, results[mutant.name]))
    return results


def _line(mutant: Mutant, found: list[Result]) -> str:
    caught = [f"{one.campaign} at seed {one.seed} ({one.why})" for one in found if one.caught]
    noticed = [f"{one.campaign} noticed otherwise: {one.why}" for one in found if one.why and not one.caught]
    seeds = sum(one.seeds for one in found)
    missed = f"NOT CAUGHT in {seeds} seeds that it can change {mutant.instead}".strip()
    said = "; ".join(caught or [missed, *noticed])
    return f"{mutant.area}: {mutant.name}: {said}"


def _caught(mutants: list[Mutant], results: dict[str, list[Result]]) -> tuple[int, int]:
    """Of the product's, and of the simulated server's."""
    caught = [one.area for one in mutants if any(result.caught for result in results.get(one.name, ()))]
    of_server = caught.count(SERVER)
    return len(caught) - of_server, of_server


def _enough(mutants: list[Mutant], results: dict[str, list[Result]]) -> bool:
    caught, of_server = _caught(mutants, results)
    server = sum(one.area == SERVER for one in mutants)
    return caught >= WANTED * (len(mutants) - server) and of_server >= WANTED_OF_SERVER * server


def _report(mutants: list[Mutant], results: dict[str, list[Result]]) -> int:
    by_campaign = Counter(
        campaign for found in results.values() for campaign in {one.campaign for one in found if one.caught}
    )
    for campaign, number in sorted(by_campaign.items()):
        print(f"{number:5}  caught by {campaign}")
    caught, of_server = _caught(mutants, results)
    server = sum(one.area == SERVER for one in mutants)
    print(
        f"campaign-power: {caught} of {len(mutants) - server} mutants caught by the campaigns alone "
        f"({WANTED:.0%} wanted), "
        f"{of_server} of {server} of the simulated server's by differential"
    )
    return 0 if _enough(mutants, results) else 1


def _run_tests(hunt: Hunt, mutants: list[Mutant]) -> int:
    failing = 0
    for mutant in mutants:
        by = hunt.fails(mutant)
        failing += bool(by)
        print(f"{mutant.area}: {mutant.name}: {by or 'NOT CAUGHT'}", flush=True)
    print(f"campaign-power: {failing} of {len(mutants)} mutants caught by the tests that they name")
    return 0 if failing == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
