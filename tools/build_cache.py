"""The cache of slow builds: outside the checkout, so that a clean checkout starts warm."""

import os
from collections.abc import Mapping
from pathlib import Path


def build_cache(environment: Mapping[str, str] = os.environ) -> Path:
    """$BUILD_CACHE, else $XDG_CACHE_HOME/nodemend, else ~/.cache/nodemend."""
    if chosen := environment.get("BUILD_CACHE"):
        return Path(chosen)
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodemend"
