"""The guest's kernel and root, made of Debian packages into the cache; existing ones are not made again."""

import fcntl
import hashlib
import lzma
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from build_cache import build_cache
from guest.cpio_archive import archive_of
from image_root import debian_packages
from image_root.chroot import run_in

PYTHON: Final = "python3.11"
PACKAGES: Final = (
    "libbz2-1.0",
    "libc6",
    "libcrypt1",
    "libexpat1",
    "libffi8",
    "liblzma5",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libuuid1",
    "python3.11-minimal",
    "zlib1g",
)
DRIVERS: Final = {
    "i6300esb": ("i6300esb",),
    # On the bus of the chipset: without these two the driver finds no device.
    "iTCO_wdt": ("lpc_ich", "i2c-i801", "iTCO_wdt"),
    "softdog": ("softdog",),
}
"""The watchdog drivers that the guest can load, each with the modules to be loaded in this order."""
_NETWORK: Final = {"network": ("virtio_pci", "virtio_net")}

# The cloud flavour has no driver of a hardware watchdog.
_KERNEL: Final = "linux-image-amd64"
_PROGRAMS: Final = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "depmod": "kmod",
    "modprobe": "kmod",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
_UNUSED: Final = (
    *("test", "idlelib", "lib2to3", "tkinter", "ensurepip", "distutils", "turtledemo", "pydoc_data"),
    *("curses", "dbm", "sqlite3", "xmlrpc", "venv", "msilib", "asyncio", "unittest", "multiprocessing"),
    *("email", "html", "wsgiref", "http", "xml", "concurrent", "config-3.11-x86_64-linux-gnu"),
)
_APPLETS: Final = ("sh", "mount", "insmod", "cat", "ls", "ps", "dmesg", "sleep", "stty", "ip")
_XZ: Final = b"\xfd7zXZ\0"
_WITHIN: Final = 300.0


class GuestError(Exception):
    """The guest cannot be built or run here; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Image:
    """A kernel that QEMU starts without a boot loader, and the root that every guest starts with."""

    kernel: Path
    root: Path


def missing_packages() -> list[str]:
    """Debian packages that must be installed before a guest can be built and run."""
    searched = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return sorted({package for name, package in _PROGRAMS.items() if not shutil.which(name, path=searched)})


def build() -> Image:
    """The image, made first if it is missing. Raises GuestError."""
    if missing := missing_packages():
        raise GuestError(f"install these first: apt-get install --no-install-recommends {' '.join(missing)}")
    done = _folder()
    done.parent.mkdir(parents=True, exist_ok=True)
    with done.with_name(f"{done.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            _build_into(done)
    return _image_in(done)


def built() -> Image:
    """The image from the cache. Raises GuestError if it is missing."""
    if not _folder().exists():
        raise GuestError("the guest is not built: `just guest-build`")
    return _image_in(_folder())


def _image_in(folder: Path) -> Image:
    return Image(folder / "vmlinux", folder / "root.cpio")


def _folder() -> Path:
    """Named by all inputs of an image, except the versions of Debian's packages."""
    here = Path(__file__)
    seen = hashlib.sha256()
    for file in (here, here.with_name("cpio_archive.py"), here.with_name("init.sh")):
        seen.update(file.read_bytes())
    return build_cache() / "guest" / seen.hexdigest()[:12]


def _build_into(done: Path) -> None:
    """Beside `done`, then renamed: a folder with the final name is always complete."""
    with tempfile.TemporaryDirectory(prefix=f"{done.name}.part-", dir=done.parent) as name:
        part = Path(name)
        root, kernel_root, result = part / "root", part / "kernel", part / "result"
        result.mkdir()
        _unpack_python(root)
        release = _unpack_kernel(kernel_root)
        _unpack_vmlinux(kernel_root / "boot" / f"vmlinuz-{release}", result / "vmlinux")
        _copy_modules(kernel_root, release, root)
        _furnish(root)
        (result / "root.cpio").write_bytes(archive_of(root))
        result.rename(done)


def _unpack_python(root: Path) -> None:
    root.mkdir()
    debian_packages.prepare(root)
    for archive in _downloaded(PACKAGES):
        debian_packages.unpack(archive, root)
    quietly = ["-q", "--invalidation-mode", "unchecked-hash", "-x", "|".join(_UNUSED)]
    run_in(root, [f"/usr/bin/{PYTHON}", "-m", "compileall", *quietly, f"/usr/lib/{PYTHON}"], user=0)
    library = root / "usr" / "lib" / PYTHON
    for name in _UNUSED:
        shutil.rmtree(library / name, ignore_errors=True)
    for folder in ("usr/share", "usr/lib/x86_64-linux-gnu/gconv", "var"):
        shutil.rmtree(root / folder, ignore_errors=True)


def _unpack_kernel(folder: Path) -> str:
    """Unpack the kernel's package, and say which release it is."""
    reported = _run("apt-cache", "depends", _KERNEL)
    package = next(word for word in reported.split() if word.startswith("linux-image-") and word != _KERNEL)
    folder.mkdir()
    (archive,) = _downloaded((package,))
    _run("dpkg-deb", "--extract", str(archive), str(folder))
    return package.removeprefix("linux-image-")


def _unpack_vmlinux(compressed: Path, done: Path) -> None:
    """The kernel proper: QEMU enters it directly, where the guest would take seconds to unpack it."""
    data = compressed.read_bytes()
    kernel = lzma.LZMADecompressor().decompress(data[data.index(_XZ) :])
    if not kernel.startswith(b"\x7fELF"):
        raise GuestError(f"{compressed.name} is not packed as Debian 12 packs it")
    done.write_bytes(kernel)


def _copy_modules(kernel_root: Path, release: str, root: Path) -> None:
    """Each driver's modules, in a separate folder, numbered in the order in which they are loaded."""
    _run("/usr/sbin/depmod", "-b", str(kernel_root), release)
    for driver, modules in {**DRIVERS, **_NETWORK}.items():
        folder = root / "drivers" / driver
        folder.mkdir(parents=True)
        files: list[str] = []
        for module in modules:
            files += _files_of(module, kernel_root, release)
        for number, file in enumerate(dict.fromkeys(files)):
            shutil.copyfile(file, folder / f"{number:02}-{Path(file).name}")


def _files_of(module: str, kernel_root: Path, release: str) -> list[str]:
    command = ("/usr/sbin/modprobe", "-d", str(kernel_root), "-S", release, "--show-depends", module)
    lines = (line.split() for line in _run(*command).splitlines())
    return [words[1] for words in lines if words[0] == "insmod"]


def _furnish(root: Path) -> None:
    """Busybox for the first steps, and the program that runs them."""
    shutil.copyfile(str(shutil.which("busybox")), root / "usr" / "bin" / "busybox")
    (root / "usr" / "bin" / "busybox").chmod(0o755)
    for applet in _APPLETS:
        (root / "usr" / "bin" / applet).unlink(missing_ok=True)
        (root / "usr" / "bin" / applet).symlink_to("busybox")
    (root / "usr" / "bin" / "python3").symlink_to(PYTHON)
    for name in ("proc", "sys", "dev", "run", "tmp", "stage"):
        (root / name).mkdir(exist_ok=True)
    shutil.copyfile(Path(__file__).with_name("init.sh"), root / "init")
    (root / "init").chmod(0o755)


def _downloaded(packages: tuple[str, ...]) -> list[Path]:
    try:
        return debian_packages.download(packages, build_cache() / "debian")
    except subprocess.CalledProcessError as error:
        raise GuestError(f"apt could not download {' '.join(packages)}: {error.stderr}") from error


def _run(*command: str) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=_WITHIN).stdout
    except subprocess.CalledProcessError as error:
        raise GuestError(f"{' '.join(command)}: {error.stderr}") from error
