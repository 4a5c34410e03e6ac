"""Faults of one node, and their possible outcomes: tables, and a choice by seed."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

from tests.e2e.self_fencing.cluster import Cluster
from tests.e2e.self_fencing.host import FOR_EVER

LATE: Final = (40.0, 55.0)
"""After it has ended, and before time can have proved anything."""
ASKED: Final = (-3.0, 20.0)
"""Seconds after the fault at which a check creates a remediation; negative is before the fault."""
HANGS_BEFORE: Final = (0.0, 24.0)
"""Seconds before the fault at which a kubelet hangs.

With the longest, a request is followed at the moment of the fault, when the node has all of its feed lease
left.
"""
STAYS_WELL: Final = 0.25
"""The fraction of remediated nodes with contact to the API server whose kubelet stays healthy."""
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
    inject: Callable[[Cluster, str], None]
    fatal: bool
    """True if the node ends by the fault alone, unless it heals in time."""
    in_time: tuple[float, float] = (3.0, 12.0)
    """Seconds in which it may heal before it ends the node: before its feed lease is over."""
    silences: bool = False
    """True if the API server gets nothing more from the node: its kubelet is silent, too."""


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


def hang_kubelet(cluster: Cluster, node: str) -> None:
    """Hang it for the rest of this boot. Its pods continue."""
    if (boot := cluster.hosts[node].boot) is not None:
        cluster.kubelets.hung.add(boot.id)


def _nothing(_cluster: Cluster, _node: str) -> None:
    pass


FAULTS: Final = (
    Fault("cut off", _cut_off, fatal=True, silences=True),
    Fault("without the API", _lose_api, fatal=False, silences=True),
    Fault("its agent killed", _kill_agent, fatal=False),
    Fault("without an answer from anybody", _lose_all_answers, fatal=True, silences=True),
    Fault("its feeder paused", _pause_feeder, fatal=True, in_time=(1.0, 5.0)),
    Fault("its agent paused", _pause_agent, fatal=False),
    Fault("its agent restarted", _restart_agent, fatal=False),
    Fault("its feeder killed", _kill_feeder, fatal=False),
    Fault("nothing the matter", _nothing, fatal=False),
)


def heal(cluster: Cluster, node: str) -> None:
    """Undo the node's fault, for every kind of fault."""
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
    """None: no remediation is created."""
    heals: Heals
    heals_after: float
    """Seconds, if it heals by the clock."""
    off_for: float
    hangs_before: float | None = None
    """Seconds before the fault at which its kubelet hangs, until the node's next boot. None: it does not."""

    @property
    def stays_well(self) -> bool:
        """True if it is remediated while Ready with a renewing kubelet: the request is held."""
        return self.asked_after is not None and self.hangs_before is None and not self.fault.silences

    @property
    def may_reset(self) -> bool:
        """True if it must end once it is marked, or when no peer confirms it for long enough."""
        sick = self.asked_after is not None and not self.stays_well
        return sick or (self.fault.fatal and self.heals is not Heals.IN_TIME)

    @property
    def proven_by_time(self) -> bool:
        """True if it is unhealthy, and its next boot does not report before its release."""
        return self.asked_after is not None and self.fault.silences and self.heals is Heals.AT_RELEASE

    def __str__(self) -> str:
        asked = "not asked for" if self.asked_after is None else f"asked for {self.asked_after:.0f} s after"
        kubelet = ", its kubelet well" if self.stays_well else ""
        if self.hangs_before is not None:
            kubelet = f", its kubelet hung {self.hangs_before:.0f} s before"
        return f"{self.fault.name}{kubelet}, {asked}, {self.heals}"


def choose(seed: str, number: int) -> Plan:
    """Each fault in turn, the rest by seeded chance. A check remediates four of five."""
    chance = Random(f"{seed}/{number}")
    fault = FAULTS[number % len(FAULTS)]
    asked = chance.uniform(*ASKED) if chance.random() < 0.8 else None
    stays_well = asked is not None and not fault.silences and chance.random() < STAYS_WELL
    heals = chance.choice(_ways(fault, asked=asked is not None, stays_well=stays_well))
    after = chance.uniform(*(fault.in_time if heals is Heals.IN_TIME else LATE))
    # A node that is silent for some seconds only would be healthy again before any reaction.
    silent = fault.silences and heals is not Heals.IN_TIME and chance.random() < 0.5
    hangs = chance.uniform(*HANGS_BEFORE) if asked is not None and not stays_well and not silent else None
    return Plan(fault, asked, heals, after, chance.choice(OFF_FOR), hangs)


def _ways(fault: Fault, *, asked: bool, stays_well: bool) -> list[Heals]:
    """Without a remediation nothing is released; a fault that does not end the node heals by itself."""
    ways = list(Heals)
    if stays_well:
        return ways[: 1 if fault.fatal else 2]
    if not asked:
        return ways[: 3 if fault.fatal else 2]
    # More cases that only time can prove.
    return [*ways, Heals.AT_RELEASE, Heals.AT_RELEASE] if fault.silences else ways
