"""`python -m tests.campaigns.thresholds`: every limit against fractions, for every total and every count."""

import argparse
import sys
from collections.abc import Iterator
from fractions import Fraction

from nodemend.safety.limits import (
    Count,
    Limit,
    LimitSemantics,
    Percent,
    closed,
    max_allowed_unhealthy,
    parse_comparison,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--totals", type=int, default=200)
    options = parser.parse_args()
    asked = differences = 0
    for total in range(options.totals + 1):
        for limit, bar in _limits(total):
            for reading in LimitSemantics:
                wrong = _differences(limit, bar, total, reading)
                for unhealthy in wrong[:3]:
                    print(f"{limit} of {total} with {unhealthy} unhealthy, {reading.value}")
                asked += total + 1
                differences += len(wrong)
    print(f"thresholds: {asked} questions for every total up to {options.totals}, {differences} differences")
    return 1 if differences or not asked else 0


def _limits(total: int) -> Iterator[tuple[Limit, Fraction]]:
    """Every share, and every count that could matter, with its exact bar."""
    for percent in range(101):
        yield Percent(percent), Fraction(percent, 100) * total
    for count in range(total + 2):
        yield Count(count), Fraction(count)


def _differences(limit: Limit, bar: Fraction, total: int, reading: LimitSemantics) -> list[int]:
    if parse_comparison(str(limit)) != limit:
        return list(range(total + 1))
    wrong = []
    for unhealthy in range(total + 1):
        wanted = bar < unhealthy if reading is LimitSemantics.ABOVE_LIMIT else bar <= unhealthy
        if (
            reading is LimitSemantics.ALLOW_ONE
            and isinstance(limit, Percent)
            and limit.value > 0
            and unhealthy < 2
        ):
            wanted = False
        by_limit = unhealthy > max_allowed_unhealthy(limit, total, reading)
        if closed(limit, unhealthy, total, reading) != wanted or by_limit != wanted:
            wrong.append(unhealthy)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
