"""What a feeder's status is worth to others: for the agent, and for the boot gate before there is one."""

from nodemend.decide.small_value import SmallValue

SECOND = 1_000_000_000
_RUNNING = ("armed", "starving", "condemned")
"""States in which the device is open, and resets the machine unless it is fed."""
STOOD_DOWN = "its agent was stopped: it is fed without one"
_CLASSES = ("hardware", "software")
UNTESTED = "untested"
"""A device of its own that was never seen to reset this machine: it may be wired to nothing."""
_LONGEST_NUMBER = 19
"""Digits: more than any clock shows. What is longer is too long to be reckoned with."""


class Worth(SmallValue):
    """Of a watchdog, as it is published. Times are seconds; `why` is empty where a release may rest on it."""

    kind: str
    driver: str
    written: float
    effective: float
    why: str


def judge_worth(status: dict[str, str], boot_id: str, now: int, tested: bool = False) -> Worth:
    """`status` as the feeder wrote it; `now` is nanoseconds of CLOCK_BOOTTIME.

    `tested`: this driver was seen to reset this machine.

    A promise only where it holds now: a device that runs, and that has not outlived its own time. For all
    else the kind is "unsupported", with the reason. Then no release rests on it, and it is fed all the same.
    """
    why = _why_nothing_rests_on_it(status, boot_id, now)
    kind = "unsupported" if why else status["class"]
    return Worth(
        kind=UNTESTED if kind == "hardware" and not tested else kind,
        driver=status.get("driver", "")[:64],
        written=float(_number(status, "written-seconds") or 0),
        effective=(_number(status, "effective") or 0) / SECOND,
        why=why[:256],
    )


def longest_lease(status: dict[str, str], boot_id: str) -> float | None:
    """Seconds that a feed lease may reach ahead; None where no feeder has told any in this boot."""
    length = _number(status, "lease-length") if status.get("boot") == boot_id else None
    return None if length is None else length / SECOND


def _why_nothing_rests_on_it(status: dict[str, str], boot_id: str, now: int) -> str:
    if status.get("boot") != boot_id:
        return "no feeder has told anything in this boot"
    if status.get("state") == "stood-down":
        return STOOD_DOWN
    if status.get("state") not in _RUNNING:
        return f"the feeder is {status.get('state')}: {status.get('why', 'no reason told')}"
    if status.get("class") not in _CLASSES:
        return status.get("unsupported-because") or "the feeder names no class of watchdogs that we know"
    last_ping, effective = _number(status, "last-ping"), _number(status, "effective")
    if last_ping is None or not effective:
        return "the feeder does not tell when it fed last, or what that is worth"
    if not 0 <= now - last_ping < effective:
        return "it was not fed for longer than it should take to reset, and has not reset the machine"
    return ""


def _number(status: dict[str, str], name: str) -> int | None:
    text = status.get(name, "")
    is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
    return int(text) if is_number else None
