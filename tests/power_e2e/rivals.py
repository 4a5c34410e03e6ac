"""Rounds with two remediators, of which the one that leads falls asleep and wakes up beside its successor."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from controlplane.rounds import Rounds
from controlplane.waiting import wait_until
from tests.power_e2e.round import Round, Story
from tests.power_e2e.stage import LEASES, REMEDIATOR, Stage

PHASES: Final = ("pending", "power-off", "release", "power-on")
MIN_READY: Final = 10.0
"""Seconds, as in the chart: so long a new replica watches before the other one may go."""


class Rivals:
    """Two replicas."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.turn = threading.Lock()
        """Held by the one round whose leader falls asleep."""
        self._replicas = {f"{REMEDIATOR}-{n}": stage.start_remediator(replica=n) for n in (0, 1)}

    def leader(self) -> str:
        lease = self._stage.plane.api.find(f"{LEASES}/{REMEDIATOR}") or {"spec": {}}
        # A program that starts anew is another candidate: behind its name stands something of chance.
        return str(lease["spec"].get("holderIdentity", "")).partition("_")[0]

    def take_turns(self) -> None:
        """The one that leads sleeps until the other does, and wakes up then.

        Over when there are two again: if both are lost at once, nobody remembers what they did.
        """
        name = self.leader()
        process = self._replicas[name]
        before = process.pid
        process.pause()
        try:
            wait_until("another one leads", lambda: self.leader() not in ("", name), within=60.0)
        finally:
            process.resume()
        wait_until("it is started anew", lambda: process.pid != before, within=60.0)
        time.sleep(MIN_READY)

    def keep(self) -> None:
        """Start again who has ended, as a kubelet does: one that wakes up deposed leaves, by design."""
        for process in self._replicas.values():
            if process.gave_up:
                process.start()

    def end(self) -> None:
        for process in self._replicas.values():
            process.end()


@contextmanager
def rivalling(stage: Stage) -> Iterator[Rivals]:
    rivals = Rivals(stage)
    keeper = Rounds("keeper", rivals.keep)
    try:
        yield rivals
    finally:
        keeper.close()
        rivals.end()


def falls_asleep(round_: Round, rivals: Rivals, phase: str) -> None:
    """It is as if one had done it: the next leader remembers what the last one did (decision 59)."""
    with rivals.turn:
        round_.fall_silent()
        round_.until_phase(*PHASES[PHASES.index(phase) :])
        rivals.take_turns()
    round_.until_healed()
    round_.expect("it was switched off once, and on once", seen=round_.orders() == ["off", "on"])
    round_.expect("it was released once", seen=len(round_.releases()) == 1)


def stories(rivals: Rivals, every: int) -> list[Story]:
    return [
        Story(f"leader falls asleep in {phase}", partial(falls_asleep, rivals=rivals, phase=phase))
        for phase in PHASES[::every]
    ]
