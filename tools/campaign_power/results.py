"""What is known already: one line for each mutant, campaign and stretch of seeds, kept by what they were."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from campaign_power.mutants import CampaignName, Mutant

_READ: Final = ("src", "deploy/crds", "deploy/manifests")
"""What every campaign plays with, beside its own modules. A change of any of it makes every result void."""


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    key: str
    mutant: str
    campaign: CampaignName
    first: int
    seeds: int
    caught: bool
    seed: int = -1
    why: str = ""
    """The violation; or, where it is not caught, how it was noticed otherwise."""
    seconds: float = 0.0


class Results:
    """Lines are only ever added, so that a run can be stopped and resumed at any time."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "results.jsonl"
        lines = self._file.read_bytes().splitlines() if self._file.exists() else []
        self._known = {one.key: one for one in (_read(line) for line in lines) if one is not None}

    def find(self, key: str) -> Result | None:
        return self._known.get(key)

    def keep(self, result: Result) -> None:
        self._known[result.key] = result
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")


def _read(line: bytes) -> Result | None:
    """None for a line that was cut when a run was stopped."""
    try:
        return msgspec.json.decode(line, type=Result)
    except msgspec.DecodeError:
        return None


def key_of(sources: str, mutant: Mutant, campaign: CampaignName, first: int, seeds: int) -> str:
    parts = (sources, mutant.digest, campaign.value, str(first), str(seeds))
    return sha256("\0".join(parts).encode()).hexdigest()[:32]


def digest_of(root: Path, modules: Iterable[Path]) -> str:
    """Of all that a campaign plays with; `modules` are those of tests that it imports."""
    found = sha256()
    shared = (path for folder in _READ for path in (root / folder).rglob("*") if path.is_file())
    for path in sorted({*shared, *modules}):
        if "__pycache__" not in path.parts:
            found.update(f"{path.relative_to(root)}\0".encode())
            found.update(sha256(path.read_bytes()).digest())
    return found.hexdigest()
