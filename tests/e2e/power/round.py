"""One failure of one node, from its start to its verdict."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from machine_room.chassis import SECONDS_TO_OFF, ChassisFaults
from machine_room.hosts import HOSTS
from nodemend.api import well_known
from tests.e2e.power.node_pair import Cell

HEALED_WITHIN: Final = 180.0


class WrongError(Exception):
    """A forbidden state was observed."""


@dataclass(slots=True)
class Round:
    """The node with the workload fails. `boot` is the boot that must not outlive its release."""

    cell: Cell
    node: str
    since: float
    boot: str

    @classmethod
    def begin(cls, cell: Cell) -> "Round":
        cell.until_quiet()
        node = cell.where()
        return cls(cell, node, time.time(), cell.stage.room.computer(node).chassis.boot)

    # Faults.

    def fall_silent(self) -> None:
        """Cut it off, and wait for its remediation."""
        self.cell.cut(self.node)
        self.cell.until("a remediation is asked for", lambda: self.cell.remediation(self.node) is not None)

    def until_said(self, *words: str, within: float = HEALED_WITHIN) -> None:
        """Wait until its status has one of these reasons for waiting."""
        self.cell.until(f"it says {' or '.join(words)}", lambda: self.why() in words, within)

    def until_phase(self, *phases: str, within: float = HEALED_WITHIN) -> None:
        what = f"it is in {' or '.join(phases)}"
        self.cell.until(what, lambda: self.cell.phase(self.node) in phases, within)

    def until_held(self) -> None:
        self.cell.until("its host is held", lambda: self.cell.held(self.node))

    def until_off(self) -> None:
        self.cell.until("its machine is off", lambda: not self.powered)

    def until_operational(self, status: str) -> None:
        """Wait until its host's operational status is this."""
        self.cell.until(f"its host is said to be {status}", lambda: self.operational() == status)

    def until_healed(self) -> None:
        """Wait until the workload has moved, the node is back, and Nodemend has left nothing behind."""
        self.cell.until(
            "the workload has moved", lambda: self.cell.where() not in ("", self.node), HEALED_WITHIN
        )
        self.until_over()

    def until_over(self, within: float = HEALED_WITHIN) -> None:
        """Wait until both nodes are healthy, with the workload on either, and Nodemend has left nothing
        behind.
        """
        cell = self.cell
        cell.until("all is well", lambda: cell.is_whole() and not cell.leftovers(), within)

    def nothing_released_for(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.nothing_is_released()
            time.sleep(0.5)

    def undo_faults(self) -> None:
        """Undo the faults of its machine, of its host's management and of its volume."""
        room = self.cell.stage.room
        chassis = room.computer(self.node).chassis
        chassis.faults, chassis.seconds_to_off = ChassisFaults(), SECONDS_TO_OFF
        room.annotate_host(self.node, well_known.HOST_PAUSED, None)
        room.plane.attacher.release(self.node)

    # Observations.

    @property
    def powered(self) -> bool:
        return self.cell.stage.room.computer(self.node).chassis.powered

    def why(self) -> str:
        return str(self.cell.condition(self.node, "Processing").get("reason", ""))

    def operational(self) -> str:
        """The operational status that its host's operator reports."""
        host = self.cell.stage.plane.api.find(host_path(self.node)) or {}
        return str(host.get("status", {}).get("operationalStatus", ""))

    def orders(self) -> list[str]:
        """The commands that its BMC got since the round began."""
        chassis = self.cell.stage.room.computer(self.node).chassis
        return [order.what for order in chassis.orders if order.seconds >= self.since]

    def switches(self) -> list[str]:
        """The commands that changed the machine's power, which is on when a round begins.

        metal3 may repeat a command for the state that the machine is in, also one of the round before.
        """
        return [new for old, new in pairwise(["on", *self.orders()]) if new != old]

    def releases(self) -> list[float]:
        return self.cell.stage.audit.releases(self.node, self.since)

    def events(self) -> list[str]:
        """The reasons of the events about the node and its host."""
        events = self.cell.stage.plane.api.list("/apis/events.k8s.io/v1/events")
        about = [one for one in events if one.get("regarding", {}).get("name") == self.node]
        return [str(one["reason"]) for one in about]

    # Verdicts.

    def nothing_is_released(self) -> None:
        if self.cell.tainted(self.node) or self.releases():
            raise WrongError(f"{self.node} was released")
        pod = self.cell.stage.plane.api.find(f"/api/v1/namespaces/default/pods/{self.cell.workload}-0")
        if pod is None or pod["spec"].get("nodeName") != self.node:
            raise WrongError(f"the pod of {self.node} is gone from it")

    def expect(self, what: str, *, seen: bool) -> None:
        if not seen:
            raise WrongError(
                f"{self.node}: expected that {what}; its BMC got {self.orders()}\n{self.cell.reported()}"
            )

    def evaluate(self) -> None:
        """Check the properties that hold in every round."""
        register = self.cell.register
        for release in self.releases():
            if late := register.after(release, self.boot):
                raise WrongError(f"{self.node} wrote {late[-1].seconds - release:.2f} s after its release")
        if both := register.returns():
            raise WrongError(f"two had the workload at once: {both[0]}")
        if left := self.cell.leftovers():
            raise WrongError(f"left behind: {left}")


Play = Callable[[Round], None]


@dataclass(frozen=True, slots=True)
class Story:
    name: str
    play: Play


def stories_of(plays: Sequence[Play]) -> list[Story]:
    """Stories named like their functions."""
    return [Story(play.__name__.replace("_", " "), play) for play in plays]


def host_path(node: str) -> str:
    return f"{HOSTS}/{node}"
