"""The reset log: what a boot leaves for the next one after its feeder has stopped feeding."""

from pathlib import Path

import pytest

from nodemend.agent.reset_log import ResetRecord, format_reset, parse_reset, record_of
from nodemend.agent.reset_log_io import KEPT, ResetFolder, run
from nodemend.agent.watchdog.records import RefusedRecord

STARVING = {"boot": "boot-1", "state": "starving", "last-ping": "40"}
RECORD = ResetRecord("boot-1", "starving", wall=1000, last_ping=40, alive_at=95)


def test_only_a_starving_or_condemned_boot_is_recorded() -> None:
    assert record_of(STARVING, "boot-1", 1000, 95) == RECORD
    assert RECORD.lived_on == 55
    assert record_of(STARVING | {"state": "armed"}, "boot-1", 1000, 95) is None
    assert record_of(STARVING | {"state": "ended"}, "boot-1", 1000, 95) is None
    assert record_of(STARVING, "boot-2", 1000, 95) is None
    assert record_of({}, "boot-1", 1000, 95) is None


def test_a_boot_condemned_before_its_first_feed_has_zero_seconds_recorded() -> None:
    found = record_of({"boot": "boot-1", "state": "condemned"}, "boot-1", 1000, 95)

    assert found is not None
    assert found.lived_on == 0


def test_a_record_is_read_as_it_was_written() -> None:
    assert parse_reset(format_reset(RECORD)) == RECORD


@pytest.mark.parametrize(
    "line",
    [b"", format_reset(RECORD)[:-2], format_reset(RECORD).replace(b"1000", b"1001"), b"nodemend-reset 1 x\n"],
)
def test_one_that_was_cut_or_changed_is_refused(line: bytes) -> None:
    assert isinstance(parse_reset(line), RefusedRecord)


def test_only_records_of_other_boots_are_counted_oldest_first(tmp_path: Path) -> None:
    folder = ResetFolder(str(tmp_path / "resets"))
    assert folder.others("boot-9") == []
    for name, wall in (("boot-9", 5), ("boot-2", 30), ("boot-1", 20)):
        folder.keep(ResetRecord(name, "starving", wall, 0, 0))
    (tmp_path / "resets" / "boot-3.new").write_bytes(format_reset(ResetRecord("boot-3", "starving", 1, 0, 0)))
    (tmp_path / "resets" / "boot-4").write_bytes(b"nothing that anybody wrote\n")

    assert [one.boot_id for one in folder.others("boot-9")] == ["boot-1", "boot-2"]


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    folder = ResetFolder(str(tmp_path))
    for number in range(KEPT + 3):
        folder.keep(ResetRecord(f"boot-{number}", "starving", 100 + number, 0, 0))
    folder.prune("now")

    assert [one.wall for one in folder.others("now")] == list(range(103, 103 + KEPT))


class Machine:
    """A boot and its feeder's status, which changes while the recorder sleeps."""

    def __init__(self, folder: Path, *states: str) -> None:
        self.folder = folder
        self.states = list(states)
        self.seen: list[int] = []
        (folder / "boot").write_text("boot-1\n")
        self.tells(self.states.pop(0))

    def tells(self, state: str) -> None:
        text = f"nodemend-feeder-status 1\nboot boot-1\nstate {state}\nlast-ping 40\n"
        (self.folder / "status").write_text(text)

    def rests(self, _seconds: float) -> None:
        self.seen += [one.alive_at for one in ResetFolder(str(self.folder / "resets")).others("none")]
        self.tells(self.states.pop(0))

    def records(self) -> int:
        files = {"status": "status", "folder": "resets", "boot-id": "boot"}
        return run([f"--{name}={self.folder / file}" for name, file in files.items()], self.rests)


def test_the_record_is_rewritten_until_the_end_or_removed_when_fed_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "starving", "starving", "armed")

    assert machine.records() == 0
    first, second = machine.seen
    assert first < second
    assert ResetFolder(str(tmp_path / "resets")).others("none") == []


def test_a_feeder_that_feeds_leaves_no_record(tmp_path: Path) -> None:
    assert Machine(tmp_path, "armed").records() == 0
    assert ResetFolder(str(tmp_path / "resets")).others("none") == []
