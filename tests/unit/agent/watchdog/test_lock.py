"""One feeder at a time, and the lock of one that dies goes after its watchdog."""

import os
import subprocess
import sys
from pathlib import Path

from nodemend.agent.watchdog.device import take_lock

HOLDER = """
import sys
from nodemend.agent.watchdog.device import take_lock
print(take_lock(sys.argv[1]), flush=True)
sys.stdin.read()
"""


def test_another_process_has_the_lock_until_it_dies(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    words = [sys.executable, "-c", HOLDER, path]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert not take_lock(path)
        holder.kill()
        holder.wait()
        assert take_lock(path)


def test_what_is_opened_after_it_has_a_lower_number(tmp_path: Path) -> None:
    """And is closed before it."""
    path = tmp_path / "lock"
    assert take_lock(str(path))
    device = os.open(tmp_path / "device", os.O_CREAT | os.O_WRONLY)
    held = [int(one.name) for one in Path("/proc/self/fd").iterdir() if _leads_to(one, path)]
    os.close(device)

    assert held
    assert min(held) > device


def _leads_to(link: Path, path: Path) -> bool:
    try:
        return link.readlink() == path
    except FileNotFoundError:
        return False
