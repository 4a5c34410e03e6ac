"""Booted guests, one for each driver and kind of time; every run starts from one of their snapshots."""

import shutil
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from guest.cpio_archive import archive_of
from guest.image import built
from guest.inside import put_inside
from guest.qemu import Gone, Guest, Happened, Line, Setting
from host_program.pack import pack
from tests.e2e.watchdog.expected_results import FROZEN_SECONDS, Play
from tests.e2e.watchdog.record import Record

ROOT: Final = Path(__file__).resolve().parents[3]
GUEST_FILES: Final = Path(__file__).resolve().with_name("guest")
PROGRAM: Final = f"/stage/{GUEST_FILES.relative_to(ROOT)}/first.py"
BEAT: Final = 0.2
"""As in `guest/environment.py`."""
_BOOT_WITHIN, _PLAY_WITHIN = 300.0, 300.0


class BootedGuests:
    """Keeps its files in one temporary folder, which is deleted with it."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="nodemend-watchdog-"))
        self._image = built()
        self._runs = 0
        self._saved: dict[tuple[str, bool], Path] = {}

    def __enter__(self) -> Self:
        stage = self._folder / "stage"
        inside = stage / GUEST_FILES.relative_to(ROOT)
        shutil.copytree(GUEST_FILES, inside, ignore=shutil.ignore_patterns("__pycache__"))
        put_inside(stage)
        pack(stage)
        root = self._image.root.read_bytes() + archive_of(stage, "stage")
        (self._folder / "root.cpio").write_bytes(root)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder)

    def play(self, play: Play, phase: float) -> Record:
        """One run from the start to its end."""
        setting = self._setting(play)
        saved = self._booted(setting)
        self._runs += 1
        record = Record(setting.warped)
        with Guest(setting, self._folder / f"run-{self._runs}", saved) as guest:
            guest.resume()
            guest.send(f"{play.story.name} {phase:.3f}")
            self._watch(guest, record)
        return record

    def _setting(self, play: Play) -> Setting:
        root = self._folder / "root.cpio"
        return Setting(
            driver=play.driver,
            kernel=self._image.kernel,
            root=root,
            program=PROGRAM,
            warped=play.story.warped,
        )

    def _booted(self, setting: Setting) -> Path:
        key = (setting.driver, setting.warped)
        if key not in self._saved:
            name = f"{setting.driver}-{'warped' if setting.warped else 'real'}"
            with Guest(setting, self._folder / name) as guest:
                guest.wait_for("READY", _BOOT_WITHIN)
                guest.save(self._folder / f"{name}.saved")
            self._saved[key] = self._folder / f"{name}.saved"
        return self._saved[key]

    def _watch(self, guest: Guest, record: Record) -> None:
        """Watch until the guest is reset, or has played to the end."""
        for occurrence in guest.watch(_PLAY_WITHIN):
            match occurrence:
                case Line() as line:
                    word = record.hear(line)
                    if word == "OVER" or "Attempted to kill init" in line.text:
                        return
                    self._meddle(guest, record, word)
                case Happened() as happened:
                    record.end(happened, BEAT)
                case Gone():
                    return

    def _meddle(self, guest: Guest, record: Record, word: str) -> None:
        """Actions that only the host can perform."""
        if word == "FREEZE":
            guest.freeze(FROZEN_SECONDS)
            # The guest's clock has continued meanwhile, as has the host's.
            record.resumed = record.beats[-1][0] + FROZEN_SECONDS
        elif word == "PAUSE":
            guest.ask("stop")
            time.sleep(FROZEN_SECONDS)
            guest.ask("cont")
