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
"""Written by somebody who had not read the campaigns, when those were final. Reported apart."""
SERVER: Final = "server"
"""The area of the simulated API server, whose mutants the differential has to catch."""


class CampaignName(StrEnum):
    SIMULATE = "simulate"
    CHECKS = "checks"
    POWER = "power"
    FENCING = "fencing"
    DIFFERENTIAL = "differential"


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`old` stands once in `file`, and becomes `new`."""

    name: str
    area: str
    file: str
    old: str
    new: str
    campaigns: tuple[CampaignName, ...]
    """Those that could notice."""
    instead: str = ""
    """Why no campaign could."""
    tests: tuple[str, ...] = ()
    """Tests that fail with it: what campaigns do not notice, these do."""

    @property
    def digest(self) -> str:
        """Of what it does, whatever it is called."""
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
