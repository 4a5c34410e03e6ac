"""Many seeded elections under faults. The last line is the result; exit status 1 if a limit is exceeded.

    python -m tests.simulation.leader_election --runs 10000
    python -m tests.simulation.leader_election --seed 17        (one run, with its trace)

Limits: actions begun by a non-holder 0, accepted writes of a non-holder 0, seconds in which two processes
consider themselves leader 0.0 (also counted during pauses), no epoch that is not higher than all before it,
and one leader at the end of every run.

Action of a non-holder: begun with an epoch after a later claim of the Lease was committed.
Accepted write of a non-holder: committed by the API server to an object that has a higher epoch.

Late writes are printed as well. They began in time, were in flight when their sender's term ended, and were
committed after the next claim, but before the next leader stamped that object. They are safe: the next leader
writes to an object only after a stamp with the version that it read. So either it has read the result of the
late write, or its stamp is refused and it reads again. For every observer, this is equivalent to a late write
before the claim. After the stamp, the server refuses the old epoch.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from statistics import quantiles

from tests.simulation.leader_election.violations import Counts
from tests.simulation.leader_election.world import ElectorWorld

_CHUNK = 50


def play_seeds(seeds: range) -> tuple[Counts, list[int]]:
    """Return the sum of some runs, and the seeds that violated a guarantee."""
    total, broken = Counts(), []
    for seed in seeds:
        counts = ElectorWorld(seed).play()
        if counts.broken:
            broken.append(seed)
        total.add(counts)
    return total, broken


def play_until_broken(runs: int) -> tuple[Counts, list[int]]:
    total, broken = Counts(), list[int]()
    for seed in range(runs):
        counts, broken = play_seeds(range(seed, seed + 1))
        total.add(counts)
        if broken:
            break
    return total, broken


def play_all(runs: int, jobs: int) -> tuple[Counts, list[int]]:
    chunks = [range(start, min(start + _CHUNK, runs)) for start in range(0, runs, _CHUNK)]
    total, broken = Counts(), []
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        for counts, seeds in pool.map(play_seeds, chunks):
            total.add(counts)
            broken += seeds
    return total, broken


def describe(counts: Counts) -> str:
    faults = ", ".join(f"{name} {count}" for name, count in sorted(counts.faults.items()))
    cuts = quantiles(counts.takeovers, n=100) if len(counts.takeovers) > 1 else [0.0] * 99
    return "\n".join(
        (
            f"{counts.runs} runs, {counts.simulated_seconds:.0f} simulated seconds, {counts.terms} terms",
            f"faults: {faults}",
            f"actions begun {counts.actions}",
            f"writes committed {counts.writes_committed}, of these late {counts.late_writes}",
            f"writes refused {counts.writes_refused}",
            f"processes that ended because they slept through the end of their lease {counts.overruns}",
            f"from the last renewal to the next term: median {cuts[49]:.1f} s, 99 % {cuts[98]:.1f} s",
            f"epochs that did not rise {counts.falling_epochs}",
            f"runs that did not end with one leader {counts.leaderless_ends}",
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
        counts, broken = play_until_broken(asked.runs)
    else:
        counts, broken = play_all(asked.runs, asked.jobs)
    _tell(describe(counts))
    for seed in broken[:10]:
        _tell(f"broken: python -m tests.simulation.leader_election --seed {seed}")
    _tell(_figure(counts))
    return 1 if broken else 0


def _replay(seed: int) -> int:
    world = ElectorWorld(seed, keep_trace=True)
    counts = world.play()
    _tell("\n".join(world.scheduler.trace.lines))
    _tell(describe(counts))
    _tell(_figure(counts))
    return 1 if counts.broken else 0


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _figure(counts: Counts) -> str:
    return (
        f"elector, {counts.runs} simulated runs: actions begun by a non-holder {counts.foreign_actions}, "
        f"writes of a non-holder accepted {counts.foreign_writes}, "
        f"seconds with two leaders {counts.two_lead_seconds:.1f}"
    )
