"""`python -m host_program.footprint`: the memory of the feeder when it is locked; at most 10 MiB."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from host_program.pack import pack
from nodemend.agent.watchdog.model import parse_status
from nodemend.agent.watchdog.records import format_lease
from nodemend.agent.watchdog.records_io import write_record
from nodemend.protocol.feed_lease import FeedLease

MOST_KIBIBYTES: Final = 10 * 1024
ROUNDS_SECONDS: Final = 6.0
_SYSTEM: Final = Path("/usr/bin/python3")
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_OLDEST: Final = (3, 11)


def main() -> int:
    found = [measure(python) for python in pythons()]
    worst = max(kibibytes for kibibytes, _ in found)
    locked = all(is_locked for _, is_locked in found)
    reported = "locked" if locked else "NOT LOCKED: this account may not lock memory"
    print(
        f"feeder-footprint: {worst / 1024:.2f} MiB of memory, {reported} (at most {MOST_KIBIBYTES / 1024:g})"
    )
    return 0 if locked and worst <= MOST_KIBIBYTES else 1


def pythons() -> list[str]:
    """The project's Pythons, and the host's own if it is new enough."""
    ask = [str(_SYSTEM), "-c", f"import sys; sys.exit(sys.version_info < {_OLDEST})"]
    usable = _SYSTEM.exists() and subprocess.run(ask, check=False).returncode == 0
    return [sys.executable, *([str(_SYSTEM)] if usable else [])]


def measure(python: str) -> tuple[int, bool]:
    """Run the packed feeder for some rounds; returns its resident memory, and whether it is locked."""
    with tempfile.TemporaryDirectory(prefix="nodemend-footprint-") as name:
        folder = Path(name)
        isolated = [python, "-I", "-S"]
        subprocess.run([*isolated, str(pack(folder)), "unpack", str(folder / "run")], check=True)
        # A lease that lasts, and an ordinary file as the device: it runs its whole loop, and opens no
        # watchdog. `just watchdog` reports its memory on a real one.
        (folder / "device").touch()
        until = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 30 * 10**9
        write_record(str(folder / "lease"), format_lease(FeedLease(_BOOT_ID.read_text().strip(), until)))
        paths = {name: folder / name for name in ("device", "lock", "lease", "permit", "status")}
        words = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
        command = [*isolated, str(folder / "run" / "start.py"), "feeder", *words, "--boot-id", str(_BOOT_ID)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            time.sleep(ROUNDS_SECONDS)
            return resident(process.pid), is_locked(paths["status"])
        finally:
            process.kill()
            process.wait()


def resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    kibibytes = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    print(f"{os.path.realpath(f'/proc/{pid}/exe')}: {kibibytes} KiB")
    return kibibytes


def is_locked(status: Path) -> bool:
    reported = parse_status(status.read_bytes())
    return bool(reported) and "locked-memory" not in reported.get("lacking", "")


if __name__ == "__main__":
    sys.exit(main())
