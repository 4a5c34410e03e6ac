"""Detection of a watchdog that has reset its machine: by itself, after its timeout, on this machine."""

from pathlib import Path

import pytest

from nodemend.agent.reset_log import (
    ObservedReset,
    ResetRecord,
    evaluate_reset,
    format_reset,
    parse_reset,
    record_of,
)
from nodemend.agent.reset_log_io import keep_tested, machine_fingerprint, read_tested
from nodemend.agent.watchdog.records import sealed

S = 1_000_000_000
STATUS = {
    "boot": "boot-1",
    "state": "starving",
    "for-good": "no",
    "last-ping": str(100 * S),
    "written-seconds": "5",
    "effective": str(10 * S),
    "driver": "iTCO wdt/2",
}


def ended(alive_at: float = 109.9, machine: str = "m1", status: dict[str, str] | None = None) -> ResetRecord:
    found = record_of({**STATUS, **(status or {})}, "boot-1", 1000, int(alive_at * S), machine)
    assert found is not None
    return found


@pytest.mark.attack("K3")
@pytest.mark.parametrize("alive_at", [104.9, 109.9, 110.5])
def test_a_boot_that_ended_when_its_watchdog_was_due_shows_that_it_resets(alive_at: float) -> None:
    record = ended(alive_at)
    assert parse_reset(format_reset(record)) == record
    assert evaluate_reset(record) == ObservedReset("m1", "iTCO_wdt_2")


@pytest.mark.attack("K3")
@pytest.mark.parametrize(
    "record",
    [
        ended(status={"state": "condemned"}),
        ended(status={"for-good": "yes"}),
        ended(101.0),
        ended(140.0),
        ended(machine=""),
        ended(status={"driver": ""}),
        ended(status={"written-seconds": ""}),
        ResetRecord("boot-1", "starving", 1000, 100 * S, 109 * S),
    ],
    ids=["reboot asked", "gap", "too soon", "too late", "no machine", "no driver", "no time", "old record"],
)
def test_a_reset_with_another_possible_cause_proves_nothing(record: ResetRecord) -> None:
    assert evaluate_reset(record) is None


def test_a_record_of_an_earlier_version_is_read_without_its_missing_fields() -> None:
    old = sealed("nodemend-reset", "boot-1", "starving", "1000", "40", "95")
    assert parse_reset(old) == ResetRecord("boot-1", "starving", 1000, 40, 95)


def machine(folder: Path, uuid: str, bios: str = "1.0") -> str:
    dmi = folder / "sys/class/dmi/id"
    dmi.mkdir(parents=True, exist_ok=True)
    (dmi / "product_uuid").write_text(f"{uuid}\n")
    (dmi / "bios_version").write_text(bios)
    return machine_fingerprint(str(folder))


def test_another_board_and_another_firmware_are_another_machine(tmp_path: Path) -> None:
    one = machine(tmp_path, "a")
    assert one == machine(tmp_path, "a")
    assert len({one, machine(tmp_path, "b"), machine(tmp_path, "a", bios="1.1")}) == 3
    assert machine_fingerprint(str(tmp_path / "nothing told")) == ""


@pytest.mark.attack("K3")
def test_the_test_result_is_stored_per_machine_and_reported_per_boot(tmp_path: Path) -> None:
    here, reported = str(tmp_path / "disk"), str(tmp_path / "run")
    keep_tested(here, reported, "boot-2", [ended()], "m2")
    assert not read_tested(reported, "boot-2", "iTCO wdt/2")
    keep_tested(here, reported, "boot-2", [ended(), ended(status={"state": "condemned"})], "m1")
    assert read_tested(reported, "boot-2", "iTCO wdt/2")
    assert not read_tested(reported, "boot-3", "iTCO wdt/2")
    assert not read_tested(reported, "boot-2", "another driver")
    keep_tested(here, reported, "boot-3", [], "m1")
    assert read_tested(reported, "boot-3", "iTCO wdt/2")
    Path(reported).unlink()
    keep_tested(here, reported, "boot-4", [], "m3")
    assert not read_tested(reported, "boot-4", "iTCO wdt/2")
