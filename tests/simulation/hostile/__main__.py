"""`python -m tests.simulation.hostile`: the worlds of the other campaigns, with hostile faults.

Seed n runs in world n modulo the number of worlds. `--replay WORLD:SEED` prints one run, `--only KIND,KIND`
disables all other kinds of faults. With `--world` all seeds run in one world, some without hostile faults;
`--chosen SEED,SEED` runs these seeds of it.
"""

import argparse
import sys
import time
from collections import Counter
from functools import partial
from typing import Final

from tests.simulation.campaigning import play_all
from tests.simulation.hostile.drawing import Run
from tests.simulation.hostile.kinds import Kind
from tests.simulation.hostile.run import PLAYS, WORLDS, play, play_mixed

REPLAY: Final = "python -m tests.simulation.hostile --replay {seed}"
FULL: Final = 5_000
EFFECTIVE: Final = 200
"""Faults of each kind that must take effect in FULL seeds; fewer seeds need a proportional number."""
INVARIANTS: Final = tuple(f"I{number}" for number in range(1, 15))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=FULL)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="begin no more seeds after so long"
    )
    parser.add_argument("--only", metavar="KIND,KIND", help=", ".join(kind.name for kind in Kind))
    parser.add_argument("--replay", metavar="WORLD:SEED")
    parser.add_argument("--world", choices=WORLDS, help="play this one, and its plain seeds, too")
    parser.add_argument("--chosen", metavar="SEED,SEED")
    options = parser.parse_args()
    only = tuple(Kind[name] for name in options.only.split(",")) if options.only else ()
    if options.world:
        return _play_world(options)
    if options.replay:
        world, _, seed = options.replay.rpartition(":")
        return _replay(world, int(seed), only)
    began = time.monotonic()
    seeds = range(options.first, options.first + options.seeds)
    runs = play_all(
        partial(play, only=only), seeds, workers=options.workers, replay=REPLAY, minutes=options.minutes
    )
    return _report(runs, time.monotonic() - began)


def _play_world(options: argparse.Namespace) -> int:
    mixed = partial(play_mixed, world=options.world)
    if options.replay:
        return _tell(mixed(int(options.replay), keep_trace=True))
    chosen = [int(one) for one in options.chosen.split(",")] if options.chosen else None
    seeds = chosen or range(options.first, options.first + options.seeds)
    replay = f"python -m tests.simulation.hostile --world {options.world} --replay {{seed}}"
    runs = play_all(mixed, seeds, workers=options.workers, replay=replay, minutes=options.minutes)
    broken = sum(bool(run.broken) for run in runs)
    print(f"{len(runs)} seeds of {options.world}, {broken} violations")
    return 1 if broken else 0


def _replay(world: str, seed: int, only: tuple[Kind, ...]) -> int:
    """Replay a seed. Every seed can run in every world; the default is the world of the campaign."""
    return _tell(PLAYS[world or WORLDS[seed % len(WORLDS)]](seed, keep_trace=True, only=only))


def _tell(run: Run) -> int:
    print("\n".join(run.lines))
    print(f"{run.world}:{run.seed}: {run.broken or 'all invariants hold'}, {run.releases} releases")
    return 1 if run.broken else 0


def _report(runs: list[Run], seconds: float) -> int:
    checked = {world: Counter[str]() for world in WORLDS}
    made, effective = Counter[str](), Counter[str]()
    for run in runs:
        checked[run.world] += run.checked
        made += run.made
        effective += run.effective
    print(f"{'checked':10}" + "".join(f"{world:>14}" for world in WORLDS))
    for name in INVARIANTS:
        summary = "".join(f"{checked[world][name]:14}" for world in WORLDS)
        print(f"{name:10}{summary}")
    for kind in Kind:
        print(f"{effective[kind]:8} effective of {made[kind]:8}  {kind}")
    reached = sum(run.releases > 0 for run in runs)
    print(f"{reached} of {len(runs)} seeds reached a release; {len(runs) / seconds:.2f} seeds a second")
    missed = _missed(runs, checked, effective)
    for line in missed:
        print(f"missed: {line}")
    broken = sum(bool(run.broken) for run in runs)
    releases = sum(run.releases for run in runs)
    print(f"simulate-hostile: {len(runs)} seeds, {releases} releases, {broken} violations")
    return 1 if broken or missed else 0


def _missed(runs: list[Run], checked: dict[str, Counter[str]], effective: Counter[str]) -> list[str]:
    """Return the missed targets of a FULL campaign, in proportion for a smaller one."""
    least = EFFECTIVE * min(len(runs), FULL) // FULL
    unchecked = [
        f"{name} was never checked"
        for name in INVARIANTS
        if not any(counts[name] for counts in checked.values())
    ]
    few = [f"{kind}: {effective[kind]} effective, {least} wanted" for kind in Kind if effective[kind] < least]
    unreached = [] if any(run.releases for run in runs) else ["no release was reached"]
    return [*unchecked, *few, *unreached]


if __name__ == "__main__":
    sys.exit(main())
