"""Reads and writes the small files that agent and feeder share. Whoever reads one sees all of it or none."""

import os

from nodemend.agent.feeder.records import (
    NoRecord,
    RefusedRecord,
    format_standing,
    is_gate,
    is_permit,
    parse_lease,
    parse_standing,
    tells_opening,
)
from nodemend.decide.feed_lease import FeedLease

_MOST = 4096
_STANDING = ".gate"


def read_lease(path: str) -> FeedLease | NoRecord | RefusedRecord:
    """What the lease file holds now."""
    content = _read(path)
    return parse_lease(content) if isinstance(content, bytes) else content


def read_permit(path: str, boot_id: str) -> bool:
    """Whether there is a permit in this boot to feed without a lease, and to disarm."""
    content = _read(path)
    return isinstance(content, bytes) and is_permit(content, boot_id)


def read_gate(path: str, boot_id: str) -> bool:
    """Whether a boot gate has guarded this boot."""
    content = _read(path)
    return isinstance(content, bytes) and is_gate(content, boot_id)


def write_standing(status: str, boot_id: str, standing: str) -> None:
    """For the boot gate. Beside the feeder's status, whose path both know. Raises OSError."""
    write_record(f"{status}{_STANDING}", format_standing(boot_id, standing))


def read_standing(status: str, boot_id: str) -> str:
    """How the gate of this boot stands; empty where there is none, or where that is over."""
    content = _read(f"{status}{_STANDING}")
    return parse_standing(content, boot_id) if isinstance(content, bytes) else ""


def remove_standing(status: str) -> None:
    """Harmless where it is gone. Where that fails the feeder tries again with its next look."""
    try:
        os.unlink(f"{status}{_STANDING}")
    except OSError:
        return


def has_opened(path: str, boot_id: str) -> bool:
    """Whether a boot gate has let kubelet start in this boot, be it without a look."""
    content = _read(path)
    return isinstance(content, bytes) and tells_opening(content, boot_id)


def read_beginning(path: str) -> bytes:
    """The first few kilobytes of a file, in as many reads as the kernel wants. Raises OSError."""
    # Never waits, whatever somebody has put in the file's place.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        content = b""
        while len(content) < _MOST and (more := os.read(descriptor, _MOST - len(content))):
            content += more
        return content
    finally:
        os.close(descriptor)


def write_record(path: str, content: bytes) -> None:
    """Put `content` in the file's place in one go. Raises OSError; the old file then stays."""
    beside = f"{path}.new"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)
    os.rename(beside, path)


def _read(path: str) -> bytes | NoRecord | RefusedRecord:
    try:
        return read_beginning(path)
    except FileNotFoundError:
        return NoRecord()
    except OSError as error:
        return RefusedRecord(str(error))
