"""Rounds with two remediators, of which the leader is suspended and wakes up beside its successor."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from controlplane.rounds import Rounds
from controlplane.waiting import wait_until
from tests.e2e.power.real_cluster import LEASES, REMEDIATOR, Stage
from tests.e2e.power.round import Round, Story

PHASES: Final = ("pending", "power-off", "release", "power-on")
MIN_READY: Final = 10.0
"""Seconds, as in the chart: a new replica watches this long before the other one may stop."""


class Rivals:
    """Two replicas."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.turn = threading.Lock()
        """Held by the one round whose leader is suspended."""
        self._replicas = {f"{REMEDIATOR}-{n}": stage.start_remediator(replica=n) for n in (0, 1)}

    def leader(self) -> str:
        lease = self._stage.plane.api.find(f"{LEASES}/{REMEDIATOR}") or {"spec": {}}
        # A restarted program is another candidate: its name has a random suffix.
        return str(lease["spec"].get("holderIdentity", "")).partition("_")[0]

    def until_ready(self) -> None:
        """Wait until one leads and the other one has watched it for as long as a rollout would wait."""
        wait_until("one leads", lambda: self.leader() in self._replicas, within=60.0)
        time.sleep(MIN_READY)

    def take_turns(self) -> None:
        """Suspend the leader until the other replica leads, and resume it then.

        Returns when two replicas run again: if both were lost at once, all memory of their actions would be
        lost.
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
        """Restart exited replicas as a kubelet does: one that wakes up without its leadership exits, by
        design.
        """
        for process in self._replicas.values():
            if process.gave_up:
                process.start()

    def end(self) -> None:
        for process in self._replicas.values():
            process.end()


@contextmanager
def rivalling(stage: Stage) -> Iterator[Rivals]:
    competitors = Rivals(stage)
    keep_rounds = Rounds("keeper", competitors.keep)
    try:
        competitors.until_ready()
        yield competitors
    finally:
        keep_rounds.close()
        competitors.end()


def falls_asleep(round_: Round, competitors: Rivals, phase: str) -> None:
    """The result is as if one leader had done it: the next one remembers the actions of the last (decision
    59).
    """
    with competitors.turn:
        round_.fall_silent()
        round_.until_phase(*PHASES[PHASES.index(phase) :])
        competitors.take_turns()
    round_.until_healed()
    round_.expect("it was switched off once, and on once", seen=round_.switches() == ["off", "on"])
    round_.expect("it was released once", seen=len(round_.releases()) == 1)


def stories(competitors: Rivals, every: int) -> list[Story]:
    return [
        Story(f"leader falls asleep in {phase}", partial(falls_asleep, competitors=competitors, phase=phase))
        for phase in PHASES[::every]
    ]
