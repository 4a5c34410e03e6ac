"""Unpacks and compiles the host's program into a folder on a tmpfs, from which the feeder is then started.

Compiling takes a megabyte that the feeder would keep for ever; and a feeder that is started anew while the
disk hangs finds its own code in memory. It happens once a boot and version: what is there already is left
alone, if nobody but us could have written it.
"""

import compileall
import os
import shutil
import stat
import sys
import zipfile
from py_compile import PycInvalidationMode

_STAMP = "stamp"
_START = """\
import sys
sys.path.insert(0, __file__.rpartition("/")[0])
from nodemend.agent.host_program import main
sys.exit(main())
"""


def unpack(archive: str, folder: str) -> int:
    """Its exit code. The folder is complete, or not there."""
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
    _write(f"{beside}/start.py", _START)
    _write(f"{beside}/{_STAMP}", stamp)
    # Named as it will be, checked against nothing: nobody writes there but we.
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
    """Whether everything in it belongs to us, and nobody else may write it."""
    inside = (os.path.join(at, name) for at, folders, files in os.walk(folder) for name in (*folders, *files))
    return all(_is_safe(os.lstat(path)) for path in (folder, *inside))


def _is_safe(found: os.stat_result) -> bool:
    writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid == os.geteuid() and not writable and not stat.S_ISLNK(found.st_mode)


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
