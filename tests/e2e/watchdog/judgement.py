"""Verdict of a run."""

from dataclasses import dataclass

from tests.e2e.watchdog.expected_results import ResetsAfter, StaysUp
from tests.e2e.watchdog.record import Record

GRACE = 1.0
EARLY = 1.0
"""The reported last ping is a moment before the real one, and a beat is a moment late."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`share`: the time to the reset in effective times, if it was measured from a ping or a close."""

    kept: bool
    reported: str
    share: float | None = None


def evaluate(record: Record, expected: ResetsAfter | StaysUp, *, device_tells: bool) -> Verdict:
    if not record.armed:
        return Verdict(False, "the feeder was never armed")
    if record.armed["class"] != "unsupported":
        return Verdict(False, f"a virtual machine has class {record.armed['class']}")
    match expected:
        case StaysUp(state):
            return _stayed_up(record, state)
        case ResetsAfter():
            return _was_reset(record, expected, device_tells=device_tells)


def _stayed_up(record: Record, state: str) -> Verdict:
    if record.reset is not None or not record.over:
        return Verdict(False, f"reset at {record.reset}, and should have stayed up")
    found = record.beats[-1][1]["state"]
    return Verdict(found == state, f"stayed up, {found}")


def _was_reset(record: Record, expected: ResetsAfter, *, device_tells: bool) -> Verdict:
    if record.reset is None:
        return Verdict(False, "was not reset")
    anchor = {
        "ping": record.last("last-ping"),
        "close": record.close,
        "lease": record.last("lease-until"),
        "resumed": record.resumed,
        "fault": record.fault,
    }[expected.anchor]
    if anchor is None:
        return Verdict(False, f"reset, and no {expected.anchor} to count from")
    most = expected.noticed_within + expected.times * record.effective + GRACE
    after = record.reset - anchor
    reported = f"reset {after:.2f} s after the {expected.anchor} (at most {most:.2f})"
    if expected.by_the_device and device_tells and not record.by_the_device:
        return Verdict(False, f"{reported}, not by the device")
    counted = expected.anchor in ("ping", "close")
    if counted and after < record.written - EARLY:
        return Verdict(False, f"{reported}, before the device could")
    return Verdict(after <= most, reported, after / record.effective if counted else None)
