"""Whether a pause is in force."""

from datetime import datetime

from nodemend.api.pause import Pause
from nodemend.api.timestamps import parse_time


def in_force(pause: Pause | None, now: datetime) -> Pause | None:
    """The pause, unless its time is over. One whose end cannot be read goes on."""
    if pause is None or pause.until is None:
        return pause
    try:
        until = parse_time(pause.until)
    except ValueError:
        return pause
    return pause if until.tzinfo is None or now < until else None
