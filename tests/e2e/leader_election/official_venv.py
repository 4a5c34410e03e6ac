"""An environment with the official client, outside the checkout, from the locked list beside this file."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

_REQUIREMENTS: Final = Path(__file__).with_name("official-client.txt")


def official_python() -> Path:
    """The interpreter of that environment, which is made on first use."""
    digest = hashlib.sha256(_REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    done = cache / "nodemend" / f"official-client-{digest}"
    if not (done / "complete").exists():
        _make(done)
    return done / "bin" / "python"


def _make(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=300)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--require-hashes"]
    subprocess.run([*pip, "-r", str(_REQUIREMENTS)], check=True, timeout=1200)
    (folder / "complete").touch()
