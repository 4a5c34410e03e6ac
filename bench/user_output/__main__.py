"""`python -m bench.user_output`: the output for users, and its cost.

The golden answers of commands, conditions, events and alerts on a real API server are produced again. Then
the start of a command is timed, and the CPU time of `status` on three nodes is compared with that of
importing the libraries that it uses, alternately. The last line has the results; exits 1 if an answer or that
comparison is wrong, 75 if only the start was late.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from exit_status import exit_status
from installed.programs import program
from tests.integration.output_scenes import BY_HAND, open_stage

MOST_SECONDS: Final = 0.25
STARTS: Final = 10
MOST_TIMES: Final = 2.0
TURNS: Final = 5
_ROOT: Final = Path(__file__).parents[2]
_GOLDENS: Final = ("tests/integration/test_cli_truth.py", "tests/integration/test_user_output.py")
_LIBRARIES: Final = "import aiohttp, msgspec, click"


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one process: wall-clock time, and CPU time including the system's."""

    wall: float
    cpu: float


def cost_of(command: Sequence[str | Path], **environment: str) -> Cost:
    began = time.monotonic()
    with subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    return Cost(time.monotonic() - began, used.ru_utime + used.ru_stime)


def answers_are_right() -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *_GOLDENS]
    return subprocess.run(command, cwd=_ROOT, check=False).returncode == 0


def seconds_to_start() -> float:
    command = (program("kubectl-mend"), "status", "--help")
    cost_of(command)  # The first one may compile.
    return median(cost_of(command).wall for _ in range(STARTS))


def cpu_of_status() -> tuple[float, float]:
    """Of `status`, and of the libraries."""
    with open_stage() as stage:
        stage.act()
        stage.check("workers", BY_HAND)
        status, libraries = (program("kubectl-mend"), "status"), (sys.executable, "-c", _LIBRARIES)
        reach = {"KUBECONFIG": str(stage.plane.kubeconfig)}
        turns = [(cost_of(status, **reach).cpu, cost_of(libraries).cpu) for _ in range(TURNS + 1)][1:]
    return median(ours for ours, _ in turns), median(floor for _, floor in turns)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figures", action="store_true", help="leave the answers to the integration tests")
    asked = not parser.parse_args().figures
    right = not asked or answers_are_right()
    reported = ("right" if right else "WRONG") if asked else "not asked for"
    start = seconds_to_start()
    status, libraries = cpu_of_status()
    times = status / libraries
    print(f"answers                    {reported}")
    print(f"start of status --help     {start:6.3f} s   at most {MOST_SECONDS} s, median of {STARTS}")
    print(f"CPU of status, three nodes {status:6.3f} s   median of {TURNS}")
    print(f"CPU of `{_LIBRARIES}` {libraries:.3f} s")
    print(
        f"user-output: answers {reported}, start {start:.3f} s (bar {MOST_SECONDS}), "
        f"status {times:.2f} times its libraries (bar {MOST_TIMES})"
    )
    return exit_status(wrong=not right or times > MOST_TIMES, late=start > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
