"""Durations as users write them: "90s", "5m", "1h30m"."""

import re
from datetime import timedelta
from functools import lru_cache
from typing import Final

# At most six digits a part: more would overflow the API server's durations and Python's.
DURATION_PATTERN: Final = r"^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$"
_DURATION: Final = re.compile(r"(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,6})s)?")


# A check has a few durations, and every evaluation of a node parses them.
@lru_cache(maxsize=1024)
def parse_duration(text: str) -> timedelta:
    """Raise ValueError for text that the pattern of the API refuses, and for the empty string."""
    found = _DURATION.fullmatch(text)
    if not text or found is None:
        raise ValueError(f"{text!r} is not a duration; write it like 90s, 5m or 1h30m")
    hours, minutes, seconds = (int(part) if part else 0 for part in found.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def duration_seconds(text: str) -> float:
    """Return the duration in seconds. Raise ValueError as `parse_duration` does."""
    return parse_duration(text).total_seconds()
