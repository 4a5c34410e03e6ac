"""Mutants that no test can notice, because they decide the same, each with the reason."""

from pathlib import Path


def read_survivors(path: Path) -> dict[str, str]:
    """`name | reason` a line."""
    pairs = (line.partition(" | ") for line in path.read_text().splitlines() if not line.startswith("#"))
    return {name.strip(): reason.strip() for name, _, reason in pairs if name.strip()}
