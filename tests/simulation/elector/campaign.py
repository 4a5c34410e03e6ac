"""Many seeded elections under faults. The last line is the figure; exit status 1 when the bar is missed.

    python -m tests.simulation.elector --runs 10000
    python -m tests.simulation.elector --seed 17        (one run, with its trace)

Bar: actions begun by a non-holder 0, writes of a non-holder accepted 0, seconds in which two processes
believe that they lead 0.0 (counted through pauses as well), no epoch that is not higher than all before it,
and one leader at the end of every run.

A non-holder's action: one begun with an epoch when a later claim of the Lease had already been committed.
A non-holder's write accepted: one that the API server commits to an object that bears a higher epoch.

Late writes are printed beside these. They were begun in time, were under way when their sender's term ended,
and were committed after the next claim, but before the next leader had stamped that object. They do no harm:
the next leader writes to an object only after a stamp, under the version that it read, so either it has read
what the late write left, or its stamp is refused and it reads again. To everybody this looks as if the late
write had come before the claim. After the stamp the server refuses the old epoch.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from statistics import quantiles

from tests.simulation.elector.judge import Tally
from tests.simulation.elector.world import ElectorWorld

_CHUNK = 50


def play_seeds(seeds: range) -> tuple[Tally, list[int]]:
    """The sum of some runs, and the seeds that broke a promise."""
    total, broken = Tally(), []
    for seed in seeds:
        tally = ElectorWorld(seed).play()
        if tally.broken:
            broken.append(seed)
        total.add(tally)
    return total, broken


def play_until_broken(runs: int) -> tuple[Tally, list[int]]:
    total, broken = Tally(), list[int]()
    for seed in range(runs):
        tally, broken = play_seeds(range(seed, seed + 1))
        total.add(tally)
        if broken:
            break
    return total, broken


def play_all(runs: int, jobs: int) -> tuple[Tally, list[int]]:
    chunks = [range(start, min(start + _CHUNK, runs)) for start in range(0, runs, _CHUNK)]
    total, broken = Tally(), []
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        for tally, seeds in pool.map(play_seeds, chunks):
            total.add(tally)
            broken += seeds
    return total, broken


def describe(tally: Tally) -> str:
    faults = ", ".join(f"{name} {count}" for name, count in sorted(tally.faults.items()))
    cuts = quantiles(tally.takeovers, n=100) if len(tally.takeovers) > 1 else [0.0] * 99
    return "\n".join(
        (
            f"{tally.runs} runs, {tally.simulated_seconds:.0f} simulated seconds, {tally.terms} terms",
            f"faults: {faults}",
            f"actions begun {tally.actions}",
            f"writes committed {tally.writes_committed}, of these late {tally.late_writes}",
            f"writes refused {tally.writes_refused}",
            f"processes that ended because they slept through the end of their lease {tally.overruns}",
            f"from the last renewal to the next term: median {cuts[49]:.1f} s, 99 % {cuts[98]:.1f} s",
            f"epochs that did not rise {tally.falling_epochs}",
            f"runs that did not end with one leader {tally.leaderless_ends}",
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--until-broken", action="store_true", help="one run after the other, to the first bad one"
    )
    parser.add_argument("--seed", type=int, help="play this one run and print its trace")
    asked = parser.parse_args()
    if asked.seed is not None:
        return _replay(asked.seed)
    if asked.until_broken:
        tally, broken = play_until_broken(asked.runs)
    else:
        tally, broken = play_all(asked.runs, asked.jobs)
    _tell(describe(tally))
    for seed in broken[:10]:
        _tell(f"broken: python -m tests.simulation.elector --seed {seed}")
    _tell(_figure(tally))
    return 1 if broken else 0


def _replay(seed: int) -> int:
    world = ElectorWorld(seed, keep_trace=True)
    tally = world.play()
    _tell("\n".join(world.scheduler.trace.lines))
    _tell(describe(tally))
    _tell(_figure(tally))
    return 1 if tally.broken else 0


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _figure(tally: Tally) -> str:
    return (
        f"elector, {tally.runs} simulated runs: actions begun by a non-holder {tally.foreign_actions}, "
        f"writes of a non-holder accepted {tally.foreign_writes}, "
        f"seconds with two leaders {tally.two_lead_seconds:.1f}"
    )
