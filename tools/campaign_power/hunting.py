"""Runs the campaigns that could notice a mutant, until one does."""

import compileall
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from campaign_power.mutants import ROOT, CampaignName, Mutant, applied, read_mutants
from campaign_power.playing import (
    Otherwise,
    Outcome,
    Passed,
    Violated,
    campaigns,
    environment,
    modules_of,
    play,
    relevant_seeds,
    replay,
)
from campaign_power.results import LookedAt, Result, Results, digest_of, key_of


@dataclass(frozen=True, slots=True)
class Round:
    """`share` of a campaign's seeds are examined; the first `most` that a mutant can change are played."""

    share: float
    most: int


ROUNDS: Final = (Round(0.1, 8), Round(0.4, 48), Round(1.0, sys.maxsize))
"""Most mutants that are caught are caught early: all are played with a few seeds before any with more."""
_LOOKED_AT_TOGETHER: Final = 40
_LEFT_OUT: Final = shutil.ignore_patterns(".*", "__pycache__", "dist")


def of_round(seeds: Sequence[int], number: int, size: int) -> tuple[int, ...]:
    """The seeds that are new in this round. `seeds` ascend, and are those that the mutant can change."""
    played = len(_first(seeds, ROUNDS[number - 1], size)) if number else 0
    return tuple(_first(seeds, ROUNDS[number], size)[played:])


def _first(seeds: Sequence[int], one: Round, size: int) -> Sequence[int]:
    return [seed for seed in seeds if seed < looked_at(one, size)][: one.most]


def looked_at(one: Round, size: int) -> int:
    """The number of a campaign's seeds that the round examines."""
    return ceil(one.share * size)


class Hunt:
    """Plays in copies of the project: one without changes, and for each worker one to apply mutants in.

    Each worker plays another mutant, since most rounds have too few seeds for two processes. The methods may
    be called by as many threads. `mutants` is the whole list: the seeds that can be changed are determined
    once for all of them.
    """

    def __init__(self, state: Path, mutants: Path, folder: Path, *, workers: int, scale: float) -> None:
        self._results = Results(state / "results.jsonl", Result)
        self._looked_at = Results(state / "seeds.jsonl", LookedAt)
        self._workers = workers
        self._campaigns = campaigns(1)
        self._sizes = {name: max(1, round(one.seeds * scale)) for name, one in self._campaigns.items()}
        self._digests: dict[CampaignName, str] = {}
        self._relevant: dict[CampaignName, dict[str, list[int]]] = {}
        self._list = mutants
        # The unchanged one is a copy, too, since a developer may edit the project meanwhile.
        self._sound = _copied(folder / "sound")
        self._broken = SimpleQueue[Path]()
        for number in range(workers):
            self._broken.put(_copied(folder / f"broken{number}"))

    def poll(self, name: CampaignName, number: int, *, known: bool = False) -> None:
        """Determine which seeds of a round each mutant can change. With `known` nothing is played."""
        campaign, found = self._campaigns[name], dict[str, list[int]]()
        if campaign.world:
            asked = [one.digest for one in read_mutants(self._list)]
            seeds = range(looked_at(ROUNDS[number], self._sizes[name]))
            keys = [key_of(self._digest(name), *asked, name, str(seed)) for seed in seeds]
            for first in range(0, len(keys), _LOOKED_AT_TOGETHER):
                seeds = range(first, min(first + _LOOKED_AT_TOGETHER, len(keys)))
                if not known and any(self._looked_at.find(keys[seed]) is None for seed in seeds):
                    for one in relevant_seeds(campaign, self._sound, seeds, self._list, self._workers):
                        self._looked_at.keep(LookedAt(keys[one.seed], one.mutants))
            for seed, key in enumerate(keys):
                known_of_seed = self._looked_at.find(key)
                for digest in known_of_seed.mutants if known_of_seed else ():
                    found.setdefault(digest, []).append(seed)
        self._relevant[name] = found

    def seeds(self, mutant: Mutant, name: CampaignName) -> Sequence[int]:
        """The examined seeds that it can change."""
        if not self._campaigns[name].world:
            return range(self._sizes[name])
        return self._relevant[name].get(mutant.digest, ())

    def play_round(self, mutant: Mutant, number: int, *, known: bool = False) -> list[Result]:
        """Until a campaign has caught it. With `known` nothing is played."""
        found: list[Result] = []
        for name in mutant.campaigns:
            seeds = of_round(self.seeds(mutant, name), number, self._sizes[name])
            if seeds and (result := self._result(mutant, name, seeds, known=known)):
                found.append(result)
                if result.caught:
                    break
        return found

    def _result(
        self, mutant: Mutant, name: CampaignName, seeds: tuple[int, ...], *, known: bool
    ) -> Result | None:
        key = key_of(self._digest(name), mutant.digest, name, *map(str, seeds))
        result = self._results.find(key)
        if result is None and not known:
            began = time.monotonic()
            with self._mutated(mutant) as tree:
                outcome = play(self._campaigns[name], tree, seeds)
            seed, why, caught = self._evaluate(name, outcome)
            took = round(time.monotonic() - began, 1)
            result = Result(key, mutant.name, name, len(seeds), caught, seed, why, took)
            self._results.keep(result)
        return result

    @contextmanager
    def _mutated(self, mutant: Mutant) -> Iterator[Path]:
        tree = self._broken.get()
        try:
            with applied(mutant, tree):
                yield tree
        finally:
            self._broken.put(tree)

    def _digest(self, name: CampaignName) -> str:
        if name not in self._digests:
            modules = modules_of(self._campaigns[name], self._sound)
            self._digests[name] = digest_of(self._sound, modules)
        return self._digests[name]

    def _evaluate(self, name: CampaignName, outcome: Outcome) -> tuple[int, str, bool]:
        """The seed, what it violates, and whether that counts."""
        match outcome:
            case Violated(seed, why):
                if replay(self._campaigns[name], self._sound, seed):
                    return seed, why, True
                return seed, f"seed {seed} fails without the mutant, too: {why}", False
            case Otherwise(why):
                return -1, why, False
            case Passed():
                return -1, "", False

    def fails(self, mutant: Mutant) -> str:
        """The first of its tests that fails with it; empty if none does."""
        if not mutant.tests:
            return ""
        with self._mutated(mutant) as tree:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutant.tests],
                cwd=tree,
                env=environment(tree),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=900.0,
                check=False,
            )
        failed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAILED ")]
        return failed[0] if done.returncode == 1 and failed else ""


def _copied(tree: Path) -> Path:
    """Compiled, since every play imports all of it again."""
    shutil.copytree(ROOT, tree, ignore=_LEFT_OUT)
    compileall.compile_dir(tree, quiet=1)
    return tree
