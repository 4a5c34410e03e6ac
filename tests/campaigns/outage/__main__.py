"""`python -m tests.campaigns.outage`: outages of an hour, a day, a week, and brown-outs: no resets.

`--sample` plays a few seeds of each kind; `--kinds NAME,...` some kinds; `--agents-killed` also kills all
agents for two minutes, which needs a feeder that runs API checks itself while its agent is silent.
`--mutants` breaks one rule at a time, and reports which of these bugs this campaign alone finds. `--real
[MINUTES]` plays one outage with real agents and a real API server instead; it needs root.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from tests.campaigns.outage.mutants import MUTANTS, caught_by
from tests.campaigns.outage.play import AGENTS_KILLED, KINDS, Kind, Played, play
from tests.campaigns.outage.real import play_real

LEAST_CAUGHT = 8


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--seeds", type=int, help="of each kind, instead of its own number")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--agents-killed", action="store_true")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--replay", metavar="KIND:SEED")
    parser.add_argument("--real", metavar="MINUTES", type=float, nargs="?", const=45.0)
    options = parser.parse_args()
    if options.real is not None:
        return play_real(options.real)
    kinds = (*KINDS, AGENTS_KILLED) if options.agents_killed else KINDS
    if options.replay:
        return _replay(options.replay)
    if options.mutants:
        return _mutants(options.workers)
    if options.kinds:
        wanted = options.kinds.split(",")
        kinds = tuple(one for one in (*KINDS, AGENTS_KILLED) if one.name in wanted)
    began, runs = time.monotonic(), list[Played]()
    for kind in kinds:
        seeds = options.seeds or (kind.ci if options.sample else kind.seeds)
        runs += _play(kind, range(options.first, options.first + seeds), options.workers)
    return _report(runs, time.monotonic() - began)


def _play(kind: Kind, seeds: range, workers: int) -> list[Played]:
    if not seeds:
        return []
    with ProcessPoolExecutor(workers) as pool:
        runs = list(pool.map(partial(_play_named, kind.name), seeds))
    for run in runs:
        if run.resets:
            print(f"{kind.name} {run.seed}: {run.resets} resets", flush=True)
            print(f"  replay: python -m tests.campaigns.outage --replay {kind.name}:{run.seed}", flush=True)
    hours, resets = sum(run.hours for run in runs), sum(run.resets for run in runs)
    print(f"{kind.name:24} {len(runs):4} seeds {hours:8.1f} h  {resets} resets", flush=True)
    return runs


def _play_named(name: str, seed: int) -> Played:
    """Functions cannot be pickled."""
    return play(_kind(name), seed)


def _kind(name: str) -> Kind:
    return next(kind for kind in (*KINDS, AGENTS_KILLED) if kind.name == name)


def _report(runs: Sequence[Played], took: float) -> int:
    hours, resets = sum(run.hours for run in runs), sum(run.resets for run in runs)
    restarts = sum(run.restarts for run in runs)
    print(
        f"outage: {len(runs)} seeds, {hours:.0f} hours simulated, {restarts} restarts of agents and nodes,"
        f" {resets} resets ({took:.0f} s)"
    )
    return 1 if resets or not runs else 0


def _replay(what: str) -> int:
    name, _, seed = what.partition(":")
    run = play(_kind(name), int(seed), keep_trace=True)
    print("\n".join(run.lines))
    print(f"{what}: {run.resets} resets")
    return 1 if run.resets else 0


def _mutants(workers: int) -> int:
    with ProcessPoolExecutor(workers, get_context("spawn"), max_tasks_per_child=1) as pool:
        found = list(pool.map(caught_by, MUTANTS))
    for name, kind in zip(MUTANTS, found, strict=True):
        print(f"{name:28} {'caught by ' + kind if kind else 'NOT caught'}")
    caught = sum(bool(kind) for kind in found)
    print(f"outage-mutants: {caught} of {len(MUTANTS)} caught by the campaign alone")
    return 0 if caught >= LEAST_CAUGHT else 1


if __name__ == "__main__":
    sys.exit(main())
