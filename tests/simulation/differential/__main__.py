"""Runs random sequences on a real and on the simulated API server, and compares all answers and events.

    python -m tests.simulation.differential --sequences 500 --seed 1
    python -m tests.simulation.differential --replay 4711         one seed again
    python -m tests.simulation.differential --cases               the regression cases, on both servers
    python -m tests.simulation.differential --record              the same, and record the real answers

The last line is the result. The exit code is 1 if there is a difference that is not in known_differences.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

from controlplane.run import ControlPlane
from controlplane.settings import Settings
from tests.simulation.differential import cases
from tests.simulation.differential.counting import count, shortfalls
from tests.simulation.differential.generating import Generator
from tests.simulation.differential.preparing import prepare, wait_until_served
from tests.simulation.differential.running import USERS, Trial, try_out
from tests.simulation.differential.shrinking import shrink
from tests.simulation.differential.sides import Address, RealSide

SETTINGS = Settings(
    controller_manager=False,
    scheduler=False,
    # With snapshots in the watch cache, a compaction is effective up to 15 s later; otherwise immediately.
    feature_gates={"ListFromCacheSnapshot": False},
)


@contextmanager
def real_server(kubernetes: str) -> Iterator[RealSide]:
    settings = replace(SETTINGS, kubernetes=kubernetes) if kubernetes else SETTINGS
    with ControlPlane(settings) as plane:
        token = plane.users["admin"].token
        address = Address(plane.port, plane.ca, token, plane.etcd.port)
        streaming = not settings.kubernetes.startswith("v1.33.")
        with closing(RealSide(address, USERS, streaming_lists=streaming)) as real:
            yield readied(plane, real)


def readied(plane: ControlPlane, real: RealSide) -> RealSide:
    """Prepare the server, and remove its history from its watch caches and its etcd."""
    prepare(real)
    plane.restart_api_server()
    real.reconnect()
    wait_until_served(real)
    real.compact()
    return real


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sequences", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", type=int, metavar="SEED")
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first difference")
    parser.add_argument("--keep", action="store_true", help="write what differs down as a regression case")
    parser.add_argument("--kubernetes", default="", help="another version, such as v1.35.4")
    options = parser.parse_args()
    with real_server(options.kubernetes) as real:
        if options.cases or options.record:
            return replay_cases(real, record=options.record)
        if options.replay is not None:
            return run_sequences(real, options.replay, 1, keep_going=False, keep=options.keep)
        return run_sequences(
            real, options.seed, options.sequences, keep_going=options.keep_going, keep=options.keep
        )


def run_sequences(real: RealSide, seed: int, sequences: int, *, keep_going: bool, keep: bool) -> int:
    counts: Counter[str] = Counter()
    differing, tried, begun = 0, 0, time.monotonic()
    for number in range(seed, seed + sequences):
        trial = try_out(Generator(number).sequence(), real)
        tried += 1
        count(trial, counts)
        if trial.comparison.difference is not None:
            differing += 1
            report(number, trial, real, keep=keep)
            if not keep_going:
                break
    for name, times in sorted(counts.items()):
        say(f"{times:7} {name}")
    missing = shortfalls(counts) if tried >= 500 else []
    for name in missing:
        say(f"too few: {name}")
    seconds = time.monotonic() - begun
    say(
        f"differential: {differing} of {tried} sequences differ, "
        f"{counts['operations']} operations, {counts['events']} events, {seconds:.0f} s"
    )
    return 1 if differing or missing else 0


def report(seed: int, trial: Trial, real: RealSide, *, keep: bool) -> None:
    """Print the difference, the command that repeats it, and the smallest sequence that shows it."""
    say(f"seed {seed} differs: {trial.comparison.difference}")
    say(f"again: python -m tests.simulation.differential --replay {seed}")
    least = try_out(
        shrink(trial.steps, lambda steps: try_out(steps, real).comparison.difference is not None), real
    )
    say(f"least: {len(least.steps)} steps: {least.comparison.difference}")
    for index, step in enumerate(least.steps):
        said, shown = least.real.outcomes[index], least.simulated.outcomes[index]
        say(f"  {index}: {json.dumps(step.as_json())[:600]}")
        say(f"     real {said.status}, simulated {shown.status}")
    if keep:
        path = cases.write(cases.Case(f"seed-{seed}", "It differed.", least.steps, least.real))
        say(f"kept: {path}")


def replay_cases(real: RealSide, *, record: bool) -> int:
    differing = 0
    found = cases.read_all()
    for case in found:
        trial = try_out(case.steps, real)
        if trial.comparison.difference is not None:
            differing += 1
            say(f"case {case.name} differs: {trial.comparison.difference}")
        if record:
            cases.write(replace(case, recorded=trial.real))
    say(f"differential: {differing} of {len(found)} cases differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
