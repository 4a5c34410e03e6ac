"""A node that never reboots: an agent, and a feeder beside it."""

import json
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from controlplane.process import Process
from nodemend.api.well_known import MARKER
from tests.e2e.agent_nodes.agent_node import AgentNode
from tests.e2e.self_fencing.file_feeder import PHYSICAL

_S: Final = 1_000_000_000
W: Final = 9.063
"""Seconds from the last ping to the reset, as the drill of the file says."""


@dataclass
class Node:
    agent: AgentNode
    feeder: Process = field(init=False)

    def __post_init__(self) -> None:
        folder = self.agent.folder
        paths = {name: folder / name for name in ("device", "lock")}
        paths |= {name: folder / "agent" / name for name in ("lease", "permit")}
        paths |= {"status": folder / "feeder.status", "boot-id": folder / "boot_id"}
        words = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
        command = [sys.executable, "-m", "tests.e2e.self_fencing.file_feeder", *words, *PHYSICAL]
        environment = f"PYTHONPATH={':'.join(path for path in sys.path if path)}"
        self.feeder = Process(["/usr/bin/env", environment, *command], log=folder / "feeder.log")

    def end(self) -> None:
        self.agent.end()
        self.feeder.end()

    @property
    def pings(self) -> list[float]:
        """The times of its watchdog's pings, in seconds of CLOCK_BOOTTIME."""
        device = self.agent.folder / "device"
        lines = device.read_text().split() if device.exists() else []
        return [int(line) / _S for line in lines]

    @property
    def reset_at(self) -> float | None:
        """The time at which its watchdog would have reset it by now; None if it would not have."""
        pings = [*self.pings, time.clock_gettime(time.CLOCK_BOOTTIME)]
        return next((before + W for before, after in pairwise(pings) if after - before > W), None)

    def mark(self) -> None:
        marker = {"nodeUID": self.agent.uid, "bootID": self.agent.boot_id, "remediationUID": "r"}
        self.agent.annotate(**{MARKER: json.dumps(marker)})
