"""`python -m campaign_power`: takes rules away, one at a time, and says which campaigns notice alone.

A mutant is caught when a named invariant is violated at a seed that passes without the mutant. Exceptions,
time-outs and missed shares do not count. What is known stands in --state, so that a run can be resumed.
With --tests it runs the tests that each mutant names instead: all of them have to fail.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from campaign_power.hunting import Hunt
from campaign_power.mutants import FURTHER, MUTANTS, SERVER, Mutant, chosen
from campaign_power.playing import campaigns
from campaign_power.results import Result, Results

STATE: Final = Path.home() / ".cache" / "nodemend" / "campaign-power"
WANTED: Final = 0.80
WANTED_OF_SERVER: Final = 10 / 12


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="an area, or a part of a mutant's name")
    parser.add_argument("--seeds-scale", type=float, default=1.0, help="of the sizes that are wanted")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--state", type=Path, default=STATE, help="where results are kept")
    parser.add_argument("--every-campaign", action="store_true", help="go on after one has caught it")
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
        played = campaigns(options.workers)
        hunt = Hunt(Results(options.state), played, options.seeds_scale, Path(folder))
        if options.tests:
            return _run_tests(hunt, mutants)
        results = _play(hunt, mutants, options)
    return _report(mutants, results)


def _play(hunt: Hunt, mutants: list[Mutant], options: argparse.Namespace) -> dict[str, list[Result]]:
    """First what the first seeds of each campaign catch; then the other seeds, for what they do not."""
    results: dict[str, list[Result]] = {}
    for sample in (True, False):
        for mutant in mutants:
            known = options.known or (options.enough and _enough(mutants, results))
            found = hunt.hunt(mutant, every=options.every_campaign, sample=sample, known=known)
            if found != results.get(mutant.name):
                print(_line(mutant, found), flush=True)
            results[mutant.name] = found
    return results


def _line(mutant: Mutant, found: list[Result]) -> str:
    caught = [f"{one.campaign} at seed {one.seed} ({one.why})" for one in found if one.caught]
    noticed = [f"{one.campaign} noticed otherwise: {one.why}" for one in found if one.why and not one.caught]
    said = "; ".join(caught or [f"NOT CAUGHT {mutant.instead}".strip(), *noticed])
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
