"""A few seeds of the checks, for CI and mutation testing. `just simulate-checks` runs thousands."""

import os
import subprocess
import sys

import pytest

from tests.simulation.checks.run import play

SEEDS = range(2000, 2006)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_the_invariants_hold(seed: int) -> None:
    run = play(seed)
    assert not run.broken, f"{run.broken}\npython -m tests.simulation.checks.campaign --replay {seed}"


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("hash_seed", ["1", "4711"])
def test_same_seed_same_trace_however_strings_are_hashed(hash_seed: str) -> None:
    digest = "from tests.simulation.checks.run import play; print(play(3).digest)"
    command = [sys.executable, "-W", "ignore", "-c", digest]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    played = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60)
    assert played.stdout.strip() == play(3).digest
