"""Builds the whole root from scratch."""

import shutil
from pathlib import Path
from typing import Final

from build_cache import build_cache
from image_root import debian_packages, python_packages
from image_root.chroot import run_in
from image_root.debian_packages import PACKAGES, PYTHON

REPOSITORY: Final = Path(__file__).parents[2]
USER: Final = 65532

_PASSWD: Final = f"root:x:0:0:root:/root:/sbin/nologin\nnodemend:x:{USER}:{USER}:nodemend:/:/sbin/nologin\n"
_GROUP: Final = f"root:x:0:\nnodemend:x:{USER}:\n"
_NSSWITCH: Final = "passwd: files\ngroup: files\nhosts: files dns\n"


def build_root(root: Path, wheel: Path | None = None) -> list[str]:
    """Make `root`, which must not exist yet; returns the names of Nodemend's programs in it."""
    root.mkdir(parents=True)
    archives = debian_packages.download(PACKAGES, build_cache() / "debian")
    debian_packages.prepare(root)
    for archive in archives:
        debian_packages.unpack(archive, root)
    _configure(root)
    wheel = wheel or python_packages.build_wheel(REPOSITORY, build_cache() / "wheels")
    python_packages.install_wheels(root, wheel, REPOSITORY / "requirements" / "run.txt")
    programs = python_packages.write_programs(root, wheel)
    _compile(root)
    return programs


def _configure(root: Path) -> None:
    """The effects of the packages' install scripts, as far as they are needed."""
    (root / "etc" / "passwd").write_text(_PASSWD)
    (root / "etc" / "group").write_text(_GROUP)
    (root / "etc" / "nsswitch.conf").write_text(_NSSWITCH)
    certificates = sorted((root / "usr" / "share" / "ca-certificates").rglob("*.crt"))
    bundle = root / "etc" / "ssl" / "certs" / "ca-certificates.crt"
    bundle.parent.mkdir(parents=True, exist_ok=True)
    bundle.write_text("".join(file.read_text() for file in certificates))
    # OpenSSL's default path.
    (root / "usr" / "lib" / "ssl").mkdir(exist_ok=True)
    (root / "usr" / "lib" / "ssl" / "cert.pem").symlink_to("/etc/ssl/certs/ca-certificates.crt")
    (root / "usr" / "bin" / "python3").symlink_to(PYTHON)
    (root / "tmp").mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    for leftover in (
        root / "usr" / "sbin" / "update-ca-certificates",
        root / "usr" / "share" / "ca-certificates",
    ):
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink(missing_ok=True)


def _compile(root: Path) -> None:
    """Compile now: the root is read-only at run time, and each start would compile everything again."""
    folders = [f"/usr/lib/{PYTHON}", f"/{python_packages.SITE}"]
    quietly = ["-q", "--invalidation-mode", "unchecked-hash", "-x", "test|lib2to3"]
    run_in(root, [f"/usr/bin/{PYTHON}", "-m", "compileall", *quietly, *folders], user=0)
