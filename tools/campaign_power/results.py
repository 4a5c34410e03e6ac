"""Stored results: a line for each mutant, campaign and round of seeds, and one for each seed that was
examined without mutants.

Each has the digest of everything that it depends on.
"""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from campaign_power.mutants import CampaignName

_READ: Final = ("src", "simulation", "deploy/crds", "deploy/manifests")
"""Inputs of every campaign beside its own modules. A change of any of them invalidates every result."""


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    key: str
    mutant: str
    campaign: CampaignName
    seeds: int
    """The number of seeds played, or planned before a violation."""
    caught: bool
    seed: int = -1
    why: str = ""
    """The violation; or, if no campaign caught it, how it was noticed otherwise."""
    seconds: float = 0.0


class LookedAt(msgspec.Struct, frozen=True):
    """A seed, and the digests of the mutants that can change it."""

    key: str
    mutants: tuple[str, ...]


class _Keyed(Protocol):
    @property
    def key(self) -> str: ...


Kept = TypeVar("Kept", bound=_Keyed)


class Results(Generic[Kept]):
    """Lines are only ever added, so that a run can be stopped and resumed at any time."""

    def __init__(self, file: Path, kind: type[Kept]) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file
        lines = file.read_bytes().splitlines() if file.exists() else []
        self._known = {one.key: one for one in (_read(line, kind) for line in lines) if one is not None}

    def find(self, key: str) -> Kept | None:
        return self._known.get(key)

    def keep(self, result: Kept) -> None:
        self._known[result.key] = result
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")


def _read(line: bytes, kind: type[Kept]) -> Kept | None:
    """None for a line that was cut when a run was stopped, or that an earlier version wrote."""
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.DecodeError:
        return None


def key_of(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()[:32]


def digest_of(root: Path, modules: Iterable[Path]) -> str:
    """The digest of a campaign's inputs; `modules` are the modules of tests that it imports."""
    found = sha256()
    shared = (path for folder in _READ for path in (root / folder).rglob("*") if path.is_file())
    for path in sorted({*shared, *modules}):
        if "__pycache__" not in path.parts:
            found.update(f"{path.relative_to(root)}\0".encode())
            found.update(sha256(path.read_bytes()).digest())
    return found.hexdigest()
