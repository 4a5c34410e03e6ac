"""Crashes before, at and after every write of every flow of the checks, on the same and on another replica.

`python -m tests.simulation.crashes.campaign`
"""

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

from simulation.network import CrashPoint
from tests.simulation.checks.world import Crew
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.crashes.annotation_flows import ANNOTATION_FLOWS
from tests.simulation.crashes.flow import Flow
from tests.simulation.crashes.machine_flows import MACHINE_FLOWS
from tests.simulation.crashes.node_flows import NODE_FLOWS
from tests.simulation.crashes.run import ALONE, PAIR, Crash, FlowFailedError, Played, play

FLOWS: Final = {flow.name: flow for flow in (*NODE_FLOWS, *MACHINE_FLOWS, *ANNOTATION_FLOWS)}
CREWS: Final = {"the same goes on": ALONE, "another takes over": PAIR}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of one flow with one crew."""

    flow: str
    crew: str
    writes: int
    crashes: int
    broken: tuple[str, ...]


def crashes_of(wanted: Played) -> Iterator[Crash]:
    for write in range(1, len(wanted.writes) + 1):
        yield from (Crash(write, point) for point in CrashPoint)


def evaluate(flow: Flow, crew: Crew, crash: Crash, wanted: Played) -> str:
    """Run a flow with a crash; return the violation, or ""."""
    try:
        play(flow, crew, crash, wanted)
    except (FlowFailedError, InvariantBrokenError) as failure:
        return f"{crash} ({wanted.writes[crash.write - 1]}): {failure}"
    return ""


def evaluate_all(names: tuple[str, str], every: int = 1) -> Verdict:
    """Run all crashes of a flow with a crew, given their names; or only one in `every`."""
    flow, crew = FLOWS[names[0]], CREWS[names[1]]
    wanted = play(flow, crew)
    verdicts = [evaluate(flow, crew, crash, wanted) for crash in list(crashes_of(wanted))[::every]]
    return Verdict(*names, len(wanted.writes), len(verdicts), tuple(filter(None, verdicts)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="of the crash points of a flow, for a sample")
    parser.add_argument("--flow", default="", help="only those with this in their name")
    options = parser.parse_args()
    cases = [(flow, crew) for flow in FLOWS if options.flow in flow for crew in CREWS]
    began = time.monotonic()
    ignore = partial(warnings.filterwarnings, "ignore", "coroutine .* was never awaited", RuntimeWarning)
    with ProcessPoolExecutor(options.workers, initializer=ignore) as pool:
        verdicts = [_reported(one) for one in pool.map(partial(evaluate_all, every=options.every), cases)]
    return _report(verdicts, time.monotonic() - began)


def _reported(one: Verdict) -> Verdict:
    print(f"{one.writes:4} writes, {one.crashes:4} crashes  {one.flow}; {one.crew}", flush=True)
    for why in one.broken:
        print(f"      {why}", flush=True)
    return one


def _report(verdicts: list[Verdict], seconds: float) -> int:
    crashes, broken = sum(one.crashes for one in verdicts), sum(len(one.broken) for one in verdicts)
    print(
        f"{crashes} crash points in {len({one.flow for one in verdicts})} flows, before, at and after "
        f"every write, on the same and on another replica, in {seconds:.0f} s; {broken} violations"
    )
    return 1 if broken or any(not one.crashes for one in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
