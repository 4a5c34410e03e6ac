"""Definitions that a Go module has as YAML files: pinned by go.mod and go.sum, never copied."""

import json
from dataclasses import dataclass
from pathlib import Path

import yaml

from controlplane.api import Object
from controlplane.build import run_go


@dataclass(frozen=True, slots=True, kw_only=True)
class GoModule:
    """The source of a project's definitions: `files` are patterns below the root of the module."""

    module: str
    pins: Path
    files: tuple[str, ...]

    def identity(self) -> bytes:
        """The key of these documents: everything that determines their contents."""
        pinned = [(self.pins / name).read_bytes() for name in ("go.mod", "go.sum")]
        return b"\n".join([*pinned, self.module.encode(), *(file.encode() for file in self.files)])

    def read(self) -> list[Object]:
        """The documents, downloaded if the machine does not have them. Raises BuildError.

        Go compares its downloads with go.sum.
        """
        root = Path(json.loads(run_go(self.pins, "mod", "download", "-json", self.module))["Dir"])
        return [
            yaml.load(file.read_text(), yaml.CSafeLoader)  # In C: they are long.
            for pattern in self.files
            for file in _found(root, pattern)
        ]


def _found(root: Path, pattern: str) -> list[Path]:
    found = sorted(root.glob(pattern))
    if not found:
        raise FileNotFoundError(f"{root} has no {pattern}")
    return found
