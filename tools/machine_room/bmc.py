"""A real BMC's protocol in front of a chassis: OpenIPMI's simulator, one process for each machine."""

import shutil
import sys
from pathlib import Path
from typing import Final

from controlplane.ports import LOOPBACK
from controlplane.process import Process
from machine_room.chassis import Chassis, ChassisServer

CHASSIS_CONTROL: Final = Path(__file__).with_name("chassis_control.py")
USER: Final = "admin"
PASSWORD: Final = "s3cret"  # noqa: S105 - of a simulator on loopback

_EMULATION: Final = """\
mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02
sel_enable 0x20 1000 0x0a
mc_enable 0x20
"""
_AUTHENTICATION: Final = "none md2 md5 straight"


class Bmc:
    """Answers IPMI over LAN on loopback. Paused, it does not answer; ended, its port is closed."""

    def __init__(self, chassis: Chassis, folder: Path, port: int) -> None:
        self.chassis = chassis
        self.port = port
        folder.mkdir()
        self._server = ChassisServer(chassis, folder / "chassis.sock")
        (folder / "lan.conf").write_text(_lan(chassis.name, port, self._server.path))
        (folder / "bmc.emu").write_text(_EMULATION)
        (folder / "state").mkdir()
        command: list[str | Path] = [simulator(), "-n"]
        command += ["-c", folder / "lan.conf", "-f", folder / "bmc.emu", "-s", folder / "state"]
        self.process = Process(command, log=folder / f"bmc-{chassis.name}.log")

    @property
    def address(self) -> str:
        """The address as a BareMetalHost names it."""
        return f"ipmi://{LOOPBACK}:{self.port}"

    def close(self) -> None:
        self.process.end()
        self._server.close()


def simulator() -> Path:
    found = shutil.which("ipmi_sim")
    if found is None:
        raise FileNotFoundError("ipmi_sim is not installed: apt-get install openipmi ipmitool")
    return Path(found)


def _lan(name: str, port: int, socket: Path) -> str:
    levels = ("callback", "user", "operator", "admin")
    allowed = "\n".join(f"    allowed_auths_{level} {_AUTHENTICATION}" for level in levels)
    return f"""\
name "{name}"
set_working_mc 0x20
  startlan 1
    addr {LOOPBACK} {port}
    priv_limit admin
{allowed}
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "{sys.executable} -I -S {CHASSIS_CONTROL} {socket}"
  user 1 false "" "" user 10 {_AUTHENTICATION}
  user 2 true "{USER}" "{PASSWORD}" admin 10 {_AUTHENTICATION}
"""
