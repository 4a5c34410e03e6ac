"""The measurements, and their limits."""

import json
import math
import re
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

from nodemend.protocol.timing import RenewalPace
from tests.e2e.self_fencing.agent_and_feeder import W

PACE: Final = RenewalPace()
MOST_CHECK: Final = PACE.deadline / 2
MOST_JITTER: Final = W / 4
MOST_MEGABYTES: Final = 128.0
MOST_READS: Final = 5.0


@dataclass(frozen=True)
class SentRequest:
    """The agent's requests in the API server's log: the times of renewals, and of reads for peers."""

    renewals: tuple[float, ...]
    reads: tuple[float, ...]

    @property
    def checks(self) -> list[float]:
        """Upper bounds of each renewal's duration: the next starts a known time after its end."""
        return [max(0.0, after - before - PACE.every) for before, after in pairwise(self.renewals)]


def asked(log: Path, account: str, since: float, until: float) -> SentRequest:
    times: dict[str, list[float]] = {"patch": [], "get": []}
    for line in log.read_text().splitlines():
        reported = json.loads(line)
        at = datetime.fromisoformat(reported["requestReceivedTimestamp"]).timestamp()
        if reported["user"]["username"].endswith(f":{account}") and since <= at <= until:
            times.setdefault(reported["verb"], []).append(at)
    return SentRequest(tuple(times["patch"]), tuple(times["get"]))


def busiest_second(times: tuple[float, ...]) -> int:
    """The most in any interval of one second."""
    return max((sum(1 for one in times if start <= one < start + 1.0) for start in times), default=0)


def jitter(pings: list[float], since: float, every: float) -> float:
    """The largest delay of a ping after its due time."""
    times = [one for one in pings if one >= since - every]
    return max((after - before - every for before, after in pairwise(times)), default=math.inf)


def p99(values: list[float]) -> float:
    """The value that 99 in 100 do not exceed; of fewer than a hundred, the greatest.

    Infinite without values.
    """
    if not values:
        return math.inf
    return sorted(values)[math.ceil(len(values) * 0.99) - 1]


def reported_failures(log: str) -> int:
    """The number of reports in its log that the agent cannot reach the API server."""
    return len(re.findall("the API server is not reached", log))
