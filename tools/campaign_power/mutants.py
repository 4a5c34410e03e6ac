"""The committed list of semantic mutants: rules of the product, each taken away in one place."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).resolve().parents[2]
MUTANTS: Final = Path(__file__).with_name("mutants.yaml")
FURTHER: Final = Path(__file__).with_name("further_mutants.yaml")
"""Written by an author who had not read the campaigns, after those were final. Reported separately."""
SERVER: Final = "server"
"""The area of the simulated API server, whose mutants the differential has to catch."""


class CampaignName(StrEnum):
    SIMULATE = "simulate"
    CHECKS = "checks"
    POWER = "power"
    FENCING = "fencing"
    DIFFERENTIAL = "differential"


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`old` occurs once in `file`, and is replaced by `new`."""

    name: str
    area: str
    file: str
    old: str
    new: str
    campaigns: tuple[CampaignName, ...]
    """Campaigns that could notice it."""
    instead: str = ""
    """The reason why no campaign could."""
    tests: tuple[str, ...] = ()
    """Tests that fail with it if no campaign notices it."""

    @property
    def digest(self) -> str:
        """The digest of its effect, independent of its name."""
        return sha256(msgspec.json.encode((self.file, self.old, self.new))).hexdigest()


def read_mutants(file: Path = MUTANTS) -> list[Mutant]:
    return msgspec.yaml.decode(file.read_bytes(), type=list[Mutant])


def chosen(only: str, file: Path = MUTANTS) -> list[Mutant]:
    """By area, or by a part of the name; all of them for nothing."""
    mutants = read_mutants(file)
    return [one for one in mutants if one.area == only] or [one for one in mutants if only in one.name]


@contextmanager
def applied(mutant: Mutant, tree: Path) -> Iterator[None]:
    """In a copy of the project."""
    file = tree / mutant.file
    whole = file.read_text()
    if (times := whole.count(mutant.old)) != 1:
        raise ValueError(f"{mutant.name}: {mutant.file} has its text {times} times, not once")
    file.write_text(whole.replace(mutant.old, mutant.new))
    try:
        yield
    finally:
        file.write_text(whole)
