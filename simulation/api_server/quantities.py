"""Canonical forms of quantities and times, as the server writes them."""

import re
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

DECIMAL_SUFFIXES: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
QUANTITY: Final = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]+))?"
)
MICRO_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


@lru_cache(maxsize=4096)
def canonical_quantity(text: str) -> str:
    """Return the canonical form of a quantity. Raises ValueError if the text is not a quantity."""
    found = QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError("quantities must match the regular expression")
    digits, suffix, exponent = found.groups()
    try:
        number = Decimal(digits)
    except InvalidOperation as error:
        raise ValueError(f"{text!r} is no number") from error
    if suffix in BINARY_SUFFIXES:
        return _binary(number * 2 ** BINARY_SUFFIXES[suffix])
    if exponent is not None:
        return _exponential(number.scaleb(int(exponent)))
    return _decimal(number.scaleb(DECIMAL_SUFFIXES[suffix or ""]))


def _decimal(number: Decimal) -> str:
    for suffix, power in sorted(DECIMAL_SUFFIXES.items(), key=lambda item: -item[1]):
        scaled = number.scaleb(-power)
        if scaled == scaled.to_integral_value() and (scaled != 0 or power == 0):
            return f"{int(scaled)}{suffix}"
    return f"{int(number.scaleb(9).to_integral_value(rounding='ROUND_UP'))}n"


def _binary(number: Decimal) -> str:
    if number < 1024 and number != number.to_integral_value():
        return _decimal(number)
    for suffix, power in sorted(BINARY_SUFFIXES.items(), key=lambda item: -item[1]):
        scaled = number / 2**power
        if scaled == scaled.to_integral_value() and scaled != 0:
            return f"{int(scaled)}{suffix}"
    return str(int(number))


def _exponential(number: Decimal) -> str:
    for power in range(18, -12, -3):
        scaled = number.scaleb(-power)
        if scaled == scaled.to_integral_value() and scaled != 0:
            return f"{int(scaled)}e{power}" if power else str(int(scaled))
    return "0"


@lru_cache(maxsize=4096)
def canonical_time(text: str) -> str:
    """Return the time in UTC with whole seconds. Raises ValueError."""
    if TIME.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no time")
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def canonical_micro_time(text: str) -> str:
    """Return the time in UTC with exactly six fractional digits, the only form that the server accepts.

    Raises ValueError.
    """
    if MICRO_TIME.fullmatch(text) is None:
        raise ValueError(f'parsing time "{text}" as "2006-01-02T15:04:05.000000Z07:00"')
    if text.endswith("Z"):
        datetime.fromisoformat(text)
        return text
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def print_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
