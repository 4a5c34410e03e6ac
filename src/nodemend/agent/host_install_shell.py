"""`python3 -m nodemend.agent.host_install_shell`: puts feeder and boot gate onto the host, for its next boot.

The chart runs it before the agent, where `selfFencing.agent.installHostParts` is on. It starts nothing: the
units are read at the next boot, or after `systemctl daemon-reload` by a person. What is there already and the
same is left alone, so that a feeder that is started anew finds the file that it knows.
"""

import os
import sys
import tempfile
from typing import Final

from nodemend.agent.pack_shell import NAME, write_archive

_UNITS: Final = ("nodemend-feeder.service", "nodemend-boot-gate.service")
_SLEEP: Final = tuple(
    f"{way}.target" for way in ("sleep", "suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate")
)
"""Masked: a machine that sleeps is not reset, and goes on where it was when it wakes."""
_DROP_IN: Final = "50-nodemend.conf"
_SETTINGS: Final = "host.env"
_NODE: Final = "NODEMEND_NODE="


def install(given: str, host: str, node: str) -> list[str]:
    """The files that were written. `given` has the units and the settings; `host` the host's folders.

    Raises OSError. Settings that a person has put there are left alone.
    """
    written = []
    units, settings = f"{host}/systemd", f"{host}/settings/{_SETTINGS}"
    if not os.path.exists(settings):
        written += _put(settings, _filled(_read(f"{given}/{_SETTINGS}"), node))
    written += _put(f"{host}/program/{NAME}", _archive())
    os.makedirs(f"{units}/kubelet.service.d", exist_ok=True)
    os.makedirs(f"{units}/multi-user.target.wants", exist_ok=True)
    for unit in _UNITS:
        written += _put(f"{units}/{unit}", _read(f"{given}/{unit}"))
        written += _enable(f"{units}/multi-user.target.wants/{unit}", f"../{unit}")
    for target in _SLEEP:
        written += _enable(f"{units}/{target}", os.devnull)
    # Last: from here on kubelet waits for the gate, which needs all the others.
    return written + _put(f"{units}/kubelet.service.d/{_DROP_IN}", _read(f"{given}/{_DROP_IN}"))


def _filled(settings: bytes, node: str) -> bytes:
    lines = settings.decode("ascii").splitlines(keepends=True)
    return "".join(f"{_NODE}{node}\n" if line.startswith(_NODE) else line for line in lines).encode("ascii")


def _archive() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_archive(f"{folder}/{NAME}")
        return _read(f"{folder}/{NAME}")


def _put(path: str, content: bytes) -> list[str]:
    """Whole or not at all, and on the disk before anything that needs it."""
    if os.path.exists(path) and _read(path) == content:
        return []
    beside = f"{path}.new"
    with open(beside, "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), 0o644)
        file.flush()
        os.fsync(file.fileno())
    os.rename(beside, path)
    return [path]


def _enable(path: str, target: str) -> list[str]:
    if os.path.lexists(path):
        return []
    os.symlink(target, path)
    return [path]


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def main(words: list[str]) -> int:
    given, host, node = words
    for path in install(given, host, node):
        sys.stderr.write(f"nodemend-host-install: wrote {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
