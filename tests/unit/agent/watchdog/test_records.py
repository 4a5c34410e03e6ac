"""The records through which agent and feeder communicate."""

from binascii import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.agent.watchdog.model import parse_status
from nodemend.agent.watchdog.records import (
    CLOSED,
    PUBLISHED,
    RefusedRecord,
    format_disarm_permission,
    format_gate,
    format_gate_status,
    format_lease,
    is_disarm_permission,
    is_gate,
    parse_gate_status,
    parse_lease,
    tells_opening,
)
from nodemend.protocol.feed_lease import FeedLease

BOOT = "139b0c7c-34f3-439f-b446-72c75c685ce4"
LINE = format_lease(FeedLease(BOOT, 35_000_000_000))


@given(st.builds(FeedLease, st.just(BOOT), st.integers(0, 10**19 - 1), st.booleans()))
def test_a_lease_is_read_as_it_was_written(lease: FeedLease) -> None:
    assert parse_lease(format_lease(lease)) == lease


def test_an_operator_can_read_it() -> None:
    assert LINE.decode().split()[:5] == ["nodemend-feed-lease", "1", BOOT, "35000000000", "feeding"]
    assert b" condemned " in format_lease(FeedLease(BOOT, 0, fence_requested=True))


@given(st.integers(0, len(LINE) - 1), st.integers(1, 255))
def test_no_byte_of_it_can_change(place: int, change: int) -> None:
    broken = bytearray(LINE)
    broken[place] ^= change
    assert isinstance(parse_lease(bytes(broken)), RefusedRecord)


@given(st.integers(0, len(LINE) - 1))
def test_it_cannot_be_cut(length: int) -> None:
    assert isinstance(parse_lease(LINE[:length]), RefusedRecord)


@given(st.binary(max_size=200))
def test_garbage_is_refused(garbage: bytes) -> None:
    assert isinstance(parse_lease(garbage), RefusedRecord)


@pytest.mark.parametrize(
    "lease", [FeedLease(BOOT, -1), FeedLease(BOOT, 10**19), FeedLease("two words", 1), FeedLease("", -5)]
)
def test_a_record_that_is_no_lease_is_refused_even_with_a_valid_checksum(lease: FeedLease) -> None:
    found = parse_lease(format_lease(lease))
    more = RefusedRecord("it has more words or fewer than it should")
    assert found == (more if " " in lease.boot_id else RefusedRecord("it has other words than a feed lease"))


def test_unexpected_letters_are_refused_even_with_a_valid_checksum() -> None:
    body = LINE.rpartition(b" ")[0].replace(b"9", b"\xff")
    line = b"%s %08x\n" % (body, crc32(body))

    assert parse_lease(line) == RefusedRecord("it has letters that we do not write")


def test_one_kind_is_not_taken_for_the_other() -> None:
    assert parse_lease(format_disarm_permission(BOOT)) == RefusedRecord(
        "it is not nodemend-feed-lease 1 or later"
    )
    assert not is_disarm_permission(LINE, BOOT)


def test_a_permit_is_for_one_boot() -> None:
    assert is_disarm_permission(format_disarm_permission(BOOT), BOOT)
    assert not is_disarm_permission(format_disarm_permission("another"), BOOT)
    assert not is_disarm_permission(format_disarm_permission(BOOT)[:-2], BOOT)


def later(line: bytes, *more: str, version: str = "2") -> bytes:
    """The line as a later version may write it."""
    kind, _, *words = line.decode().split()[:-1]
    body = " ".join([kind, version, *words, *more]).encode()
    return b"%s %08x\n" % (body, crc32(body))


@pytest.mark.attack("S16")
@pytest.mark.parametrize("version", ["2", "3", "40"])
def test_known_fields_of_a_later_version_are_read(version: str) -> None:
    reported = FeedLease(BOOT, 35_000_000_000)
    assert parse_lease(later(LINE, "36000000000", "new-word", version=version)) == reported
    fence_requested = FeedLease(BOOT, 0, fence_requested=True)
    assert parse_lease(later(format_lease(fence_requested), "why", version=version)) == fence_requested
    assert is_disarm_permission(later(format_disarm_permission(BOOT), "more", version=version), BOOT)
    assert not is_disarm_permission(later(format_disarm_permission("another"), BOOT, version=version), BOOT)
    for published in (True, False):
        opened = later(format_gate(BOOT, published=published), "more", version=version)
        assert (is_gate(opened, BOOT), tells_opening(opened, BOOT)) == (published, True)


@pytest.mark.attack("S16")
@pytest.mark.parametrize(
    ("line", "version"),
    [(LINE, "0"), (LINE, "-1"), (LINE, "one"), (LINE, "9" * 20), (LINE.replace(b"feeding", b"resting"), "2")],
)
def test_an_unreadable_field_of_a_later_version_is_refused(line: bytes, version: str) -> None:
    assert isinstance(parse_lease(later(line, version=version)), RefusedRecord)


@pytest.mark.attack("S16")
def test_records_of_an_earlier_version_are_still_read() -> None:
    """Records of the first release that had self-fencing."""
    body = f"nodemend-feed-lease 1 {BOOT} 35000000000 feeding".encode()
    assert parse_lease(b"%s %08x\n" % (body, crc32(body))) == FeedLease(BOOT, 35_000_000_000)
    assert b"%s %08x\n" % (body, crc32(body)) == LINE


@pytest.mark.attack("S16")
def test_a_status_of_a_later_version_is_read_by_the_names_of_its_facts() -> None:
    assert parse_status(b"nodemend-feeder-status 2\nstate armed\nnew fact\n") == {
        "state": "armed",
        "new": "fact",
    }
    for other in (b"nodemend-feeder-status\n", b"nodemend-feeder-status x\n", b"status 1\n", b""):
        assert parse_status(other + b"state armed\n") == {}


@pytest.mark.attack("S16")
@pytest.mark.parametrize(("version", "read"), [(1, False), (2, True)])
def test_only_a_later_version_may_have_unknown_fields(version: int, read: bool) -> None:
    body = f"nodemend-feed-lease {version} {BOOT} 5 feeding 0 condemned".encode()
    found = parse_lease(b"%s %08x\n" % (body, crc32(body)))
    assert isinstance(found, FeedLease) is read


def test_the_gate_s_state_is_reported_for_its_own_boot_only() -> None:
    for gate_status in (CLOSED, PUBLISHED):
        line = format_gate_status("boot-1", gate_status)
        assert parse_gate_status(line, "boot-1") == gate_status
        assert parse_gate_status(line, "boot-2") == ""
        assert parse_gate_status(line[:-3], "boot-1") == ""
    assert parse_gate_status(format_gate_status("boot-1", "open"), "boot-1") == ""
    assert parse_gate_status(format_gate("boot-1", published=True), "boot-1") == ""
