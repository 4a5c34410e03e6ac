"""Running guests, each watched by its own thread: their output, and the times of their resets."""

import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from controlplane.waiting import wait_until
from guest.image import Image
from guest.qemu import Guest, Happened, Line, Setting
from machine_room.register import Register
from tests.e2e.guests.root import PROGRAM
from tests.e2e.guests.wires import Wires
from tests.e2e.self_fencing.networks import API

_MEGABYTES: Final = 768
_FOR_EVER: Final = 86400.0
_BOOTS_WITHIN: Final = 300.0
_WRITES: Final = "WRITE"


@dataclass
class Machine:
    """Times are seconds since the epoch, as in the audit log. Output has the time of its arrival."""

    name: str
    register: Register
    lines: list[tuple[float, str]] = field(default_factory=list)
    resets: list[float] = field(default_factory=list)

    def watch(self, guest: Guest) -> None:
        """Watch until the guest is ended."""
        for seen in guest.watch(_FOR_EVER):
            at = time.time() - (time.monotonic() - seen.at)
            match seen:
                case Line(text=text) if text.startswith(_WRITES):
                    _, _, boot, pod = text.split()
                    with self.register.file.open("a") as file:
                        file.write(f"{int(at * 1e9)} {self.name} {boot} {pod}\n")
                case Line(text=text):
                    self.lines.append((at, text))
                case Happened(name="WATCHDOG"):
                    self.resets.append(at)
                case _:
                    pass

    def has_booted(self) -> bool:
        """True if its gate is open, and its agent started."""
        return any(text.startswith("RUN") and text.endswith(" agent") for _, text in self.lines)

    def boots(self) -> list[str]:
        return [text.split()[2] for _, text in self.lines if text.startswith("BOOT ")]


class Machines:
    """A context manager."""

    def __init__(self, image: Image, wires: Wires, names: tuple[str, ...], folder: Path) -> None:
        self.register = Register(folder / "register")
        self.all = {name: Machine(name, self.register) for name in names}
        self._image = image
        self._wires = wires
        self._folder = folder
        self._owned = ExitStack()

    def __enter__(self) -> Self:
        with self._owned:
            for machine in self.all.values():
                self._start(machine)
                # One after another: two guests that boot at once are too slow for their own checks.
                wait_until(f"{machine.name} has booted", machine.has_booted, within=_BOOTS_WITHIN)
            self._owned = self._owned.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._owned.close()

    def _start(self, machine: Machine) -> None:
        setting = Setting(
            driver="iTCO_wdt",
            kernel=self._image.kernel,
            root=self._image.root,
            program=PROGRAM,
            words=f"node.name={machine.name} node.api={API}",
            megabytes=_MEGABYTES,
            processors=2,
            cable=self._wires.cable(machine.name),
            owned_up=False,
            comes_back=True,
        )
        guest = Guest(setting, self._folder / machine.name)
        watching = threading.Thread(target=machine.watch, args=(guest,), daemon=True)
        watching.start()
        # QEMU ends first, which ends its watcher; then their shared files are closed.
        self._owned.callback(guest.end)
        self._owned.callback(watching.join, 10.0)
        self._owned.callback(guest.kill)
