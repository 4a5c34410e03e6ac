"""Debian packages, downloaded by apt and unpacked without their scripts."""

import subprocess
from pathlib import Path
from typing import Final

PYTHON: Final = "python3.11"
PACKAGES: Final = (
    "base-files",
    "ca-certificates",
    "libbz2-1.0",
    "libc6",
    "libcrypt1",
    "libexpat1",
    "libffi8",
    "libgcc-s1",
    "liblzma5",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libssl3",
    "libuuid1",
    "media-types",
    "python3.11-minimal",
    "tzdata",
    "zlib1g",
)
"""The packages that Python and Nodemend need on Debian 12."""

_NOT_UNPACKED: Final = (
    "./usr/share/doc/*",
    "./usr/share/man/*",
    "./usr/share/info/*",
    "./usr/share/lintian/*",
)
# Debian 12 still ships files under /lib and /bin that belong under /usr.
_MERGED: Final = ("bin", "sbin", "lib", "lib64")
_WITHIN: Final = 300.0


def download(packages: tuple[str, ...], folder: Path) -> list[Path]:
    """The archives, one a package, in the newest version that the machine's sources have."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *packages]
    subprocess.run(command, cwd=folder, check=True, timeout=_WITHIN, capture_output=True)
    return [_newest(folder, package) for package in packages]


def prepare(root: Path) -> None:
    """An empty root in which / and /usr are one, as Debian has it."""
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")


def unpack(archive: Path, root: Path) -> None:
    excluded = [f"--exclude={pattern}" for pattern in _NOT_UNPACKED]
    tar = ["tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", str(root), *excluded]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE) as reading:
        subprocess.run(tar, stdin=reading.stdout, check=True, timeout=_WITHIN)
    if reading.returncode:
        raise subprocess.CalledProcessError(reading.returncode, "dpkg-deb")
    _record(archive, root)


def _record(archive: Path, root: Path) -> None:
    """Leave the package's control data where scanners look for it."""
    command = ["dpkg-deb", "--field", str(archive)]
    control = subprocess.run(command, check=True, timeout=_WITHIN, capture_output=True, text=True).stdout
    folder = root / "var" / "lib" / "dpkg" / "status.d"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / archive.name.partition("_")[0]).write_text(control)


def _newest(folder: Path, package: str) -> Path:
    archives = sorted(folder.glob(f"{package}_*.deb"), key=lambda archive: archive.stat().st_mtime)
    if not archives:
        raise FileNotFoundError(f"apt downloaded no archive of {package}")
    return archives[-1]
