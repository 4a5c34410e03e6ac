"""Real elections under real faults, Nodemend's elector beside the official client's. The last line is the
result.

    python -m tests.e2e.leader_election --runs 20

A real kube-apiserver; every candidate is a separate process behind its own TCP proxy; the leaders of both
electors get the same fault at the same time. Exit status 1 if Nodemend's elector misses the limits: actions
started by a non-holder 0, writes of a non-holder accepted 0, seconds in which two processes assume leadership
0.0.

For Nodemend's elector these seconds include pauses: a term ends by the clock, regardless of whether the
process runs. The official elector has no such clock; for it these are the seconds in which the work of two
processes was acting, and a paused process does not act.
"""

import argparse
import asyncio
import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Final

from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from tests.e2e.leader_election.official_venv import official_python
from tests.e2e.leader_election.real_run import RealRun, Result, ServerFault

_DEFINITION: Final = Path(__file__).parents[3] / "deploy/crds/manualremediations.yaml"


async def play_all(plane: ControlPlane, runs: int, folder: Path) -> list[tuple[ServerFault, Result, Result]]:
    official = official_python()
    results = []
    for number, failure in enumerate(islice(cycle(ServerFault), runs)):
        async with RealRun(plane, official, folder / str(number), number) as run:
            ours, theirs = await run.play(failure)
        results.append((failure, ours, theirs))
        _tell(f"{failure}: ours {_describe(ours)}; official {_describe(theirs)}")
    return results


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--logs", type=Path, help="keep the logs of all candidates in this folder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, ControlPlane(API_SERVER_ALONE) as plane:
        plane.kubectl("apply", "-f", str(_DEFINITION))
        plane.kubectl("wait", "--for=condition=Established", "crd/manualremediations.nodemend.io")
        results = asyncio.run(play_all(plane, asked.runs, asked.logs or Path(temporary)))
    return _conclude([ours for _, ours, _ in results], [theirs for _, _, theirs in results])


def _conclude(ours: list[Result], theirs: list[Result]) -> int:
    _tell(
        f"writes committed {sum(one.versions for one in ours)}, late {sum(one.late_writes for one in ours)}"
    )
    _tell(f"official elector, {len(theirs)} real runs: {_sum(theirs)}")
    _tell(
        f"elector, {len(ours)} real runs: {_sum(ours)}, writes of a non-holder accepted "
        f"{sum(one.foreign_writes for one in ours)}"
    )
    return 1 if any(one.broken for one in ours) else 0


def _sum(results: list[Result]) -> str:
    times = [one.took_over_after for one in results if one.took_over_after is not None]
    taken = f"median {median(times):.1f} s, longest {max(times):.1f} s" if times else "never"
    return (
        f"actions begun by a non-holder {sum(one.foreign_actions for one in results)} "
        f"of {sum(one.actions for one in results)}, "
        f"seconds with two leaders {sum(one.two_leaders for one in results):.1f}, taken over after {taken}"
    )


def _describe(result: Result) -> str:
    taken = f"{result.took_over_after:.1f} s" if result.took_over_after is not None else "never"
    return (
        f"two leaders {result.two_leaders:.1f} s, actions of a non-holder {result.foreign_actions}, "
        f"taken over after {taken}"
    )


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
