"""The image root: built from Debian packages and the wheel, its controllers started in a chroot."""

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from controlplane.run import ControlPlane
from controlplane.settings import Settings
from image_root.build_root import build_root
from image_root.chroot import ENVIRONMENT, command_in
from installed.manifests import install
from nodemend.api.well_known import SYSTEM_NAMESPACE
from shipping.installed_wheel import ShippingError

READY_WITHIN: Final = 60.0


def ready_from_image(wheel: Path, root: Path) -> dict[str, float]:
    """Build the root, start every controller from it, and wait for their readyz. Seconds each took."""
    build_root(root, wheel)
    with ControlPlane(Settings(controller_manager=False, scheduler=False)) as plane:
        install(plane, "selfFencing.enabled=true")
        return {
            name: _ready(root, name, plane.service_account_kubeconfig(SYSTEM_NAMESPACE, name))
            for name in ("nodemend-checker", "nodemend-remediator", "nodemend-signer")
        }


def _ready(root: Path, name: str, kubeconfig: Path) -> float:
    inside = root / "tmp" / f"{name}.kubeconfig"
    inside.parent.mkdir(exist_ok=True)
    shutil.copyfile(kubeconfig, inside)
    inside.chmod(0o644)
    port = _free_port()
    flags = (
        f"--kubeconfig=/tmp/{inside.name}",
        "--probe-address=127.0.0.1",
        f"--probe-port={port}",
        "--metrics-address=127.0.0.1",
        f"--metrics-port={_free_port()}",
    )
    began = time.monotonic()
    with _running(command_in(root, [name, *flags])) as process:
        while not _answers(f"http://127.0.0.1:{port}/readyz"):
            if process.poll() is not None or time.monotonic() - began > READY_WITHIN:
                raise ShippingError(f"{name} from the image is not ready")
            time.sleep(0.1)
        return time.monotonic() - began


@contextmanager
def _running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - loopback, our own probe
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
