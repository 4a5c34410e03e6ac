"""What the API server's reply to one GET of this node's Lease says. Whatever is not plain is no answer."""

import json

from nodemend.agent.api_check import exit_codes
from nodemend.api.keys import MARKER
from nodemend.decide.small_value import SmallValue

_OK, _NOT_FOUND = 200, 404


class NoMarker(SmallValue):
    """The Lease is there, and nobody has marked it."""


class MarkedNow(SmallValue):
    """This boot is to end; in a drill by its watchdog alone, which is timed."""

    drill: bool = False


class MarkedBefore(SmallValue):
    """Another boot was to end; its remediation is not done with this node yet."""


class NoLease(SmallValue):
    """The API server knows Leases, and not this one."""


class Unclear(SmallValue):
    """Nothing can be concluded."""

    why: str


Answer = NoMarker | MarkedNow | MarkedBefore | NoLease | Unclear


def judge_reply(status: int, body: bytes, name: str, boot_id: str) -> Answer:
    """`name` is that of the Lease. A boot ID is made anew at every boot: it says which node is meant, too."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return Unclear(f"{status} with something that is not JSON")
    match found:
        case {"kind": "Lease", "metadata": {"name": str(named)} as about} if status == _OK and named == name:
            return _judge_annotations(about.get("annotations"), boot_id)
        case {"kind": "Status", "reason": "NotFound", "details": {"kind": "leases", "name": str(named)}} if (
            status == _NOT_FOUND and named == name
        ):
            return NoLease()
        case _:
            return Unclear(f"{status} with something that is neither this Lease nor its absence")


def _judge_annotations(annotations: object, boot_id: str) -> Answer:
    match annotations:
        case None:
            return NoMarker()
        case dict() if MARKER not in annotations:
            return NoMarker()
        case dict():
            return _judge_marker(annotations[MARKER], boot_id)
        case _:
            return Unclear("annotations that are none")


def _judge_marker(marker: object, boot_id: str) -> Answer:
    try:
        found = json.loads(str(marker))
    except (ValueError, RecursionError):
        return Unclear("a marker that is not JSON")
    match found:
        case {"bootID": str(marked)} if marked:
            return MarkedNow(drill=found.get("drill") is True) if marked == boot_id else MarkedBefore()
        case _:
            return Unclear("a marker that names no boot")


def exit_code_of(answer: Answer) -> int:
    match answer:
        case NoMarker():
            return exit_codes.CLEAN
        case MarkedNow(drill):
            return exit_codes.MARKED_FOR_DRILL if drill else exit_codes.MARKED
        case MarkedBefore():
            return exit_codes.MARKED_FOR_ANOTHER_BOOT
        case NoLease():
            return exit_codes.ABSENT
        case Unclear():
            return exit_codes.FAILED
