"""Formats of the files that agent, boot gate and feeder exchange through a tmpfs, and the watchdog's report.

A file is one line: kind, version, fields, and a checksum over all of them. A reader refuses a damaged line as
a whole and never guesses.

Agents change with a rollout and feeders with a boot, so each reads lines of other versions. A later version
may append fields and never changes existing ones; an earlier reader uses the fields that it knows. An
incompatible line gets another kind, so that earlier readers refuse it.
"""

from binascii import crc32

from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.values import SmallValue

VERSION = 1
"""Version of written lines, and the latest version of which every field is known."""
_LEASE = "nodemend-feed-lease"
_DISARM = "nodemend-disarm"
_FEEDING, _FENCE_NOW = "feeding", "condemned"
_GATE = "nodemend-boot-gate"
_ACKNOWLEDGED = "acknowledged"
_PUBLISHED, _UNGUARDED = "published", "unguarded"
_GATE_STATUS = "nodemend-gate-standing"
CLOSED, PUBLISHED = "closed", "published"
"""States of a gate. Closed: kubelet waits, and this boot is not published. Published: this boot is published,
without peers."""
_LONGEST_NUMBER = 19
"""Maximum digits: more than any clock shows, and fast to parse."""


class NoRecord(SmallValue):
    """The file does not exist."""


class RefusedRecord(SmallValue):
    """The file exists and is not valid."""

    why: str


def format_lease(lease: FeedLease) -> bytes:
    """Return the lease file's content, for the agent."""
    state = _FENCE_NOW if lease.fence_requested else _FEEDING
    return sealed(_LEASE, lease.boot_id, str(lease.until), state)


def parse_lease(line: bytes) -> FeedLease | RefusedRecord:
    """Parse a lease file, for the feeder. `feed_lease.evaluate_record` compares the boot ID."""
    words = unsealed(_LEASE, line, 3)
    if isinstance(words, RefusedRecord):
        return words
    match words:
        case [boot_id, until, ("feeding" | "condemned") as state] if is_number(until):
            return FeedLease(boot_id, int(until), fence_requested=state == _FENCE_NOW)
        case _:
            return RefusedRecord("it has other words than a feed lease")


def format_disarm_permission(boot_id: str) -> bytes:
    """Return the permit file's content, for the agent.

    Only after the API server acknowledged that no release may rely on this node's watchdog.
    """
    return sealed(_DISARM, boot_id, _ACKNOWLEDGED)


def is_disarm_permission(line: bytes, boot_id: str) -> bool:
    """True if the line permits feeding without a lease, and disarming, in this boot."""
    return unsealed(_DISARM, line, 2) == [boot_id, _ACKNOWLEDGED]


def format_gate(boot_id: str, *, published: bool) -> bytes:
    """Return the record of an opened gate. `published` is False if it opened with this boot unpublished."""
    return sealed(_GATE, boot_id, _PUBLISHED if published else _UNGUARDED)


def is_gate(line: bytes, boot_id: str) -> bool:
    """True if the gate held kubelet in this boot until the boot was published without a marker."""
    return unsealed(_GATE, line, 2) == [boot_id, _PUBLISHED]


def tells_opening(line: bytes, boot_id: str) -> bool:
    """True if the gate has opened in this boot, published or not."""
    return is_gate(line, boot_id) or unsealed(_GATE, line, 2) == [boot_id, _UNGUARDED]


def format_gate_status(boot_id: str, gate_status: str) -> bytes:
    """Return the gate's state file, for the time before an agent starts."""
    return sealed(_GATE_STATUS, boot_id, gate_status)


def parse_gate_status(line: bytes, boot_id: str) -> str:
    """Return the gate's state in this boot; empty if the line has none."""
    match unsealed(_GATE_STATUS, line, 2):
        case [named, ("closed" | "published") as gate_status] if named == boot_id:
            return gate_status
        case _:
            return ""


def sealed(*words: str) -> bytes:
    """Return a line: kind, version, the other fields, a checksum."""
    kind, *rest = words
    body = " ".join([kind, str(VERSION), *rest]).encode("ascii")
    return b"%s %08x\n" % (body, crc32(body))


def unsealed(kind: str, line: bytes, most: int, fewest: int = 0) -> list[str] | RefusedRecord:
    """Return the fields after kind and version: `most`, or at least `fewest` if earlier lines had fewer.

    Further fields are ignored in a line of a later version and refused in one of this version.
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


def is_number(token: str) -> bool:
    """True for a short string of ASCII digits."""
    return token.isascii() and token.isdigit() and len(token) <= _LONGEST_NUMBER


SECOND = 1_000_000_000
_RUNNING = ("armed", "starving", "condemned")
"""States in which the device is open and resets the machine unless it is fed."""
STOPPED_GRACEFULLY = "its agent was stopped: it is fed without one"
_CLASSES = ("hardware", "software")
UNTESTED = "untested"
"""A hardware watchdog that was never observed to reset this machine: it may be wired to nothing."""


class WatchdogStatus(SmallValue):
    """A watchdog report to publish. Times are seconds; an empty `why` means that a release may rely on it."""

    kind: str
    driver: str
    written: float
    effective: float
    why: str


def evaluate_watchdog(status: dict[str, str], boot_id: str, now: int, tested: bool = False) -> WatchdogStatus:
    """Return the report that follows from `status`, as the feeder wrote it.

    `now` is CLOCK_BOOTTIME in nanoseconds. `tested`: this driver was observed to reset this machine.

    The report promises a reset only if that holds now: the device runs, and its effective reset time has not
    passed since the last ping. Otherwise the kind is "unsupported", with the reason; no release relies on the
    watchdog then, and the feeder feeds it all the same.
    """
    why = _why_nothing_rests_on_it(status, boot_id, now)
    kind = "unsupported" if why else status["class"]
    return WatchdogStatus(
        kind=UNTESTED if kind == "hardware" and not tested else kind,
        driver=status.get("driver", "")[:64],
        written=float(_number(status, "written-seconds") or 0),
        effective=(_number(status, "effective") or 0) / SECOND,
        why=why[:256],
    )


def longest_lease(status: dict[str, str], boot_id: str) -> float | None:
    """Return the longest feed lease in seconds; None if no feeder has reported one in this boot."""
    length = _number(status, "lease-length") if status.get("boot") == boot_id else None
    return None if length is None else length / SECOND


def _why_nothing_rests_on_it(status: dict[str, str], boot_id: str, now: int) -> str:
    if status.get("boot") != boot_id:
        return "no feeder has reported anything in this boot"
    if status.get("state") == "stood-down":
        return STOPPED_GRACEFULLY
    if status.get("state") not in _RUNNING:
        return f"the feeder is {status.get('state')}: {status.get('why', 'no reason reported')}"
    if status.get("class") not in _CLASSES:
        return status.get("unsupported-because") or "the feeder reports an unknown class of watchdog"
    last_ping, effective = _number(status, "last-ping"), _number(status, "effective")
    if last_ping is None or not effective:
        return "the feeder does not report when it last fed, or its effective timeout"
    if not 0 <= now - last_ping < effective:
        return "it was not fed for longer than it should take to reset, and has not reset the machine"
    return ""


def _number(status: dict[str, str], name: str) -> int | None:
    text = status.get(name, "")
    return int(text) if is_number(text) else None
