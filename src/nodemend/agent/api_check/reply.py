"""Evaluates the API server's reply to one GET of this node's Lease. Anything unclear is no answer."""

import json

from nodemend.agent import exit_codes
from nodemend.api.well_known import MARKER
from nodemend.protocol.values import SmallValue

_OK, _NOT_FOUND = 200, 404


class NoMarker(SmallValue):
    """The Lease exists and has no marker."""


class MarkedNow(SmallValue):
    """This boot must end; in a drill by its watchdog alone, which is timed."""

    drill: bool = False


class MarkedBefore(SmallValue):
    """The marker is for another boot, whose remediation has not finished with this node."""


class NoLease(SmallValue):
    """The API server serves Leases, and this one does not exist."""


class UnclearReply(SmallValue):
    why: str


MarkerCheck = NoMarker | MarkedNow | MarkedBefore | NoLease | UnclearReply


def evaluate_reply(status: int, body: bytes, name: str, boot_id: str) -> MarkerCheck:
    """Evaluate a reply about the Lease `name`. A boot ID is unique, so it also identifies the node."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return UnclearReply(f"{status} with something that is not JSON")
    match found:
        case {"kind": "Lease", "metadata": {"name": str(named)} as about} if status == _OK and named == name:
            return _evaluate_annotations(about.get("annotations"), boot_id)
        case {"kind": "Status", "reason": "NotFound", "details": {"kind": "leases", "name": str(named)}} if (
            status == _NOT_FOUND and named == name
        ):
            return NoLease()
        case _:
            return UnclearReply(f"{status} with something that is neither this Lease nor its absence")


def _evaluate_annotations(annotations: object, boot_id: str) -> MarkerCheck:
    match annotations:
        case None:
            return NoMarker()
        case dict() if MARKER not in annotations:
            return NoMarker()
        case dict():
            return _evaluate_marker(annotations[MARKER], boot_id)
        case _:
            return UnclearReply("annotations that are not an object")


def _evaluate_marker(marker: object, boot_id: str) -> MarkerCheck:
    try:
        found = json.loads(str(marker))
    except (ValueError, RecursionError):
        return UnclearReply("a marker that is not JSON")
    match found:
        case {"bootID": str(marked)} if marked:
            return MarkedNow(drill=found.get("drill") is True) if marked == boot_id else MarkedBefore()
        case _:
            return UnclearReply("a marker that names no boot")


def exit_code_of(answer: MarkerCheck) -> int:
    match answer:
        case NoMarker():
            return exit_codes.CLEAN
        case MarkedNow(drill):
            return exit_codes.MARKED_FOR_DRILL if drill else exit_codes.MARKED
        case MarkedBefore():
            return exit_codes.MARKED_FOR_ANOTHER_BOOT
        case NoLease():
            return exit_codes.ABSENT
        case UnclearReply():
            return exit_codes.FAILED
