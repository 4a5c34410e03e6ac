"""What was measured, and the bars."""

import json
import math
import re
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

from nodemend.decide.renewal_pace import RenewalPace
from tests.e2e_fencing.cell import W

PACE: Final = RenewalPace()
MOST_CHECK: Final = PACE.deadline / 2
MOST_JITTER: Final = W / 4
MOST_MEGABYTES: Final = 128.0
MOST_READS: Final = 5.0


@dataclass(frozen=True)
class Asked:
    """The API server by the agent, by the server's own log: when it renewed, and when it read for peers."""

    renewals: tuple[float, ...]
    reads: tuple[float, ...]

    @property
    def checks(self) -> list[float]:
        """Seconds that each renewal took, at most: the next begins a known while after it has ended."""
        return [max(0.0, after - before - PACE.every) for before, after in pairwise(self.renewals)]


def asked(log: Path, account: str, since: float, until: float) -> Asked:
    times: dict[str, list[float]] = {"patch": [], "get": []}
    for line in log.read_text().splitlines():
        told = json.loads(line)
        at = datetime.fromisoformat(told["requestReceivedTimestamp"]).timestamp()
        if told["user"]["username"].endswith(f":{account}") and since <= at <= until:
            times.setdefault(told["verb"], []).append(at)
    return Asked(tuple(times["patch"]), tuple(times["get"]))


def busiest_second(times: tuple[float, ...]) -> int:
    """The most that fall into one second, wherever it begins."""
    return max((sum(1 for one in times if start <= one < start + 1.0) for start in times), default=0)


def jitter(pings: list[float], since: float, every: float) -> float:
    """How much later than due the latest ping was."""
    times = [one for one in pings if one >= since - every]
    return max((after - before - every for before, after in pairwise(times)), default=math.inf)


def p99(values: list[float]) -> float:
    """The value that 99 in 100 do not exceed; of fewer than a hundred, the greatest. Infinite for none."""
    if not values:
        return math.inf
    return sorted(values)[math.ceil(len(values) * 0.99) - 1]


def failures_told(log: str) -> int:
    """How often the agent said that the API server is not reached."""
    return len(re.findall("the API server is not reached", log))
