"""Packs the host's programs into one archive, installs it, and unpacks it into a folder on a tmpfs.

Packing (`python3 -I -S` runs the archive): the same code gives the same bytes.

Installing (`python3 -m nodemend.agent.host_bundle`): the chart runs it before the agent if
`selfFencing.agent.installHostParts` is on. It installs feeder and boot gate for the host's next boot and
starts nothing: systemd reads the units at the next boot, or after an administrator runs `systemctl
daemon-reload`. Existing identical files are left alone, so that a feeder that restarts finds the file that it
knows.

Unpacking: the feeder starts from the unpacked and compiled code, because compiling takes a megabyte that it
would keep permanently, and because a feeder that restarts while the disk hangs finds its code in memory. It
happens once per boot and version: an existing folder is left alone if only this user could have written it.
"""

import compileall
import os
import shutil
import stat
import sys
import tempfile
import zipfile
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Final

NAME: Final = "nodemend-host.pyz"
_ROOT: Final = __file__.rpartition("/nodemend/agent/")[0]
_CARRIED: Final = (
    "nodemend/__init__.py",
    "nodemend/agent/__init__.py",
    "nodemend/agent/api_check",
    "nodemend/agent/boot_gate",
    "nodemend/agent/exit_codes.py",
    "nodemend/agent/host_program.py",
    "nodemend/agent/host_bundle.py",
    "nodemend/agent/reset_log.py",
    "nodemend/agent/reset_log_io.py",
    "nodemend/agent/watchdog",
    "nodemend/api/__init__.py",
    "nodemend/api/well_known.py",
    "nodemend/protocol/__init__.py",
    "nodemend/protocol/feed_lease.py",
    "nodemend/protocol/self_resets.py",
    "nodemend/protocol/values.py",
    "nodemend/protocol/watchdog_drivers.py",
)
_BEGINNING: Final = b"#!/usr/bin/python3\n"
_MAIN: Final = b"import sys\nfrom nodemend.agent.host_program import main\nsys.exit(main())\n"


def write_archive(path: str) -> None:
    """Write the archive. Raises OSError."""
    with open(path, "wb") as file:
        file.write(_BEGINNING)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in _names():
                archive.writestr(zipfile.ZipInfo(name), Path(f"{_ROOT}/{name}").read_bytes())
            archive.writestr(zipfile.ZipInfo("__main__.py"), _MAIN)


def _names() -> list[str]:
    found = []
    for carried in _CARRIED:
        if carried.endswith(".py"):
            found.append(carried)
        else:
            files = sorted(os.listdir(f"{_ROOT}/{carried}"))
            found += [f"{carried}/{name}" for name in files if name.endswith(".py")]
    return found


_UNITS: Final = ("nodemend-feeder.service", "nodemend-boot-gate.service")
_SLEEP: Final = tuple(
    f"{way}.target" for way in ("sleep", "suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate")
)
"""Masked, because a sleeping machine is not reset, and continues where it was when it wakes."""
_DROP_IN: Final = "50-nodemend.conf"
_SETTINGS: Final = "host.env"
_NODE: Final = "NODEMEND_NODE="


def install(given: str, host: str, node: str) -> list[str]:
    """Install, and return the written files. `given` has the units and settings, `host` the host's folders.

    Raises OSError. Settings that an administrator has put there are left alone.
    """
    written = []
    units, settings = f"{host}/systemd", f"{host}/settings/{_SETTINGS}"
    if not os.path.exists(settings):
        written += _put(settings, _filled(Path(f"{given}/{_SETTINGS}").read_bytes(), node))
    written += _put(f"{host}/program/{NAME}", _archive())
    os.makedirs(f"{units}/kubelet.service.d", exist_ok=True)
    os.makedirs(f"{units}/multi-user.target.wants", exist_ok=True)
    for unit in _UNITS:
        written += _put(f"{units}/{unit}", Path(f"{given}/{unit}").read_bytes())
        written += _enable(f"{units}/multi-user.target.wants/{unit}", f"../{unit}")
    for target in _SLEEP:
        written += _enable(f"{units}/{target}", os.devnull)
    # Last: from here on kubelet waits for the gate, which needs all the others.
    return written + _put(f"{units}/kubelet.service.d/{_DROP_IN}", Path(f"{given}/{_DROP_IN}").read_bytes())


def _filled(settings: bytes, node: str) -> bytes:
    lines = settings.decode("ascii").splitlines(keepends=True)
    return "".join(f"{_NODE}{node}\n" if line.startswith(_NODE) else line for line in lines).encode("ascii")


def _archive() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_archive(f"{folder}/{NAME}")
        return Path(f"{folder}/{NAME}").read_bytes()


def _put(path: str, content: bytes) -> list[str]:
    """Write the file atomically, and to the disk before any file that needs it."""
    if os.path.exists(path) and Path(path).read_bytes() == content:
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


_STAMP = "stamp"
_START = """\
import sys
sys.path.insert(0, __file__.rpartition("/")[0])
from nodemend.agent.host_program import main
sys.exit(main())
"""


def unpack(archive: str, folder: str) -> int:
    """Unpack the archive; return exit code 0. The folder is complete, or does not exist."""
    found = os.stat(archive)
    stamp = f"{found.st_size} {found.st_mtime_ns} {sys.version}"
    if _content(f"{folder}/{_STAMP}") == stamp and _is_ours(folder):
        return 0
    beside, old = f"{folder}.new", f"{folder}.old"
    shutil.rmtree(beside, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    os.umask(stat.S_IWGRP | stat.S_IWOTH)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(beside)
    Path(f"{beside}/start.py").write_text(_START, encoding="utf-8")
    Path(f"{beside}/{_STAMP}").write_text(stamp, encoding="utf-8")
    # Compiled for its final path and without checks of the source, because only this user writes there.
    compileall.compile_dir(
        beside,
        quiet=1,
        stripdir=beside,
        prependdir=folder,
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
    )
    if os.path.exists(folder):
        os.rename(folder, old)
    os.rename(beside, folder)
    shutil.rmtree(old, ignore_errors=True)
    return 0


def _is_ours(folder: str) -> bool:
    """True if this user owns everything in the folder, and no other user may write it."""
    inside = (os.path.join(at, name) for at, folders, files in os.walk(folder) for name in (*folders, *files))
    return all(_is_safe(os.lstat(path)) for path in (folder, *inside))


def _is_safe(found: os.stat_result) -> bool:
    writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid == os.geteuid() and not writable and not stat.S_ISLNK(found.st_mode)


def _content(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def main(words: list[str]) -> int:
    given, host, node = words
    for path in install(given, host, node):
        sys.stderr.write(f"nodemend-host-install: wrote {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
