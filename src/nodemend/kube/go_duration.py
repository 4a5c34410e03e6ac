"""Durations as Go writes them: "10m0s", "1.5h", "300ms"."""

import re
from typing import Final

_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(ns|us|µs|μs|ms|s|m|h)")


def parse_go_duration(text: str) -> float:
    """Seconds. Raises ValueError for what is none, and for less than nothing."""
    if text == "0":
        return 0.0
    parts = list(_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        raise ValueError(f"{text!r} is no duration; write it like 10m0s")
    return sum(float(part[1]) * _SECONDS[part[2]] for part in parts)
