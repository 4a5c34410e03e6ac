"""A place that has to change, and the committed exceptions that let one stay."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
HERE: Final = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Finding:
    """`path` is relative to the repository; `text` is the construction or the identifier."""

    path: str
    line: int
    id: str
    text: str
    use: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.id}: {self.text} -> use {self.use}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """An exception: `text` may stay in files that match the glob `path`, for `reason`."""

    path: str
    text: str
    reason: str

    def covers(self, path: str, text: str) -> bool:
        return self.text in text and fnmatchcase(path, self.path)


def read_allowed(entries: Iterable[Mapping[str, str]]) -> list[Allowed]:
    """Raises KeyError for an entry that lacks a field, ValueError for an empty reason."""
    allowed = [Allowed(entry["path"], entry["text"], entry["reason"]) for entry in entries]
    for one in allowed:
        if not (one.path and one.text and one.reason.strip()):
            raise ValueError(f"an exception needs a path, a text and a reason: {one}")
    return allowed


def package_of(path: str) -> str:
    """The folder that a file is counted under: four levels deep in src, else two."""
    parts = path.split("/")[:-1]
    depth = 4 if parts[:1] == ["src"] else 2
    return "/".join(parts[:depth]) or "."


def files_matching(root: Path, globs: Sequence[str], suffix: str = "") -> list[Path]:
    """Files under `root`, without caches and the environment, sorted."""
    found = {
        path for glob in globs for path in root.glob(glob) if path.is_file() and path.suffix.endswith(suffix)
    }
    return sorted(path for path in found if "__pycache__" not in path.parts)
