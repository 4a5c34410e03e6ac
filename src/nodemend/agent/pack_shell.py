"""Packs what a host runs into one file, for `python3 -I -S`. The same code gives the same bytes."""

import os
import zipfile
from typing import Final

NAME: Final = "nodemend-host.pyz"
_ROOT: Final = __file__.rpartition("/nodemend/agent/")[0]
_CARRIED: Final = (
    "nodemend/__init__.py",
    "nodemend/agent/__init__.py",
    "nodemend/agent/api_check",
    "nodemend/agent/boot_gate",
    "nodemend/agent/feeder",
    "nodemend/agent/host_program.py",
    "nodemend/agent/last_words",
    "nodemend/agent/unpack_shell.py",
    "nodemend/api/__init__.py",
    "nodemend/api/keys.py",
    "nodemend/decide/__init__.py",
    "nodemend/decide/feed_lease.py",
    "nodemend/decide/self_resets.py",
    "nodemend/decide/small_value.py",
    "nodemend/decide/watchdog_class.py",
)
_BEGINNING: Final = b"#!/usr/bin/python3\n"
_MAIN: Final = b"import sys\nfrom nodemend.agent.host_program import main\nsys.exit(main())\n"


def write_archive(path: str) -> None:
    """Raises OSError."""
    with open(path, "wb") as file:
        file.write(_BEGINNING)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in _names():
                with open(f"{_ROOT}/{name}", "rb") as source:
                    archive.writestr(zipfile.ZipInfo(name), source.read())
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
