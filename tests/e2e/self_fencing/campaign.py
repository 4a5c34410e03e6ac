"""Many concurrent histories, in waves, in one cluster whose managers and API server have their own faults."""

import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.e2e.self_fencing.cluster import Cluster
from tests.e2e.self_fencing.faults import choose
from tests.e2e.self_fencing.history import End, History, WrongError
from tests.e2e.self_fencing.host import boottime

FAULT_INTERVAL: Final = (8.0, 30.0)
"""Seconds between faults of managers and API server."""
FAULTS_PER_WAVE: Final = 2
"""Too many manager restarts would prevent every proof: a manager has to lead for some time."""


@dataclass
class Campaign:
    """`byzantine_peer` gets no faults: it is the one Byzantine peer in every node's list."""

    cluster: Cluster
    seed: str
    byzantine_peer: str
    say: Callable[[str], None]
    played: int = 0
    wrong: list[str] = field(default_factory=list)
    resets: int = 0
    margins: list[float] = field(default_factory=list)
    ends: Counter[End] = field(default_factory=Counter)

    def play(self, histories: int) -> None:
        while self.played < histories and not self.wrong:
            self._wave(histories - self.played)

    def _wave(self, at_most: int) -> None:
        cluster = self.cluster
        names = list(cluster.hosts)
        cluster.until("all are well", lambda: all(cluster.is_well(name) for name in names))
        before = boottime()
        victims = self._choose(at_most)
        others = [name for name in names if name not in victims]
        histories = [
            History(cluster, node, others[number % len(others)], choose(self.seed, self.played + number))
            for number, node in enumerate(victims)
        ]
        over = threading.Event()
        with ThreadPoolExecutor(len(victims) + 1) as hands:
            failures = hands.submit(self._fail_leaders, over)
            ended = list(hands.map(_play, histories))
            over.set()
            failures.result()
        self._count(histories, ended)
        astray = {name for name, at in cluster.resets() if at > before and name in others}
        if astray:
            self.wrong.append(f"{sorted(astray)} were reset, whom nothing was done to")

    def _choose(self, at_most: int) -> list[str]:
        """Nodes to fail, at most so many that each of them keeps enough peers."""
        chance = Random(f"{self.seed}/{self.played}")
        names = [name for name in self.cluster.hosts if name != self.byzantine_peer]
        chosen: list[str] = []
        for name in chance.sample(names, len(names)):
            more = [*chosen, name]
            if len(more) <= at_most and all(self.cluster.spare_peers(one, more) for one in more):
                chosen = more
        if not chosen:
            raise WrongError("nobody has enough peers")
        return chosen

    def _count(self, histories: list[History], ended: list[str]) -> None:
        for number, (history, wrong) in enumerate(zip(histories, ended, strict=True), self.played):
            reported = f"WRONG: {wrong}" if wrong else _reported(history)
            self.say(f"{number} {history.node}: {history.plan}: {reported}")
            self.wrong += [wrong] if wrong else []
            self.resets += len(history.resets)
            self.margins += history.margins
            self.ends.update([history.end] if history.end else [])
        self.played += len(histories)

    def _fail_leaders(self, over: threading.Event) -> None:
        chance = Random(f"{self.seed}/{self.played}/in charge")
        for _ in range(FAULTS_PER_WAVE):
            if over.wait(chance.uniform(*FAULT_INTERVAL)):
                break
            chance.choice(FAULTS)(self.cluster, chance)


def _play(history: History) -> str:
    """Play it, and return its fault; empty if it succeeded."""
    try:
        history.play()
    except (WrongError, TimeoutError) as error:
        return f"{error}\n{history.cluster.reported(history.node)}"
    except Exception:  # noqa: BLE001 - a bug of the history itself, with its traceback
        return traceback.format_exc()
    return ""


def _reported(history: History) -> str:
    resets = ", ".join(f"{at:.0f}" for at in history.resets)
    margins = ", ".join(f"{margin:.1f}" for margin in history.margins)
    released = f", {margins} s after its end" if margins else ""
    return f"{history.end or 'not asked for'}{released}; reset after {resets or '-'} s"


def _kill_manager(cluster: Cluster, chance: Random) -> None:
    cluster.kill_manager(chance.uniform(0.0, 6.0))


def _pause_manager(cluster: Cluster, chance: Random) -> None:
    cluster.manager.pause()
    time.sleep(chance.uniform(1.0, 12.0))
    cluster.manager.resume()


def _pause_api(cluster: Cluster, chance: Random) -> None:
    """A pause short enough that no node has to ask its peers."""
    cluster.plane.pause("kube-apiserver")
    time.sleep(chance.uniform(0.5, 4.0))
    cluster.plane.resume("kube-apiserver")


FAULTS: Final[tuple[Callable[[Cluster, Random], None], ...]] = (_kill_manager, _pause_manager, _pause_api)
