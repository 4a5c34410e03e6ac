"""The gate as a program on its own files: when it opens, and what it reports of earlier resets."""

import time
from pathlib import Path

import pytest

from nodemend.agent import exit_codes
from nodemend.agent.boot_gate.gate_io import run
from nodemend.agent.reset_log import ResetRecord
from nodemend.agent.reset_log_io import ResetFolder, read_reset
from nodemend.agent.watchdog.records import CLOSED, PUBLISHED, format_gate
from nodemend.agent.watchdog.records_io import has_opened, read_gate, read_gate_status, write_record

HOUR = 3600


class StillClosedError(Exception):
    """The gate is still closed after three API checks."""


class Host:
    """A boot whose feeder feeds, with an API check that finds no marker and records its arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.resets = ResetFolder(str(folder / "resets"))
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        (folder / "boot").write_text("boot-9\n")
        (folder / "cmdline").write_text("quiet\n")
        lines = ["boot boot-9", "state armed", f"last-ping {now}", f"effective {HOUR * 10**9}"]
        (folder / "status").write_text("\n".join(["nodemend-feeder-status 1", *lines, ""]))
        self.slept = 0

    def had_resets(self, *ages: int) -> None:
        for number, age in enumerate(ages):
            begun = int(time.time()) - age
            self.resets.keep(ResetRecord(f"boot-{number}", "starving", begun, 10**9, 11 * 10**9))

    def sleep(self, _seconds: float) -> None:
        """Remove the reset records, as an operator does after a while."""
        self.slept += 1
        for number in range(9):
            self.resets.forget(f"boot-{number}")

    def run(self) -> int:
        """Run with the check of the file `check`. Raises StillClosedError if the gate stays closed."""
        names = ("status", "record", "resets", "certificate", "opened-before", "open-now", "cmdline")
        words = [f"--{name}={self.folder / name}" for name in names]
        checks = iter(range(3))

        def sleep(_seconds: float) -> None:
            if next(checks, None) is None:
                raise StillClosedError

        check = ["/bin/sh", str(self.folder / "check")]
        return run([*words, f"--boot-id={self.folder / 'boot'}", "--", *check], sleep)

    def starts(self) -> list[str]:
        """Run until the gate opens, and return the arguments of each API check."""
        files = {name: str(self.folder / name) for name in ("status", "record", "resets", "last-reset")}
        words = [f"--{name}={path}" for name, path in files.items()]
        words += [f"--boot-id={self.folder / 'boot'}", f"--cmdline={self.folder / 'cmdline'}", "--"]
        asked = self.folder / "asked"
        assert run([*words, "/bin/sh", "-c", f'echo "$*" >> {asked}', "check"], self.sleep) == 0
        assert read_gate(files["record"], "boot-9")
        return [line.replace(files["last-reset"], "FILE") for line in asked.read_text().splitlines()]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_without_resets_it_opens_at_once(host: Host) -> None:
    assert host.starts() == ["--last-reset FILE"]


def test_few_or_old_resets_do_not_delay_the_gate_and_the_last_one_is_reported(host: Host) -> None:
    host.had_resets(2 * HOUR, 90 * 60, 600, 300)

    assert host.starts() == ["--last-reset FILE"]
    reported = read_reset(str(host.folder / "last-reset"))
    assert reported is not None
    assert (reported.boot_id, reported.lived_on) == ("boot-3", 10 * 10**9)


def test_after_three_resets_within_an_hour_it_publishes_that_and_waits_for_an_operator(host: Host) -> None:
    host.had_resets(900, 600, 300)

    assert host.starts() == [
        (
            "--held-back it has reset itself 3 times within 60 minutes: an operator must check it"
            " --last-reset FILE"
        ),
        "--last-reset FILE",
    ]
    assert host.slept == 1


def test_the_kernel_command_line_can_skip_the_count_of_resets(host: Host) -> None:
    host.had_resets(900, 600, 300)
    (host.folder / "cmdline").write_text("quiet nodemend.forget-resets\n")

    assert host.starts() == ["--last-reset FILE"]


@pytest.mark.attack("V6")
@pytest.mark.parametrize("published", [True, False])
def test_a_gate_that_has_opened_in_this_boot_lets_kubelet_start_in_any_state(
    host: Host, published: bool
) -> None:
    """The gate's unit may be restarted while the feeder is down and the API server is unreachable."""
    host.had_resets(900, 600, 300)
    (host.folder / "status").unlink()
    record = format_gate("boot-9", published=published)
    write_record(str(host.folder / "record"), record)
    (host.folder / "check").write_text("exit 1")
    assert host.run() == 0
    assert (host.folder / "record").read_bytes() == record
    assert not (host.folder / "asked").exists()


@pytest.mark.attack("V6")
def test_one_that_opened_in_the_boot_before_has_not_opened_in_this_one(host: Host) -> None:
    write_record(str(host.folder / "record"), format_gate("boot-8", published=True))
    assert host.starts() == ["--last-reset FILE"]


@pytest.mark.attack("V5")
def test_the_first_boot_of_a_machine_opens_unguarded_and_a_later_one_does_not(host: Host) -> None:
    (host.folder / "check").write_text("exit 1")
    assert host.run() == 0
    assert not read_gate(str(host.folder / "record"), "boot-9")
    assert has_opened(str(host.folder / "record"), "boot-9")

    (host.folder / "record").unlink()
    (host.folder / "certificate").write_text("")
    (host.folder / "check").write_text("exit 0")
    assert host.run() == 0
    assert read_gate(str(host.folder / "record"), "boot-9")

    (host.folder / "record").unlink()
    (host.folder / "certificate").unlink()
    (host.folder / "check").write_text("exit 1")
    with pytest.raises(StillClosedError):
        host.run()


@pytest.mark.attack("V5")
def test_an_operator_opens_it_by_the_kernel_command_line_or_by_a_file(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    (host.folder / "certificate").write_text("expired")
    (host.folder / "check").write_text("exit 1")
    with pytest.raises(StillClosedError):
        host.run()
    assert "touch /run/nodemend/open-gate, or boot once with nodemend.gate=open" in capsys.readouterr().err
    (host.folder / "cmdline").write_text("quiet nodemend.gate=open")
    assert host.run() == 0

    (host.folder / "record").unlink()
    (host.folder / "cmdline").write_text("quiet nodemend.gate=opened")
    with pytest.raises(StillClosedError):
        host.run()
    (host.folder / "open-now").write_text("")
    assert host.run() == 0
    assert not read_gate(str(host.folder / "record"), "boot-9")


@pytest.mark.attack("V5")
@pytest.mark.parametrize("marked", [3, 5, 7])
def test_an_operator_cannot_open_an_acknowledged_marker_while_the_api_server_is_away(
    host: Host, marked: int
) -> None:
    """The first API check finds a marker and answers it; then the network fails, and an operator wants
    kubelet started.
    """
    (host.folder / "certificate").write_text("")
    (host.folder / "open-now").write_text("")
    (host.folder / "check").write_text(
        f"[ -e {host.folder}/looked ] && exit 1; : > {host.folder}/looked; exit {marked}"
    )
    with pytest.raises(StillClosedError):
        host.run()
    assert not (host.folder / "record").exists()


@pytest.mark.attack("V10")
def test_a_missing_installation_is_accepted_after_some_time(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must last for half a minute without a gap: a starting server does not serve the kinds yet."""
    (host.folder / "certificate").write_text("")
    check = host.folder / "check"
    check.write_text("exit 9")
    with pytest.raises(StillClosedError):
        host.run()
    seconds = iter(range(0, 1000, 15))
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))

    second = f"echo >> {host.folder}/looks; [ $(wc -l < {host.folder}/looks) = 2 ] && exit 1; exit 9"
    check.write_text(second)
    with pytest.raises(StillClosedError):
        host.run()
    check.write_text("exit 9")
    assert host.run() == 0
    assert has_opened(str(host.folder / "record"), "boot-9")
    assert not read_gate(str(host.folder / "record"), "boot-9")


@pytest.mark.parametrize(
    ("code", "gate_status"), [(1, CLOSED), (3, CLOSED), (5, CLOSED), (7, CLOSED), (0, PUBLISHED)]
)
def test_until_it_opens_it_reports_to_the_feeder_if_this_boot_is_published(
    host: Host, code: int, gate_status: str
) -> None:
    (host.folder / "certificate").write_text("")
    (host.folder / "check").write_text(f"exit {code}")
    (host.folder / "status").write_text("nodemend-feeder-status 1\nboot boot-9\nstate waiting\n")
    with pytest.raises(StillClosedError):
        host.run()

    assert read_gate_status(str(host.folder / "status"), "boot-9") == gate_status
    assert read_gate_status(str(host.folder / "status"), "boot-8") == ""


def test_a_restarted_gate_revokes_nothing(host: Host) -> None:
    (host.folder / "certificate").write_text("")
    for code in (0, 1):
        (host.folder / "check").write_text(f"exit {code}")
        (host.folder / "status").write_text("nodemend-feeder-status 1\nboot boot-9\nstate waiting\n")
        with pytest.raises(StillClosedError):
            host.run()

    assert read_gate_status(str(host.folder / "status"), "boot-9") == PUBLISHED


@pytest.mark.parametrize("code", [exit_codes.ABSENT, exit_codes.STOPPED_GRACEFULLY, exit_codes.TAKEN_OVER])
def test_opened_without_its_own_publication_it_leaves_nothing_to_the_feeder(host: Host, code: int) -> None:
    """No Lease, an agent that stopped gracefully, or one of this boot that has already published more."""
    (host.folder / "certificate").write_text("")
    (host.folder / "check").write_text(f"exit {code}")
    assert host.run() == 0

    assert read_gate_status(str(host.folder / "status"), "boot-9") == ""


def test_a_clock_that_was_set_back_hides_no_reset(host: Host) -> None:
    host.had_resets(-900, -600, -300)
    host.starts()

    assert host.slept == 1
