"""Plays one campaign in a tree, and returns the first violation of a named invariant that it prints."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Final

import msgspec

from campaign_power.mutants import CampaignName
from campaign_power.relevance import Relevant


@dataclass(frozen=True, slots=True)
class Campaign:
    """`slowest` is the mean number of seconds per seed after which the mutant is given up.

    A campaign with a `world` can play any seeds; the others play consecutive ones.
    """

    module: str
    seeds: int
    slowest: float
    violation: re.Pattern[str]
    size: str = "--seeds"
    first: str = "--first"
    first_seed: int = 0
    extra: tuple[str, ...] = ()
    world: str = ""

    def command(self, seeds: Sequence[int]) -> list[str]:
        if self.world:
            chosen = ",".join(map(str, seeds))
            return [self.module, "--world", self.world, "--chosen", chosen, *self.extra]
        first = str(self.first_seed + seeds[0])
        return [self.module, self.size, str(len(seeds)), self.first, first, *self.extra]

    def replay(self, seed: int) -> list[str]:
        world = ("--world", self.world) if self.world else ()
        return [self.module, *world, "--replay", str(seed)]


_INVARIANT: Final = re.compile(r"seed (?P<seed>\d+): (?P<why>I\d+: .*)")
"""A named invariant. A task that died unseen, or an exception, is something else."""
_DIFFERENCE: Final = re.compile(r"seed (?P<seed>\d+) differs: (?P<why>.*)")


_ENDS_WITHIN: Final = 15.0


def campaigns(workers: int) -> dict[CampaignName, Campaign]:
    side_by_side = ("--workers", str(workers))

    def simulation(world: str, seeds: int, slowest: float) -> Campaign:
        module = "tests.simulation.hostile"
        return Campaign(module, seeds, slowest, _INVARIANT, extra=side_by_side, world=world)

    return {
        CampaignName.SIMULATE: simulation("walking_path", 400, 10.0),
        CampaignName.CHECKS: simulation("checks", 240, 8.0),
        CampaignName.POWER: simulation("power", 240, 15.0),
        CampaignName.FENCING: simulation("fencing", 2000, 4.0),
        CampaignName.DIFFERENTIAL: Campaign(
            "tests.simulation.differential",
            500,
            10.0,
            _DIFFERENCE,
            size="--sequences",
            first="--seed",
            first_seed=1,
        ),
    }


@dataclass(frozen=True, slots=True)
class Violated:
    seed: int
    why: str


@dataclass(frozen=True, slots=True)
class Otherwise:
    """It failed, and no named invariant was violated: an exception, a time-out, a share that was missed."""

    why: str


@dataclass(frozen=True, slots=True)
class Passed:
    pass


Outcome = Violated | Otherwise | Passed


def play(campaign: Campaign, tree: Path, seeds: Sequence[int]) -> Outcome:
    """Ends the campaign at the first violation: one is enough."""
    within = 120.0 + campaign.slowest * len(seeds)
    last, began = "", time.monotonic()
    with _started(campaign.command(seeds), tree, within) as running:
        for line in running.stdout or ():
            if found := campaign.violation.search(line):
                return Violated(int(found["seed"]), found["why"].strip()[:300])
            last = line.strip() or last
        status = running.wait()
    if status == 0:
        return Passed()
    timed_out = time.monotonic() - began >= within
    return Otherwise("it took too long" if timed_out else last[:300])


def replay(campaign: Campaign, tree: Path, seed: int) -> bool:
    """True if this seed passes."""
    with _started(campaign.replay(seed), tree, 600.0) as running:
        for _ in running.stdout or ():
            pass
        return running.wait() == 0


def relevant_seeds(
    campaign: Campaign, tree: Path, seeds: range, mutants: Path, workers: int
) -> list[Relevant]:
    """Raises RuntimeError if a seed cannot be played to its end."""
    module, first, count = "campaign_power.relevance", str(seeds.start), str(len(seeds))
    command = [module, campaign.world, first, count, str(mutants), "--workers", str(workers)]
    with _started(command, tree, 120.0 + campaign.slowest * len(seeds)) as running:
        lines = [line for line in running.stdout or () if line.startswith("{")]
        if running.wait() != 0 or len(lines) != len(seeds):
            raise RuntimeError(f"{' '.join(command)} ended with {running.returncode}")
    return [msgspec.json.decode(line, type=Relevant) for line in lines]


def modules_of(campaign: Campaign, tree: Path) -> list[Path]:
    """The modules of tests that its program imports."""
    importing = (
        f"import sys, {campaign.module}.__main__\n"
        "print(*(one.__file__ for one in sys.modules.values() if getattr(one, '__file__', None)), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", importing],
        cwd=tree,
        env=environment(tree),
        stdout=subprocess.PIPE,
        text=True,
        timeout=120.0,
        check=True,
    )
    tests = tree / "tests"
    return [path for path in map(Path, done.stdout.splitlines()) if path.is_relative_to(tests)]


def environment(tree: Path) -> dict[str, str]:
    """Of a process that runs what is in this tree."""
    paths = os.pathsep.join(str(tree / part) for part in ("src", "tools", ""))
    return {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}


@contextmanager
def _started(arguments: list[str], tree: Path, within: float) -> Iterator[subprocess.Popen[str]]:
    """With all the processes that it starts: none of them outlives the context."""
    running = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=tree,
        env=environment(tree),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    clock = Timer(within, _end, (running,))
    clock.start()
    try:
        yield running
    finally:
        clock.cancel()
        _end(running)
        if running.stdout is not None:
            running.stdout.close()


def _end(running: "subprocess.Popen[str]") -> None:
    if running.poll() is not None:
        return
    # SIGINT first: a differential has servers to stop.
    os.killpg(running.pid, signal.SIGINT)
    try:
        running.wait(_ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
