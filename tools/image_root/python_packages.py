"""Nodemend's wheel and its dependencies, with their programs."""

import configparser
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

from image_root.debian_packages import PYTHON

SITE: Final = f"usr/local/lib/{PYTHON}/dist-packages"
_WITHIN: Final = 300.0
_PROGRAM: Final = """#!/usr/bin/{python} -I
import sys

from {module} import {function}

sys.exit({function}())
"""


def build_wheel(repository: Path, folder: Path) -> Path:
    """Build Nodemend's wheel from the checkout."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["uv", "build", "--quiet", "--wheel", "--out-dir", str(folder), str(repository)]
    subprocess.run(command, check=True, timeout=_WITHIN)
    return max(folder.glob("nodemend-*.whl"), key=lambda wheel: wheel.stat().st_mtime)


def install_wheels(root: Path, wheel: Path, requirements: Path) -> None:
    """Install the dependencies by hash, then Nodemend."""
    _install(root, "--require-hashes", "-r", str(requirements))
    _install(root, "--no-deps", str(wheel))


def write_programs(root: Path, wheel: Path) -> list[str]:
    """A program in /usr/bin for each entry point; returns their names."""
    points = _entry_points(wheel)
    for name, target in points.items():
        module, _, function = target.partition(":")
        program = root / "usr" / "bin" / name
        program.write_text(_PROGRAM.format(python=PYTHON, module=module, function=function))
        program.chmod(0o755)
    return list(points)


def _install(root: Path, *what: str) -> None:
    version = PYTHON.removeprefix("python")
    command = ["uv", "pip", "install", "--quiet", "--no-config", "--python", sys.executable]
    target = ["--python-version", version, "--target", str(root / SITE), "--only-binary", ":all:"]
    subprocess.run([*command, *target, *what], check=True, timeout=_WITHIN)


def _entry_points(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt"))
        text = archive.read(name).decode()
    parser = configparser.ConfigParser()
    parser.optionxform = str  # type: ignore[assignment,method-assign] # names keep their case
    parser.read_string(text)
    return dict(parser["console_scripts"])
