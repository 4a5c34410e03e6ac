"""A node's first program: feeder, boot gate and kubelet, in the order of the shipped units.

Its name is on the kernel's command line; its disk is a folder of that name.
"""

import os
import shutil
import sys
from pathlib import Path

sys.path[:0] = ["/stage"]

from guest.inside import tell  # noqa: E402 - it is where the line before says
from tests.e2e.guests.guest.api import Api  # noqa: E402
from tests.e2e.guests.guest.kubelet import Kubelet  # noqa: E402
from tests.e2e.guests.guest.node_report import BOOT_ID  # noqa: E402
from tests.e2e.guests.guest.units import Unit, environment_of  # noqa: E402

UNITS = Path("/etc/systemd/system")
HOST = Path("/etc/nodemend/host.env")


def words() -> dict[str, str]:
    said = [word.partition("=") for word in Path("/proc/cmdline").read_text().split()]
    return {name: value for name, _, value in said}


def main() -> None:
    if os.getpid() != 1:
        raise SystemExit("this is the first program of a guest, and must not run anywhere else")
    said = words()
    shutil.copytree(f"/stage/disks/{said['node.name']}", "/", dirs_exist_ok=True)
    os.system(f"ip route add {said['node.api']}/32 dev eth0")  # noqa: S605 - by our own command line
    tell("BOOT", BOOT_ID.read_text().strip())
    Path("/run/nodemend").mkdir()
    feeder, gate = Unit(UNITS / "nodemend-feeder.service"), Unit(UNITS / "nodemend-boot-gate.service")
    feeder.prepare()
    feeder.start()
    gate.start()
    kubelet: Kubelet | None = None
    while True:
        pid, status = _reap(wait=kubelet is None)
        if pid == feeder.pid:
            tell("FEEDER", "ended", status)
            feeder.start()
        elif pid == gate.pid:
            tell("GATE", "open" if status == 0 else f"failed: {status}")
            kubelet = _kubelet(said) if status == 0 else None
        if kubelet is not None:
            kubelet.ended(pid)
            kubelet.serve()


def _kubelet(said: dict[str, str]) -> Kubelet:
    host = environment_of(HOST)
    api = Api(host["NODEMEND_API_SERVER"], host["NODEMEND_CA"], host["NODEMEND_CERTIFICATE"])
    return Kubelet(api, said["node.name"], said["guest.network"].partition("/")[0])


def _reap(*, wait: bool) -> tuple[int, int]:
    """Reap an ended process: the first program is the parent of all orphans."""
    try:
        return os.waitpid(-1, 0 if wait else os.WNOHANG)
    except ChildProcessError:
        return 0, 0


if __name__ == "__main__":
    main()
