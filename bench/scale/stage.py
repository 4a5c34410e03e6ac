"""A real API server with a load on it, and the checker beside it in a separate process."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from bench.clients.__main__ import Cores
from bench.scale.load import Load
from controlplane.run import ControlPlane


class Child:
    """The checker's process, and its output."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._reported: dict[str, Any] = {}

    def wait_for(self, key: str, value: object = None) -> Any:
        """The next value of this key in its output; the next with `value`, if given."""
        assert self._process.stdout is not None
        while key not in self._reported or value not in (None, self._reported.get("targets")):
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"the checker ended before it told of {key}")
            self._reported |= msgspec.json.decode(line)
        return self._reported.pop(key)

    def wait_for_start(self, nodes: int) -> float:
        """Seconds until it evaluates nodes, without the wait for leadership."""
        began = self.wait_for("began")
        synced = self.wait_for("synced")
        leads = self.wait_for("leads")
        decides = self.wait_for("decides")
        self.wait_for("counted", nodes)
        return float(synced - began + decides - max(leads, synced))

    def ask(self, what: str, key: str) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self.wait_for(key)


@dataclass(frozen=True, slots=True)
class Stage:
    cores: Cores
    plane: ControlPlane
    load: Load

    @contextmanager
    def checker(self) -> Iterator[Child]:
        program = [sys.executable, "-m", "bench.scale.watched_checker", str(self.plane.kubeconfig)]
        command = ["taskset", "-c", str(self.cores.client), *program]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield Child(process)
            finally:
                assert process.stdin is not None
                process.stdin.close()
                process.wait(timeout=60)
