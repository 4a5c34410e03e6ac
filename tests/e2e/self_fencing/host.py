"""A node as a machine: feeder, boot gate, agent and workloads, which all end when its watchdog resets it."""

import contextlib
import os
import shutil
import signal
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from controlplane.process import Process
from tests.e2e.agent_nodes.agent_node import AgentNode
from tests.e2e.agent_nodes.kubelet_certificate import kubelet_certificate
from tests.e2e.self_fencing.agent_and_feeder import W
from tests.e2e.self_fencing.file_feeder import PHYSICAL
from tests.e2e.self_fencing.networks import Networks
from tests.unit.agent.certificates import Authority

S: Final = 1_000_000_000
FEEDER_BACK_AFTER: Final = 0.1
"""As in its systemd unit."""
FOR_EVER: Final = float("inf")
GRACE: Final = 15.0
"""Seconds that the agent's pod has to end, as in its DaemonSet."""
_WORKLOAD: Final = Path(__file__).with_name("workload.py")


def boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass
class FileWatchdog:
    """Computes from the pings in its file what a watchdog would have done."""

    file: Path
    last: float | None = None
    _read: int = 0

    def expired_at(self) -> float | None:
        """The time at which it reset its machine; None if it has not. Not armed before its first ping."""
        now = boottime()  # Before the pings are read, so that all earlier ones are in the file.
        for ping in self._new_pings():
            if self.last is not None and ping - self.last > W:
                return self.last + W
            self.last = ping
        return self.last + W if self.last is not None and now - self.last > W else None

    def _new_pings(self) -> list[float]:
        if not self.file.exists():
            return []
        with self.file.open("rb") as file:
            file.seek(self._read)
            whole = file.read().rpartition(b"\n")[0]
        self._read += len(whole) + 1 if whole else 0
        return [int(line) / S for line in whole.split()]


@dataclass
class Boot:
    id: str
    watchdog: FileWatchdog
    feeder: Process
    gate: Process
    opened_at: float | None = None
    """The time at which its gate opened and kubelet was started."""
    workloads: dict[str, Process] = field(default_factory=dict)
    """Processes by the UID of the pod."""
    reset_at: float | None = None
    restarted: bool = False
    """True if an admin restarted the machine, not its watchdog."""

    @property
    def kubelet(self) -> bool:
        return self.opened_at is not None


class Host:
    """Its owner calls `tick` some times a second. `starter` is the program that hosts have."""

    def __init__(self, agent: AgentNode, networks: Networks, clients: Authority, starter: list[str]) -> None:
        self.agent = agent
        self.name = agent.name
        self._networks = networks
        self._starter = starter
        self._certificate = kubelet_certificate(agent.name, agent.folder, clients)
        self._tls = agent.folder.with_name(f"{agent.name}-tls")
        shutil.copytree(agent.folder / "agent" / "tls", self._tls)
        self.boots: list[Boot] = []
        self.off_for = 5.0
        """Seconds from a reset to the next boot."""
        self.boots_at = 0.0
        self.agent_back_at = 0.0
        """Kubelet does not start the agent before this time."""
        self.feeder_back_at = 0.0
        self._to_restart = False

    @property
    def boot(self) -> Boot | None:
        """The running boot."""
        return self.boots[-1] if self.boots and self.boots[-1].reset_at is None else None

    @property
    def is_starting(self) -> bool:
        """True during its first boot, until kubelet starts."""
        boot = self.boot
        return len(self.boots) == 1 and boot is not None and not boot.kubelet

    def tick(self) -> None:
        boot = self.boot
        if boot is None:
            if boottime() >= self.boots_at:
                self._start()
            return
        expired = boot.watchdog.expired_at()
        if expired is not None:
            self._reset(boot, expired)
            return
        if self._to_restart:
            self._to_restart, boot.restarted = False, True
            self._reset(boot, boottime())
            return
        if not boot.feeder.running and boottime() >= self.feeder_back_at:
            boot.feeder.start()
        if not boot.kubelet and not boot.gate.running and (self.agent.folder / "gate").exists():
            boot.opened_at = boottime()
        if boot.kubelet and boottime() >= self.agent_back_at:
            self._run_agent()

    def _run_agent(self) -> None:
        if self.agent.process is None or not self.agent.process.running:
            self.agent.start()

    # Faults.

    def restart(self) -> None:
        """Restart by its admin, or by a power failure: within one of the next ticks."""
        self._to_restart = True

    def kill_feeder(self, back_after: float = FEEDER_BACK_AFTER) -> None:
        self.feeder_back_at = boottime() + back_after
        if (boot := self.boot) is not None:
            boot.feeder.kill()

    def kill_agent(self, back_after: float) -> None:
        self.agent_back_at = boottime() + back_after
        if self.agent.process is not None:
            self.agent.process.kill()

    def stop_agent(self) -> None:
        """Stop it permanently as kubelet does: with some seconds to end by itself."""
        self.agent_back_at = FOR_EVER
        if self.agent.process is not None:
            self.agent.process.end(within=GRACE)

    def run_workload(self, pod: str, register: Path) -> None:
        boot = self.boot
        if boot is None or pod in boot.workloads:
            return
        words = [sys.executable, "-I", "-S", str(_WORKLOAD), str(register), self.name, boot.id, pod]
        boot.workloads[pod] = Process(
            [*self._networks.inside(self.name), *words], log=self.agent.folder / "workloads.log"
        )

    def end(self) -> None:
        self._kill_all()

    # Implementation.

    def _start(self) -> None:
        """Start a new boot: nothing of the boot before is left on its tmpfs."""
        folder, number = self.agent.folder, len(self.boots)
        shutil.rmtree(folder / "agent")
        (folder / "agent").mkdir()
        shutil.copytree(self._tls, folder / "agent" / "tls")
        for name in ("gate", "feeder.status", "lock"):
            (folder / name).unlink(missing_ok=True)
        self.agent.boot_id = str(uuid.uuid4())
        (folder / "boot_id").write_text(f"{self.agent.boot_id}\n")
        self.agent_back_at = 0.0
        device = folder / f"device-{number}"
        self.boots.append(
            Boot(self.agent.boot_id, FileWatchdog(device), self._run_feeder(device), self._run_gate())
        )

    def _run_feeder(self, device: Path) -> Process:
        folder = self.agent.folder
        paths = {"device": device, "lock": folder / "lock", "status": folder / "feeder.status"}
        paths |= {name: folder / "agent" / name for name in ("lease", "permit")}
        paths |= {"boot-id": folder / "boot_id"}
        words = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
        program = [sys.executable, "-m", "tests.e2e.self_fencing.file_feeder", *words, *PHYSICAL]
        python = f"PYTHONPATH={os.pathsep.join(path for path in sys.path if path)}"
        command = [*self._networks.inside(self.name), "/usr/bin/env", "-i", python, *program]
        return Process([*command, "--", *self._check()], log=folder / "feeder.log")

    def _run_gate(self) -> Process:
        folder = self.agent.folder
        status = ("--status", str(folder / "feeder.status"))
        options = (*status, "--record", str(folder / "gate"), "--boot-id", str(folder / "boot_id"))
        gate = [*self._networks.inside(self.name), *self._starter, "boot-gate", *options]
        return Process([*gate, "--", *self._check("--publish", status[1])], log=folder / "gate.log")

    def _check(self, *more: str) -> list[str]:
        reported = {
            "server": f"https://{self.agent.environment['KUBERNETES_SERVICE_HOST']}:{self.agent.plane.port}",
            "ca": str(self.agent.plane.ca),
            "certificate": str(self._certificate),
            "node": self.name,
            "boot-id": str(self.agent.folder / "boot_id"),
            "within": "6",
        }
        words = [word for name, value in reported.items() for word in (f"--{name}", value)]
        return [*self._starter, "api-check", *words, *more]

    def _reset(self, boot: Boot, at: float) -> None:
        self._kill_all()
        self.boots_at = boottime() + self.off_for
        boot.reset_at = at

    def _kill_all(self) -> None:
        """Kill all processes in its network at once: a check that outlived its boot would renew on its
        behalf.
        """
        while pids := self._networks.processes(self.name):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        boot, agent = self.boots[-1] if self.boots else None, self.agent.process
        mine = [] if boot is None else [boot.feeder, boot.gate, *boot.workloads.values()]
        for process in [*mine, *([agent] if agent else [])]:
            process.kill()
