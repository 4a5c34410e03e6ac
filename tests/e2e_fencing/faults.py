"""What may happen to one node, and what may come of it. Tables, and a choice by seed."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

from tests.e2e_fencing.cluster import Cluster
from tests.e2e_fencing.host import FOR_EVER

LATE: Final = (40.0, 55.0)
"""After it has ended, and before time can have proven anything."""
ASKED: Final = (-3.0, 20.0)
"""Seconds after the fault, at which a check asks for a remediation; before it, where below zero."""
OFF_FOR: Final = (2.0, 8.0, 20.0)
"""Seconds that a machine takes from its reset to its next boot."""


class Heals(StrEnum):
    IN_TIME = "healed in time"
    LATE = "healed late"
    AT_RESET = "healed at its reset"
    AT_RELEASE = "healed after its release"


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    strike: Callable[[Cluster, str], None]
    fatal: bool
    """Whether the node ends by it alone, unless it heals in time."""
    in_time: tuple[float, float] = (3.0, 12.0)
    """Seconds in which it may heal well before it ends the node: before its feed lease is over."""


def _cut_off(cluster: Cluster, node: str) -> None:
    cluster.networks.cut_off(node)


def _lose_api(cluster: Cluster, node: str) -> None:
    cluster.networks.cut_api(node)


def _lose_all_answers(cluster: Cluster, node: str) -> None:
    cluster.networks.cut_api(node)
    cluster.networks.silence(node, [name for name in cluster.hosts if name != node])


def _kill_agent(cluster: Cluster, node: str) -> None:
    cluster.hosts[node].kill_agent(FOR_EVER)


def _restart_agent(cluster: Cluster, node: str) -> None:
    cluster.hosts[node].kill_agent(3.0)


def _pause_agent(cluster: Cluster, node: str) -> None:
    if (process := cluster.hosts[node].agent.process) is not None:
        process.pause()


def _pause_feeder(cluster: Cluster, node: str) -> None:
    if (boot := cluster.hosts[node].boot) is not None:
        boot.feeder.pause()


def _kill_feeder(cluster: Cluster, node: str) -> None:
    cluster.hosts[node].kill_feeder()


def _nothing(_cluster: Cluster, _node: str) -> None:
    pass


FAULTS: Final = (
    Fault("cut off", _cut_off, fatal=True),
    Fault("without the API", _lose_api, fatal=False),
    Fault("its agent killed", _kill_agent, fatal=False),
    Fault("without an answer from anybody", _lose_all_answers, fatal=True),
    Fault("its feeder paused", _pause_feeder, fatal=True, in_time=(1.0, 5.0)),
    Fault("its agent paused", _pause_agent, fatal=False),
    Fault("its agent restarted", _restart_agent, fatal=False),
    Fault("its feeder killed", _kill_feeder, fatal=False),
    Fault("nothing the matter", _nothing, fatal=False),
)


def heal(cluster: Cluster, node: str) -> None:
    """Whatever it was that struck it."""
    cluster.networks.mend(node)
    host = cluster.hosts[node]
    host.agent_back_at = 0.0
    boot = host.boot
    for process in (host.agent.process, boot.feeder if boot else None):
        if process is not None and process.running:
            process.resume()


@dataclass(frozen=True, slots=True)
class Plan:
    fault: Fault
    asked_after: float | None
    """None: nobody asks."""
    heals: Heals
    heals_after: float
    """Where it heals by the clock."""
    off_for: float

    @property
    def may_reset(self) -> bool:
        """It must, once it is marked, or when nobody vouches for it for long enough."""
        return self.asked_after is not None or (self.fault.fatal and self.heals is not Heals.IN_TIME)

    def __str__(self) -> str:
        asked = "not asked for" if self.asked_after is None else f"asked for {self.asked_after:.0f} s after"
        return f"{self.fault.name}, {asked}, {self.heals}"


def choose(seed: str, number: int) -> Plan:
    """Each fault in turn, the rest by chance. Four of five are asked for by a check."""
    chance = Random(f"{seed}/{number}")
    fault = FAULTS[number % len(FAULTS)]
    asked = chance.uniform(*ASKED) if chance.random() < 0.8 else None
    # Without a remediation nothing is released; what does not end the node is over by itself.
    ways = list(Heals)[: 4 if asked is not None else 3 if fault.fatal else 2]
    heals = chance.choice(ways)
    after = chance.uniform(*(fault.in_time if heals is Heals.IN_TIME else LATE))
    return Plan(fault, asked, heals, after, chance.choice(OFF_FOR))
