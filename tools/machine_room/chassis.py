"""The chassis of a machine: its power, power commands, and their faults."""

import socketserver
import sys
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from controlplane.process import Process

SECONDS_TO_OFF: Final = 0.3
"""Usual seconds from a BMC's acknowledgement to the machine's end."""
MACHINE: Final = Path(__file__).with_name("machine.py")


@dataclass(frozen=True, slots=True)
class Order:
    """A command that a BMC got, whether or not the machine followed."""

    seconds: float
    what: str


@dataclass(slots=True)
class ChassisFaults:
    """Can be changed while it runs."""

    off_ignored: bool = False
    """The BMC acknowledges, and nothing happens."""
    on_ignored: bool = False
    refuses: bool = False


class Chassis:
    """One machine: a process while it is on. Each power-on is a boot with a new ID."""

    def __init__(self, name: str, folder: Path, *, seconds_to_off: float = SECONDS_TO_OFF) -> None:
        self.name = name
        self.boot = ""
        self.faults = ChassisFaults()
        self.orders: list[Order] = []
        self._folder = folder
        self.seconds_to_off = seconds_to_off
        self._process: Process | None = None
        self._lock = threading.RLock()
        self._timers: list[threading.Timer] = []
        folder.mkdir()

    @property
    def powered(self) -> bool:
        with self._lock:
            return self._process is not None and self._process.running

    @property
    def settled(self) -> bool:
        """True if no command is pending."""
        return not any(timer.is_alive() for timer in self._timers)

    @property
    def memory(self) -> Path:
        """The machine's state of this boot, which is lost with it: see machine.py."""
        return self._folder / self.boot

    def switch_on(self) -> None:
        """Power it on by hand. No effect if it is on."""
        with self._lock:
            if self.powered:
                return
            self.boot = str(uuid.uuid4())
            for part in ("wanted", "ended"):
                (self.memory / part).mkdir(parents=True)
            command: list[str | Path] = [
                sys.executable,
                "-I",
                "-S",
                MACHINE,
                self.name,
                self.boot,
                self.memory,
            ]
            self._process = Process(command, log=self._folder / "machine.log")

    def switch_off(self) -> None:
        """Power it off by hand: at once, in any state."""
        with self._lock:
            if self._process is not None:
                self._process.kill()

    def obey(self, asked: list[str]) -> str:
        """Execute a command of the BMC, and return the reply."""
        verb, *what = asked
        if self.faults.refuses:
            return "refused\n"
        if verb == "get":
            return "".join(self._reading(one) for one in what)
        if verb == "set":
            for setting, value in zip(what[::2], what[1::2], strict=True):
                self._take(setting, value)
        return ""

    def _reading(self, what: str) -> str:
        return f"power:{int(self.powered)}\n" if what == "power" else f"{what}:none\n"

    def _take(self, setting: str, value: str) -> None:
        order = {"power1": "on", "power0": "off", "reset1": "reset", "shutdown1": "soft"}.get(setting + value)
        if order is None:
            return
        self.orders.append(Order(time.time(), order))
        if order == "on" and not self.faults.on_ignored:
            self.switch_on()
        elif order == "reset":
            self.switch_off()
            self.switch_on()
        elif order in ("off", "soft") and not self.faults.off_ignored:
            # A BMC acknowledges before the machine is off.
            timer = threading.Timer(self.seconds_to_off, self.switch_off)
            self._timers.append(timer)
            timer.start()

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()
            timer.join()
        self.switch_off()


class ChassisServer:
    """The server for the requests of `chassis_control.py`."""

    def __init__(self, chassis: Chassis, path: Path) -> None:
        self.path = path
        self._server = socketserver.ThreadingUnixStreamServer(str(path), _answering(chassis))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10.0)


def _answering(chassis: Chassis) -> type[socketserver.StreamRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        timeout = 10.0

        def handle(self) -> None:
            asked = self.rfile.readline().decode().split()
            self.wfile.write(chassis.obey(asked).encode())

    return Handler
