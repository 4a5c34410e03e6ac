"""Plays the campaigns that could notice a mutant, until one does."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from campaign_power.mutants import ROOT, CampaignName, Mutant, applied
from campaign_power.playing import (
    Campaign,
    Otherwise,
    Outcome,
    Passed,
    Violated,
    environment,
    modules_of,
    play,
    replay,
)
from campaign_power.results import Result, Results, digest_of, key_of

_LEFT_OUT: Final = shutil.ignore_patterns(".*", "__pycache__", "dist")
_SAMPLE: Final = 0.05
"""Most mutants that are caught are caught early: all campaigns play so much before one plays the rest."""

_FEWEST: Final = 24
"""Seeds. To begin a campaign takes as long as to play a few."""


@dataclass(frozen=True, slots=True)
class Stretch:
    campaign: CampaignName
    first: int
    seeds: int


def stretches(mutant: Mutant, sizes: Mapping[CampaignName, int]) -> Iterator[Stretch]:
    samples = {
        name: min(sizes[name], max(_FEWEST, round(sizes[name] * _SAMPLE))) for name in mutant.campaigns
    }
    for name, sample in samples.items():
        yield Stretch(name, 0, sample)
    for name, sample in samples.items():
        if rest := sizes[name] - sample:
            yield Stretch(name, sample, rest)


class Hunt:
    """Plays in two copies of the project: one in which mutants are applied, and one that stays sound."""

    def __init__(
        self, results: Results, campaigns: Mapping[CampaignName, Campaign], scale: float, folder: Path
    ) -> None:
        self._results = results
        self._campaigns = campaigns
        self._sizes = {name: max(1, round(one.seeds * scale)) for name, one in campaigns.items()}
        self._digests: dict[CampaignName, str] = {}
        self._broken, self._sound = folder / "broken", folder / "sound"
        for tree in (self._broken, self._sound):
            # Also the sound one: somebody may go on working on the project meanwhile.
            shutil.copytree(ROOT, tree, ignore=_LEFT_OUT)

    def hunt(self, mutant: Mutant, *, every: bool, sample: bool = False, known: bool = False) -> list[Result]:
        """Until a campaign has caught it; with `every`, until each has. With `sample`, by the first seeds of
        each alone. With `known` nothing is played."""
        found: list[Result] = []
        for stretch in stretches(mutant, self._sizes):
            if sample and stretch.first:
                continue
            caught_by = {one.campaign for one in found if one.caught}
            if caught_by and not (every and stretch.campaign not in caught_by):
                continue
            if (result := self._result(mutant, stretch, known=known)) is not None:
                found.append(result)
        return found

    def _result(self, mutant: Mutant, stretch: Stretch, *, known: bool) -> Result | None:
        key = key_of(self._digest(stretch.campaign), mutant, stretch.campaign, stretch.first, stretch.seeds)
        result = self._results.find(key)
        if result is None and not known:
            began = time.monotonic()
            with applied(mutant, self._broken):
                outcome = play(self._campaigns[stretch.campaign], self._broken, stretch.first, stretch.seeds)
            result = self._judge(key, mutant, stretch, outcome, time.monotonic() - began)
            self._results.keep(result)
        return result

    def _digest(self, name: CampaignName) -> str:
        if name not in self._digests:
            modules = modules_of(self._campaigns[name], self._sound)
            self._digests[name] = digest_of(self._sound, modules)
        return self._digests[name]

    def _judge(self, key: str, mutant: Mutant, stretch: Stretch, outcome: Outcome, took: float) -> Result:
        seed, why, caught = -1, "", False
        match outcome:
            case Violated(seed, why):
                caught = replay(self._campaigns[stretch.campaign], self._sound, seed)
                why = why if caught else f"seed {seed} fails without the mutant, too: {why}"
            case Otherwise(why):
                pass
            case Passed():
                pass
        return Result(
            key,
            mutant.name,
            stretch.campaign,
            stretch.first,
            stretch.seeds,
            caught,
            seed,
            why,
            round(took, 1),
        )

    def fails(self, mutant: Mutant) -> str:
        """The first of its tests that fails with it; empty where none does."""
        if not mutant.tests:
            return ""
        with applied(mutant, self._broken):
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutant.tests],
                cwd=self._broken,
                env=environment(self._broken),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=900.0,
                check=False,
            )
        failed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAILED ")]
        return failed[0] if done.returncode == 1 and failed else ""
