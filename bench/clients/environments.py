"""An environment for each client to compare with, outside the checkout, from its own locked list."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def python_of(client: str) -> Path:
    """The interpreter of the client's environment, which is made on first use."""
    requirements = HERE / "requirements" / f"{client}.txt"
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "nodemend" / f"bench-{client}-{digest}"
    if not (folder / "complete").exists():
        _make(folder, requirements)
    return folder / "bin" / "python"


def _make(folder: Path, requirements: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=300)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--require-hashes"]
    subprocess.run([*pip, "-r", str(requirements)], check=True, timeout=1200)
    (folder / "complete").touch()
