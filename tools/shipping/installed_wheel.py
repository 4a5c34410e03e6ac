"""The wheel in a separate environment."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
COMMANDS: Final = (
    "kubectl-mend",
    "nodemend-agent",
    "nodemend-checker",
    "nodemend-remediator",
    "nodemend-signer",
)
STARTS: Final = 7


class ShippingError(Exception):
    """The artifact to be shipped does not work."""


def build(folder: Path) -> tuple[Path, Path]:
    """A wheel and an sdist, from this checkout."""
    run("uv", "build", "--quiet", "--out-dir", str(folder), str(ROOT))
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def install(wheel: Path, folder: Path) -> Path:
    """With the locked packages, by pip; returns the folder of its commands."""
    run("uv", "venv", "--quiet", "--seed", "--python", sys.executable, str(folder))
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input"]
    run(*pip, "--require-hashes", "-r", str(ROOT / "requirements" / "run.txt"))
    run(*pip, "--no-deps", str(wheel))
    commands = folder / "bin"
    missing = [name for name in COMMANDS if not (commands / name).exists()]
    if missing:
        raise ShippingError(f"the wheel gives no {', '.join(missing)}")
    return commands


def start_seconds(commands: Path) -> float:
    """Duration of `kubectl mend version`: the best of several, after one that warms the caches."""
    return min(_timed(str(commands / "kubectl-mend"), "version") for _ in range(STARTS))


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise ShippingError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _timed(*command: str) -> float:
    began = time.monotonic()
    run(*command)
    return time.monotonic() - began
