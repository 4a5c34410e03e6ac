"""A machine that boots: a real systemd with the shipped units and programs, in its own namespaces."""

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from controlplane.process import Process
from generate.outputs import HOST
from host_program.pack import pack
from tests.e2e.self_fencing import file_feeder
from tests.e2e.self_fencing.file_feeder import PHYSICAL

_BOOT: Final = Path(__file__).with_name("boot.sh")
_GROUPS: Final = Path("/sys/fs/cgroup")
_STUBS: Final = ("sysinit", "basic", "shutdown", "network-online", "multi-user")
_KUBELET: Final = """\
[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/bin/sleep infinity
Restart=always
RestartSec=1
"""
_TARGET: Final = """\
[Unit]
DefaultDependencies=no
Wants=nodemend-feeder.service nodemend-boot-gate.service kubelet.service
"""


@dataclass
class Machine:
    """One disk, and its boots one after another. `settings` replace values of host.env."""

    folder: Path
    settings: dict[str, str]
    kernel_line: str = "quiet"
    _process: Process | None = field(default=None, init=False)
    _boots: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        for name in ("disk", "units"):
            (self.folder / name).mkdir(parents=True)
        pack(self.folder)
        self._write_settings()
        self._write_units()

    def __enter__(self) -> Self:
        self.boot()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    # The disk.

    def _write_settings(self) -> None:
        text = (HOST / "host.env").read_text()
        for name, value in self.settings.items():
            text = re.sub(rf"^{name}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
        (self.folder / "host.env").write_text(text)

    def _write_units(self) -> None:
        units = self.folder / "units"
        for file in HOST.glob("*.service"):
            text = file.read_text().replace("/etc/nodemend/host.env", str(self.folder / "host.env"))
            text = text.replace("/usr/lib/nodemend/", f"{self.folder}/")
            if file.stem == "nodemend-feeder":
                text = _with_a_file_for_a_device(text, self.folder / "file_feeder.py")
            # There is no journal.
            text = re.sub(r"^StandardError=.*\n", "", text, flags=re.MULTILINE)
            log = f"StandardError=append:{self.folder / file.stem}.log\n"
            (units / file.name).write_text(text.replace("[Service]\n", f"[Service]\n{log}"))
        shutil.copyfile(file_feeder.__file__, self.folder / "file_feeder.py")
        shutil.copytree(HOST / "kubelet.service.d", units / "kubelet.service.d")
        (units / "kubelet.service").write_text(_KUBELET)
        (units / "boot.target").write_text(_TARGET)
        # The unit's sandbox has a private /proc: the kernel command line is bound into that.
        drop_in = units / "nodemend-boot-gate.service.d"
        drop_in.mkdir(exist_ok=True)
        bound = f"[Service]\nBindReadOnlyPaths={self.folder}/cmdline:/proc/cmdline\n"
        (drop_in / "kernel-line.conf").write_text(bound)
        for name in _STUBS:
            (units / f"{name}.target").write_text("[Unit]\nDefaultDependencies=no\n")

    def said(self, unit: str = "nodemend-boot-gate") -> str:
        log = self.folder / f"{unit}.log"
        return log.read_text() if log.exists() else ""

    # The boots.

    def boot(self) -> None:
        self.end()
        self._boots += 1
        (self.folder / "cmdline").write_text(self.kernel_line)
        for log in self.folder.glob("*.log"):
            log.unlink()
        group = f"nodemend-boot-gate-{self.folder.name}-{self._boots}"
        join = f"for one in {_GROUPS}/*/; do mkdir -p $one{group} && echo $$ > $one{group}/cgroup.procs; done"
        spaces = "/usr/bin/unshare --pid --fork --kill-child --mount --cgroup --uts --ipc"
        command = f"({join}) 2>/dev/null; exec {spaces} /bin/sh {_BOOT} {self.folder}"
        self._process = Process(["/bin/sh", "-c", command], log=self.folder / "console.txt")
        self.until("systemd answers", lambda: self.systemctl("is-system-running") != "")

    def end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    @property
    def _first(self) -> int:
        """The process ID of its systemd; 0 if it does not run."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        found = children.read_text().split() if children.exists() else []
        return int(found[0]) if found else 0

    def systemctl(self, *words: str) -> str:
        first = self._first
        if not first:
            return ""
        inside = ["/usr/bin/nsenter", "-t", str(first), "-m", "-p", "/usr/bin/systemctl", *words]
        reported = subprocess.run(inside, check=False, capture_output=True, text=True, timeout=60)
        return reported.stdout.strip()

    def touch(self, path: str) -> None:
        """Create a file on its tmpfs, once the folder exists: early in a boot it does not."""
        file = Path(f"/proc/{self._first}/root{path}")
        self.until(f"{file.parent} is there", file.parent.is_dir)
        file.touch()

    def gate(self) -> str:
        """The record of the gate's opening; empty if it has not opened."""
        record = Path(f"/proc/{self._first}/root/run/nodemend/gate")
        return record.read_text() if record.exists() else ""

    @property
    def kubelet(self) -> int:
        """Its process ID inside the machine; 0 if it does not run."""
        reported = self.systemctl("show", "kubelet.service", "-p", "MainPID", "-p", "SubState")
        facts = dict(line.partition("=")[::2] for line in reported.splitlines())
        return int(facts.get("MainPID", "0")) if facts.get("SubState") == "running" else 0

    def until(self, what: str, holds: Callable[[], bool], within: float = 60.0) -> None:
        deadline = time.monotonic() + within
        while not holds():
            if time.monotonic() > deadline:
                console = (self.folder / "console.txt").read_text()[-2000:]
                reported = "\n".join((self.said(), self.said("nodemend-feeder")[-1000:], console))
                raise StuckError(f"not within {within:g} s: {what}\n{reported}")
            time.sleep(0.2)

    def starts(self, within: float = 60.0) -> int:
        self.until("kubelet runs", lambda: self.kubelet != 0, within)
        return self.kubelet

    def stays_closed(self, *why: str) -> None:
        """Check that kubelet does not run, and that the reason and the next step are shown."""
        reported = (*why, "touch /run/nodemend/open-gate", "nodemend.gate=open")
        self.until(f"it tells {reported}", lambda: all(one in self.said() for one in reported))
        time.sleep(5.0)
        if self.kubelet or self.gate():
            raise StuckError(f"kubelet runs behind a gate that should be closed\n{self.said()}")


class StuckError(Exception):
    """A machine whose kubelet never starts, without a reason or a next step; or one that starts too soon."""


def _with_a_file_for_a_device(unit: str, feeder: Path) -> str:
    """The unit with a file as the watchdog, as in the tests of fencing: a namespace has no watchdogs."""
    shipped = "ExecStart=/usr/bin/python3 -I -S /run/nodemend/host/start.py feeder"
    played = f"ExecStart=/usr/bin/env PYTHONPATH=/run/nodemend/host /usr/bin/python3 {feeder}"
    text = re.sub(r"    --(cpuinfo|drill|sysfs) .*\n", "", unit.replace(shipped, played))
    return text.replace("    -- \\\n", f"    {' '.join(PHYSICAL)} \\\n    -- \\\n")
