"""One guest under QEMU: its serial lines, its events, its pauses; saved after booting, restored quickly.

Always emulated (`-accel tcg`): the effect of a nested KVM on a guest's timers is unknown. A guest is `warped`
if its time is that of the instructions it runs and its idle time is skipped: a minute of waiting takes no
time, the machine's load cannot delay anything, and times are those that the guest reports. Otherwise its
clocks run with the host's.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from controlplane.process import LEASH
from guest.image import GuestError

BOARDS: Final = {
    "i6300esb": ("-M", "pc", "-device", "i6300esb"),
    "iTCO_wdt": ("-M", "q35", "-global", "ICH9-LPC.noreboot=false"),
    "softdog": ("-M", "pc"),
}
"""QEMU's device for each driver."""

_COMMAND: Final = (
    *("/usr/bin/qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none"),
    *("-accel", "tcg,tb-size=128", "-action", "watchdog=reset"),
)
_WARPED: Final = ("-icount", "shift=3,sleep=off")
_KERNEL_LINE: Final = (
    "console=ttyS0 quiet panic=0 mitigations=off nokaslr random.trust_cpu=on cryptomgr.notests "
    "no_timer_check tsc=reliable apparmor=0 audit=0 8250.nr_uarts=2"
)
_WITHIN: Final = 60.0
_PAUSE: Final = 0.005
_DEAD: Final = "Kernel panic"


@dataclass(frozen=True, slots=True)
class Line:
    """A line that the guest printed."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of QEMU's own, such as WATCHDOG or SHUTDOWN."""

    at: float
    name: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gone:
    """QEMU has ended."""

    at: float


Occurrence = Line | Happened | Gone


@dataclass(frozen=True, slots=True)
class Cable:
    """A connection to an existing tap device.

    `address` is the guest's own, with the prefix length of its net.
    """

    tap: str
    mac: str
    address: str

    def command(self) -> list[str]:
        return [
            *("-netdev", f"tap,id=cable,ifname={self.tap},script=no,downscript=no"),
            *("-device", f"virtio-net-pci,netdev=cable,mac={self.mac},romfile="),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Settings that must be the same when a guest is saved and when it is restored."""

    driver: str
    kernel: Path
    root: Path
    program: str
    warped: bool = False
    options: str = ""
    """Of the driver."""
    words: str = ""
    """For the program, on the kernel's command line."""
    megabytes: int = 256
    processors: int = 1
    cable: Cable | None = None
    owned_up: bool = True
    """True if it shows its guest that it is a virtual machine."""
    comes_back: bool = False
    """True if it reboots after a reset; otherwise it ends then."""

    def command(self) -> list[str]:
        files = ("-kernel", str(self.kernel), "-initrd", str(self.root), "-append", self._line())
        cpu = "qemu64,+rdrand" if self.owned_up else "qemu64,+rdrand,-hypervisor"
        return [
            *(*_COMMAND, "-cpu", cpu, "-smp", str(self.processors), "-m", str(self.megabytes)),
            *BOARDS[self.driver],
            *(() if self.comes_back else ("-no-reboot",)),
            *(_WARPED if self.warped else ()),
            *(self.cable.command() if self.cable else ()),
            *files,
        ]

    def _line(self) -> str:
        said = {
            "driver": self.driver,
            "program": self.program,
            "options": self.options,
            "network": self.cable.address if self.cable else "",
        }
        return " ".join(
            [_KERNEL_LINE, *(f"guest.{name}={value}" for name, value in said.items() if value), self.words]
        )


class Guest:
    """A running QEMU, ended by `end`. Times are seconds of the host's monotonic clock.

    The guest writes on its first serial line and reads its second. Its output goes to a file: a socket would
    fill up without a reader, and its last lines would be lost when the guest is reset.
    """

    def __init__(self, setting: Setting, folder: Path, saved: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        command = [
            # Ends with this process, for any reason.
            *(sys.executable, "-I", "-S", str(LEASH), str(os.getpid())),
            *setting.command(),
            *(
                "-serial",
                f"file:{folder / 'console'}",
                "-serial",
                f"unix:{folder / 'orders'},server=on,wait=off",
            ),
            *("-qmp", f"unix:{folder / 'monitor'},server=on,wait=off"),
            *(("-incoming", f"exec:cat {saved}") if saved else ()),
        ]
        (folder / "console").write_bytes(b"")
        self._log, self._console = (folder / "qemu.log").open("wb"), (folder / "console").open("rb")
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, start_new_session=True
        )
        self._sockets: list[socket.socket] = []
        self._kept: list[Occurrence] = []
        self._answers: list[dict[str, Any]] = []
        self._half_printed = self._half_reported = b""
        self._orders = self._connect(folder / "orders")
        self._monitor = self._connect(folder / "monitor")
        self.ask("qmp_capabilities")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _connect(self, path: Path) -> socket.socket:
        deadline = time.monotonic() + _WITHIN
        line = socket.socket(socket.AF_UNIX)
        self._sockets.append(line)
        while True:
            try:
                line.connect(str(path))
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.end()
                    raise GuestError(
                        f"QEMU did not start: {path.with_name('qemu.log').read_text()}"
                    ) from None
                time.sleep(_PAUSE)
            else:
                return line

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, line: str) -> None:
        """To its second serial line."""
        self._orders.sendall(line.encode() + b"\n")

    def ask(self, command: str, **arguments: object) -> dict[str, Any]:
        """Send QEMU a command, and return its reply. Events meanwhile are kept for `watch`."""
        self._monitor.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        deadline = time.monotonic() + _WITHIN
        while not self._answers:
            self._kept += self._receive()
            if time.monotonic() > deadline or any(isinstance(one, Gone) for one in self._kept):
                raise GuestError(f"QEMU did not answer {command}")
        answer = self._answers.pop(0)
        if "error" in answer:
            raise GuestError(f"{command}: {answer['error']}")
        return dict(answer["return"]) if isinstance(answer["return"], dict) else {}

    def watch(self, within: float) -> Iterator[Occurrence]:
        """Yield events as they occur, until QEMU has ended. Raises TimeoutError after `within` seconds."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            occurrences, self._kept = self._kept or self._receive(), []
            for occurrence in occurrences:
                yield occurrence
                if isinstance(occurrence, Gone):
                    return
        raise TimeoutError(f"the guest is still at it after {within:g} s")

    def wait_for(self, beginning: str, within: float = _WITHIN) -> Line:
        """The first line that begins with this.

        Raises TimeoutError, or GuestError if the guest ends before.
        """
        said: list[str] = []
        for occurrence in self.watch(within):
            if not isinstance(occurrence, Line):
                continue
            if occurrence.text.startswith(beginning):
                return occurrence
            said.append(occurrence.text)
            if _DEAD in occurrence.text:
                break
        raise GuestError("\n".join([f"the guest ended before it said {beginning!r}:", *said]))

    def _receive(self) -> list[Occurrence]:
        """Events within a moment; usually none."""
        ready, _, _ = select.select([self._monitor], [], [], _PAUSE)
        reported = self._monitor.recv(65536) if ready else None
        now = time.monotonic()
        happened = [] if reported is None else list(self._reported(reported, now))
        printed = [*self._printed(now)]
        return [*printed, *happened, *([Gone(now)] if reported == b"" else [])]

    def _printed(self, now: float) -> Iterator[Line]:
        *lines, self._half_printed = (self._half_printed + self._console.read()).split(b"\n")
        for line in lines:
            yield Line(now, line.decode("ascii", "replace").strip("\r"))

    def _reported(self, data: bytes, now: float) -> Iterator[Happened]:
        *lines, self._half_reported = (self._half_reported + data).split(b"\n")
        for message in map(json.loads, lines):
            if "event" in message:
                stamp = message["timestamp"]
                ago = time.time() - stamp["seconds"] - stamp["microseconds"] / 1e6
                yield Happened(now - ago, message["event"], message.get("data", {}))
            elif "QMP" not in message:
                self._answers.append(message)

    def save(self, file: Path) -> None:
        """Write the stopped guest to a file, and end it."""
        self.ask("stop")
        self.ask("migrate", uri=f"exec:cat > {file}")
        deadline = time.monotonic() + _WITHIN
        while (status := self.ask("query-migrate").get("status")) != "completed":
            if status == "failed" or time.monotonic() > deadline:
                raise GuestError("the guest could not be saved")
            time.sleep(0.02)
        self.end()

    def resume(self) -> None:
        """After it was restored."""
        deadline = time.monotonic() + _WITHIN
        while self.ask("query-status")["status"] == "inmigrate":
            if time.monotonic() > deadline:
                raise GuestError("the guest could not be restored")
            time.sleep(0.01)
        self.ask("cont")

    def freeze(self, seconds: float) -> None:
        """Stop QEMU itself, as a host that does not schedule it: the guest's clocks show the gap."""
        os.kill(self.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kill it at once. `watch` reports its end."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Harmless when it has ended already."""
        self.kill()
        for line in self._sockets:
            line.close()
        self._log.close()
        self._console.close()
