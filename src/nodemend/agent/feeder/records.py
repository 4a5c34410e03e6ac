"""The lines by which agent and feeder tell each other something, through files on a tmpfs.

One line a file: what it is, its version, its words, and a checksum over all of them. A line that is cut or
mixed is refused whole; nothing is ever guessed from one.

Agents change with a rollout and feeders with a boot, so each reads what another version wrote. A later
version may add words at the end of a line, and never changes what stands before them: a reader of an earlier
one takes the words that it knows. Where that cannot be, the line gets another name, and is refused.
"""

from binascii import crc32

from nodemend.decide.feed_lease import FeedLease
from nodemend.decide.small_value import SmallValue

VERSION = 1
"""Of what we write, and the latest whose words we all know."""
_LEASE = "nodemend-feed-lease"
_PERMIT = "nodemend-disarm"
_FEEDING, _CONDEMNED = "feeding", "condemned"
_GATE = "nodemend-boot-gate"
_ACKNOWLEDGED = "acknowledged"
_PUBLISHED, _UNGUARDED = "published", "unguarded"
_STANDING = "nodemend-gate-standing"
CLOSED, PUBLISHED = "closed", "published"
"""How a gate stands: kubelet waits, and this boot is not published yet; or it is, without peers."""
_LONGEST_NUMBER = 19
"""Digits: more than any clock shows, and few enough to be read in no time."""


class NoRecord(SmallValue):
    """There is no such file."""


class RefusedRecord(SmallValue):
    """There is one, and it is not to be believed."""

    why: str


def format_lease(lease: FeedLease) -> bytes:
    """For the agent."""
    standing = _CONDEMNED if lease.condemned else _FEEDING
    return sealed(_LEASE, lease.boot_id, str(lease.until), standing)


def parse_lease(line: bytes) -> FeedLease | RefusedRecord:
    """For the feeder. The boot ID is that of the record: `feed_lease.judge_record` compares it."""
    words = unsealed(_LEASE, line, 3)
    if isinstance(words, RefusedRecord):
        return words
    match words:
        case [boot_id, until, ("feeding" | "condemned") as standing] if is_number(until):
            return FeedLease(boot_id, int(until), condemned=standing == _CONDEMNED)
        case _:
            return RefusedRecord("it has other words than a feed lease")


def format_permit(boot_id: str) -> bytes:
    """For the agent, once the API server has acknowledged that nothing rests on this node's watchdog."""
    return sealed(_PERMIT, boot_id, _ACKNOWLEDGED)


def is_permit(line: bytes, boot_id: str) -> bool:
    """Whether the line permits to feed without a lease, and to disarm, in this very boot."""
    return unsealed(_PERMIT, line, 2) == [boot_id, _ACKNOWLEDGED]


def format_gate(boot_id: str, *, published: bool) -> bytes:
    """For the boot gate, as it opens. Not published: it was told to let kubelet start without a look."""
    return sealed(_GATE, boot_id, _PUBLISHED if published else _UNGUARDED)


def is_gate(line: bytes, boot_id: str) -> bool:
    """Whether kubelet was held back in this very boot until it was published and no marker stood on it."""
    return unsealed(_GATE, line, 2) == [boot_id, _PUBLISHED]


def tells_opening(line: bytes, boot_id: str) -> bool:
    """Whether the gate has opened in this very boot, with a look or without."""
    return is_gate(line, boot_id) or unsealed(_GATE, line, 2) == [boot_id, _UNGUARDED]


def format_standing(boot_id: str, standing: str) -> bytes:
    """For the boot gate, until there is an agent."""
    return sealed(_STANDING, boot_id, standing)


def parse_standing(line: bytes, boot_id: str) -> str:
    """Of the gate of this very boot; empty where it tells nothing."""
    match unsealed(_STANDING, line, 2):
        case [named, ("closed" | "published") as standing] if named == boot_id:
            return standing
        case _:
            return ""


def sealed(*words: str) -> bytes:
    """A line of these words: what it is, its version, the rest, a checksum."""
    kind, *rest = words
    body = " ".join([kind, str(VERSION), *rest]).encode("ascii")
    return b"%s %08x\n" % (body, crc32(body))


def unsealed(kind: str, line: bytes, most: int, fewest: int = 0) -> list[str] | RefusedRecord:
    """The words after kind and version: `most`, or from `fewest` on where an earlier line had fewer.

    Of a later version only those that we know. In a line of our own version there are no others.
    """
    body, _, checksum = line.rpartition(b" ")
    if checksum != b"%08x\n" % crc32(body):
        return RefusedRecord("its checksum is wrong")
    if not body.isascii() or b"\n" in body:
        return RefusedRecord("it has letters that we do not write")
    words = body.decode("ascii").split(" ")
    match words:
        case [named, version, *rest] if named == kind and is_number(version) and int(version) >= VERSION:
            enough = (fewest or most) <= len(rest) <= most or (int(version) > VERSION and len(rest) > most)
            return rest[:most] if enough else RefusedRecord("it has more words or fewer than it should")
        case _:
            return RefusedRecord(f"it is not {kind} {VERSION} or later")


def is_number(word: str) -> bool:
    """Of a few digits, and nothing else."""
    return word.isascii() and word.isdigit() and len(word) <= _LONGEST_NUMBER
