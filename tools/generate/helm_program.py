"""Helm, pinned by hash, in a cache outside the checkout: another version may render another text."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from build_cache import build_cache

REQUIREMENTS: Final = Path(__file__).with_name("helm-requirements.txt")
_WITHIN: Final = 300.0


def run_helm(*arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Helm's output. Raises subprocess.CalledProcessError, whose `stderr` has the reason."""
    return subprocess.run(
        [helm(), *arguments],
        env={**os.environ, **(env or {})},
        timeout=_WITHIN,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@cache
def helm() -> Path:
    """The program, downloaded by uv if it is missing."""
    folder = _cache_folder()
    program = folder / "bin" / "helm"
    if not program.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            _install_into(Path(scratch) / "helm")
            # A second process finds the folder with the same content.
            if not folder.exists():
                shutil.move(Path(scratch) / "helm", folder)
    return program


def _cache_folder() -> Path:
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    return build_cache() / f"helm-{digest}"


def _install_into(folder: Path) -> None:
    command = ["uv", "pip", "install", "--quiet", "--require-hashes", "--target", str(folder)]
    subprocess.run([*command, "-r", str(REQUIREMENTS)], check=True, timeout=_WITHIN)
