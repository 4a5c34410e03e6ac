"""One seed: every other one is directed at one danger, the rest have mixed faults."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Final

from nodemend.api.resources import SELF_REMEDIATION
from simulation.request_log import RequestDigests
from tests.simulation.convergence import InvariantBrokenError, nothing_failed_unseen
from tests.simulation.self_fencing.fencing_cluster import BrokenError
from tests.simulation.self_fencing_nodes.backups import EvidenceFromBackup
from tests.simulation.self_fencing_nodes.changed_leases import Copied, LeaseLost, MarkerTakenOff
from tests.simulation.self_fencing_nodes.cluster import Cluster
from tests.simulation.self_fencing_nodes.counting import (
    CertificatesLost,
    GatesWait,
    HalfLost,
    LateReads,
    LateWords,
    LongOutage,
    SlewedClocks,
)
from tests.simulation.self_fencing_nodes.directed import Directed, LongestLife
from tests.simulation.self_fencing_nodes.faults import BEGIN, LASTS, Faults, draw_quality
from tests.simulation.self_fencing_nodes.feeders import (
    FeederStopped,
    GateOverridden,
    LongerFeeder,
    StaleRenewal,
)
from tests.simulation.self_fencing_nodes.limits import PolicyWithdrawn, SlowEviction, TwoAtOnce
from tests.simulation.self_fencing_nodes.lost_promises import Restored, StaleCache, StandsDown
from tests.simulation.self_fencing_nodes.more_faults import MoreFaults
from tests.simulation.self_fencing_nodes.peer_dangers import (
    Liar,
    LooksFail,
    PeersChange,
    PeersCutOff,
    Unacknowledged,
)
from tests.simulation.self_fencing_nodes.withdrawn import Orphaned, Withdrawn

SETTLES_WITHIN: Final = 900.0
POLL_INTERVAL: Final = 20.0
STAYS_WELL: Final = 60.0
ONE_MORE_SHARE: Final = 0.5
"""Share of seeds with mixed faults in which, after the world has settled, only one node is isolated."""
RELEASED_WITHIN: Final = 150.0
"""Seconds from its loss: its silence must be noticed first, then its safe time passes."""
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
    EvidenceFromBackup,
    MarkerTakenOff,
    LeaseLost,
    Copied,
    Withdrawn,
    Orphaned,
    SlewedClocks,
    LateWords,
    LateReads,
    LongOutage,
    HalfLost,
    CertificatesLost,
    GatesWait,
    LongerFeeder,
    FeederStopped,
    GateOverridden,
    StaleRenewal,
    PolicyWithdrawn,
    TwoAtOnce,
    SlowEviction,
)
"""Families of directed seeds, used in turn."""


@dataclass(frozen=True, slots=True)
class Run:
    """Result of one seed."""

    seed: int
    kind: str
    broken: str
    counts: Counter[str]
    releases: Counter[str]
    margins: tuple[float, ...]
    requests: RequestDigests | None
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
    return _reported(seed, directed.family, broken, directed.cluster)


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
    return _reported(seed, MIXED, broken, cluster)


def lose_one_more(cluster: Cluster, name: str) -> None:
    """Check I13: after any faults, an isolated node is released in time; and I9: no other node ends."""
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
    """Return whether a node was released on the same evidence without a taint, as nothing runs on it."""
    reported = [one.get("status", {}) for one in cluster.api.list(SELF_REMEDIATION)]
    return any(
        one.get("nodeName") == name and one.get("released") and one["evidence"]["class"] == "E4"
        for one in reported
    )


def settle(cluster: Cluster, *, strict: bool) -> bool:
    """Check I14; return True if the world settles. Raises InvariantBrokenError otherwise, if `strict`.

    After a restore of etcd an operator may be needed: then the run only waits for the same time.
    """
    by, well_since = cluster.scheduler.now + SETTLES_WITHIN, -1.0
    last = InvariantBrokenError("I14: never looked at")
    while cluster.scheduler.now < by:
        cluster.run(POLL_INTERVAL)
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


def _reported(seed: int, kind: str, broken: str, cluster: Cluster) -> Run:
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
