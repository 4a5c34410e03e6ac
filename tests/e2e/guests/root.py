"""The guests' files: the guest's root, the image on top of it, and the disk of each node."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from guest.cpio_archive import archive_of
from guest.image import Image, built
from guest.inside import put_inside
from host_program.pack import pack
from image_root.build_root import build_root

REPOSITORY: Final = Path(__file__).resolve().parents[3]
_INSIDE: Final = Path(__file__).resolve().with_name("guest")
PROGRAM: Final = f"/stage/{_INSIDE.relative_to(REPOSITORY)}/first.py"
UNITS: Final = REPOSITORY / "deploy" / "host"


def write_root(done: Path, disks: Mapping[str, Path]) -> Image:
    """One file for all: each guest uses the disk of its name. Returns the kernel with it."""
    image = built()
    with tempfile.TemporaryDirectory(prefix="nodemend-guests-") as name:
        ours, stage = Path(name) / "image", Path(name) / "stage"
        build_root(ours)
        shutil.copytree(_INSIDE, stage / _INSIDE.relative_to(REPOSITORY))
        put_inside(stage)
        for node, disk in disks.items():
            shutil.copytree(disk, stage / "disks" / node)
        archives = (archive_of(ours), archive_of(stage, "stage"))
        done.write_bytes(b"".join([image.root.read_bytes(), *archives]))
    return Image(image.kernel, done)


def write_disk(disk: Path, settings: Mapping[str, str], authority: Path, certificate: Path) -> None:
    """The files that an admin puts on a node: Nodemend's units, their settings, the kubelet's certificate."""
    units, ours = disk / "etc" / "systemd" / "system", disk / "etc" / "nodemend"
    units.mkdir(parents=True)
    ours.mkdir()
    for file in UNITS.glob("*.service"):
        shutil.copy(file, units)
    pack(disk / "usr" / "lib" / "nodemend")
    reported = (UNITS / "host.env").read_text()
    for name, value in settings.items():
        reported = reported.replace(f"\n{name}=\n", f"\n{name}={value}\n")
    (ours / "host.env").write_text(reported)
    _copy(authority, disk / "etc/kubernetes/pki/ca.crt")
    _copy(certificate, disk / "var/lib/kubelet/pki/kubelet-client-current.pem")


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True)
    shutil.copy(file, to)
