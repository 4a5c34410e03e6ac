"""From a node's silence to its workload elsewhere and the node back: actions, observations and verdict."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from controlplane.node_objects import condition
from machine_room.register import Register
from tests.e2e.guests.cluster import NODES, WORKLOAD, Cluster, check
from tests.e2e.guests.machines import Machine
from tests.e2e.self_fencing.view import View, read

WITHIN: Final = 600.0
"""Time limit of every step: guests are slow on a busy machine."""
_POLL_INTERVAL: Final = 0.5


class WrongError(Exception):
    """A forbidden state was observed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Times in seconds since the node was cut off."""

    last_write: float
    reset: float
    release: float
    first_write: float
    """Elsewhere."""
    back: float
    """Seconds after its cable was repaired."""


class History:
    def __init__(self, cluster: Cluster, say: Callable[[str], None]) -> None:
        self.node = ""
        self._cluster = cluster
        self._say = say
        self._boot = ""

    def play(self) -> Verdict:
        self._until("all fence themselves", self._is_whole)
        self._until("the workload writes", lambda: bool(self._register.last()))
        self._cluster.plane.api.create(check())
        self.node = self._where()
        self._boot = self._machine.boots()[-1]
        self._say(f"{len(NODES)} guests fence themselves; {WORKLOAD}-0 writes on {self.node}")
        cut_at = time.time()
        self._cluster.wires.cut(self.node)
        self._until("the workload writes elsewhere", lambda: self._where() != self.node)
        self._say(f"{WORKLOAD}-0 writes on {self._where()}")
        mended_at = time.time()
        self._cluster.wires.mend(self.node)
        self._until("the node is back, and nothing of ours is left", self._is_healed)
        return self._evaluate(cut_at, time.time() - mended_at)

    # Observations.

    @property
    def _register(self) -> Register:
        return self._cluster.machines.register

    @property
    def _machine(self) -> Machine:
        return self._cluster.machines.all[self.node]

    def _where(self) -> str:
        """The node on which the workload last wrote."""
        last = self._register.last()
        return last.machine if last else ""

    def _is_whole(self) -> bool:
        view = read(self._cluster.plane.api)
        return all(_fences_itself(view, machine) for machine in self._cluster.machines.all.values())

    def _is_healed(self) -> bool:
        view = read(self._cluster.plane.api)
        left = view.marked(self.node) or view.tainted(self.node) or self.node in view.remediations
        back = condition(view.nodes[self.node], "Ready") == "True" and _fences_itself(view, self._machine)
        return back and not left and self._machine.boots()[-1] != self._boot

    def _until(self, what: str, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WITHIN
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {WITHIN:g} s: {what}")
            time.sleep(_POLL_INTERVAL)

    # Verdict.

    def _evaluate(self, cut_at: float, back: float) -> Verdict:
        writes = self._register.writes()
        last = max(one.seconds for one in writes if one.boot == self._boot)
        first = min(one.seconds for one in writes if one.seconds > cut_at and one.machine != self.node)
        releases, resets = self._cluster.audit.releases(self.node, cut_at), self._machine.resets
        _expect("released once", len(releases) == 1)
        _expect("reset once, by its watchdog", len(resets) == 1)
        _expect("reset before its release", resets[0] < releases[0])
        _expect("silent after its reset", last <= resets[0] + 1.0)
        _expect("never two writers", not self._register.returns())
        others = [
            one.name for one in self._cluster.machines.all.values() if one.resets and one.name != self.node
        ]
        _expect("no other was reset", not others)
        return Verdict(last - cut_at, resets[0] - cut_at, releases[0] - cut_at, first - cut_at, back)


def _fences_itself(view: View, machine: Machine) -> bool:
    """True if its agent reports this boot, has all others as peers, and an armed watchdog behind a gate."""
    report = view.report(machine.name)
    watchdog = report.get("watchdog", {}).get("class")
    here = bool(machine.boots()) and report.get("bootID") == machine.boots()[-1]
    return (
        here
        and watchdog == "untested"
        and bool(report.get("bootGate"))
        and len(view.peers(machine.name)) == len(NODES) - 1
    )


def _expect(what: str, holds: bool) -> None:
    if not holds:
        raise WrongError(f"not so: {what}")
