"""One seed: every other one is directed at one danger, the rest draw their mix of faults."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Final

from nodemend.api.group_versions import SELF_REMEDIATION
from nodemend.testing.request_log import RequestDigests
from tests.simulation.fencing.surroundings import BrokenError
from tests.simulation.settling import InvariantBrokenError, nothing_failed_unseen
from tests.simulation.shipped_fencing.cluster import Cluster
from tests.simulation.shipped_fencing.directed import Directed, LongestLife
from tests.simulation.shipped_fencing.faults import BEGIN, LASTS, Faults, draw_quality
from tests.simulation.shipped_fencing.lost_promises import Restored, StaleCache, StandsDown
from tests.simulation.shipped_fencing.more_faults import MoreFaults
from tests.simulation.shipped_fencing.peer_dangers import (
    Liar,
    LooksFail,
    PeersChange,
    PeersCutOff,
    Unacknowledged,
)

SETTLES_WITHIN: Final = 900.0
LOOKS_EVERY: Final = 20.0
STAYS_WELL: Final = 60.0
ONE_MORE_SHARE: Final = 0.5
"""Of seeds of mixed faults in which, when all is well again, a node is lost and nothing else goes wrong."""
RELEASED_WITHIN: Final = 150.0
"""Of its loss: that it is silent must be noticed first, and then it has its safe time."""
MIXED: Final = "Mixed"
FAMILIES: Final[tuple[type[Directed], ...]] = (
    LongestLife,
    LooksFail,
    Unacknowledged,
    LongestLife,
    PeersCutOff,
    PeersChange,
    LongestLife,
    Liar,
    StandsDown,
    Restored,
    StaleCache,
)
"""Every other seed is of one of these, in turns."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a seed showed."""

    seed: int
    kind: str
    broken: str
    counts: Counter[str]
    releases: Counter[str]
    margins: tuple[float, ...]
    requests: RequestDigests
    lines: tuple[str, ...] = field(default=())


def play(seed: int, *, keep_trace: bool = False) -> Run:
    number, mixed = divmod(seed, 2)
    return _play_mixed(seed, keep_trace) if mixed else _play_directed(seed, number, keep_trace)


def _play_directed(seed: int, number: int, keep_trace: bool) -> Run:
    family = FAMILIES[number % len(FAMILIES)]
    directed = family(seed, keep_trace=keep_trace)
    broken = ""
    try:
        directed.play()
        nothing_failed_unseen(directed.cluster.world.replicas)
    except (InvariantBrokenError, BrokenError) as error:
        broken = str(error)
    return _told(seed, type(directed).__name__, broken, directed.cluster)


def _play_mixed(seed: int, keep_trace: bool) -> Run:
    chance = Random(f"mixed {seed}")
    cluster = Cluster(f"mixed {seed}", nodes=5, quality=draw_quality(chance), keep_trace=keep_trace)
    faults = Faults(cluster, chance)
    faults.plan()
    MoreFaults(cluster, seed).plan()
    broken = ""
    try:
        cluster.run(BEGIN + LASTS)
        steady = settle(cluster, strict=not faults.restored)
        if steady and chance.random() < ONE_MORE_SHARE:
            lose_one_more(cluster, chance.choice(list(cluster.nodes)))
            cluster.network.cut = set()
            settle(cluster, strict=True)
        nothing_failed_unseen(cluster.world.replicas)
    except (InvariantBrokenError, BrokenError) as error:
        broken = str(error)
    return _told(seed, MIXED, broken, cluster)


def lose_one_more(cluster: Cluster, name: str) -> None:
    """I13: whatever was before, one that nobody hears is released in time. I9: nobody else ends."""
    boots = {node: one.boot_id for node, one in cluster.nodes.items()}
    by_time = cluster.invariants.releases["E4"]
    cluster.counts["one more is lost"] += 1
    cluster.isolate(name)
    cluster.run(RELEASED_WITHIN)
    if cluster.invariants.releases["E4"] == by_time and not _is_proven_empty(cluster, name):
        raise InvariantBrokenError(f"I13: {name} is not released within {RELEASED_WITHIN:.0f} s of its loss")
    if ended := [one for one, boot in boots.items() if one != name and cluster.nodes[one].boot_id != boot]:
        raise InvariantBrokenError(f"I9: {', '.join(ended)} ended when {name} was lost")


def _is_proven_empty(cluster: Cluster, name: str) -> bool:
    """A node on which nothing runs is released without a taint, on the same evidence."""
    told = [one.get("status", {}) for one in cluster.api.list(SELF_REMEDIATION)]
    return any(
        one.get("nodeName") == name and one.get("released") and one["evidence"]["class"] == "E4"
        for one in told
    )


def settle(cluster: Cluster, *, strict: bool) -> bool:
    """I14. After a restore of etcd a person may be needed: then it is only watched for as long."""
    by, well_since = cluster.scheduler.now + SETTLES_WITHIN, -1.0
    last = InvariantBrokenError("I14: never looked at")
    while cluster.scheduler.now < by:
        cluster.run(LOOKS_EVERY)
        try:
            cluster.invariants.settled()
        except InvariantBrokenError as error:
            well_since, last = -1.0, error
            continue
        if well_since < 0:
            well_since = cluster.scheduler.now
        if cluster.scheduler.now - well_since >= STAYS_WELL:
            return True
    if strict:
        raise last
    return False


def _told(seed: int, kind: str, broken: str, cluster: Cluster) -> Run:
    cluster.close()
    invariants, trace = cluster.invariants, cluster.scheduler.trace
    if broken:
        cluster.tell(broken)
    return Run(
        seed,
        kind,
        broken,
        Counter(cluster.counts),
        Counter(invariants.releases),
        tuple(invariants.margins),
        cluster.scheduler.requests.digests,
        tuple(trace.lines),
    )
