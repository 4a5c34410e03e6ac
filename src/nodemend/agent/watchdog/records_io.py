"""Reads and writes the small files that agent and feeder share. Readers get a whole file or none."""

import os

from nodemend.agent.watchdog.records import (
    NoRecord,
    RefusedRecord,
    format_gate_status,
    is_disarm_permission,
    is_gate,
    parse_gate_status,
    parse_lease,
    tells_opening,
)
from nodemend.protocol.feed_lease import FeedLease

_MOST = 4096
_GATE_STATUS_SUFFIX = ".gate"


def read_lease(path: str) -> FeedLease | NoRecord | RefusedRecord:
    try:
        return parse_lease(read_beginning(path))
    except FileNotFoundError:
        return NoRecord()
    except OSError as error:
        return RefusedRecord(str(error))


def read_disarm_permission(path: str, boot_id: str) -> bool:
    """True if this boot has a permit to feed without a lease, and to disarm."""
    return is_disarm_permission(read_or_empty(path), boot_id)


def read_gate(path: str, boot_id: str) -> bool:
    """True if a boot gate guarded this boot."""
    return is_gate(read_or_empty(path), boot_id)


def store_gate_status(status: str, boot_id: str, gate_status: str) -> None:
    """Write the boot gate's state beside the feeder's status, whose path both know. Raises OSError."""
    write_record(f"{status}{_GATE_STATUS_SUFFIX}", format_gate_status(boot_id, gate_status))


def read_gate_status(status: str, boot_id: str) -> str:
    """Return the gate's state in this boot; empty if it has no state, or the state was removed."""
    return parse_gate_status(read_or_empty(f"{status}{_GATE_STATUS_SUFFIX}"), boot_id)


def remove_gate_status(status: str) -> None:
    """Remove the gate's state, if any. If that fails, the feeder retries after its next read."""
    try:
        os.unlink(f"{status}{_GATE_STATUS_SUFFIX}")
    except OSError:
        return


def has_opened(path: str, boot_id: str) -> bool:
    """True if a boot gate let kubelet start in this boot, published or not."""
    return tells_opening(read_or_empty(path), boot_id)


def read_beginning(path: str) -> bytes:
    """Return the first 4 KiB of a file, in as many reads as the kernel needs. Raises OSError."""
    # Never blocks, even if the path leads to another kind of file.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        content = b""
        while len(content) < _MOST and (more := os.read(descriptor, _MOST - len(content))):
            content += more
        return content
    finally:
        os.close(descriptor)


def read_or_empty(path: str) -> bytes:
    """Return the same; empty if the file does not exist or cannot be read. No record is empty."""
    try:
        return read_beginning(path)
    except OSError:
        return b""


def write_record(path: str, content: bytes, mode: int = 0o644, *, durable: bool = False) -> None:
    """Replace the file atomically. Raises OSError; the old file then stays.

    `durable`: the disk has the content before the file is replaced.
    """
    beside = f"{path}.new"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    try:
        os.write(descriptor, content)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(beside, path)
