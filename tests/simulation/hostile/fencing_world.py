"""One seed of nodes that fence themselves, with hostile faults beside those that it always has."""

from collections import Counter
from random import Random
from typing import Final

from nodemend.api.group_versions import SELF_REMEDIATION
from tests.simulation.fencing.surroundings import BrokenError
from tests.simulation.hostile import caches, clocks, outages, rights, versions
from tests.simulation.hostile.drawing import Only, Plans, Run, begin, has_policies
from tests.simulation.hostile.fencing_truth import HostileFencingInvariants
from tests.simulation.hostile.hostile_nodes import HostileNode
from tests.simulation.hostile.kinds import Kind, Tally
from tests.simulation.hostile.neighbours import Neighbours
from tests.simulation.hostile.policies import Policies
from tests.simulation.hostile.restores import Restores
from tests.simulation.hostile.surroundings import Around, surround
from tests.simulation.settling import InvariantBrokenError, nothing_failed_unseen
from tests.simulation.shipped_fencing.cluster import Cluster
from tests.simulation.shipped_fencing.faults import BEGIN, LASTS, Faults, draw_quality
from tests.simulation.shipped_fencing.run import lose_one_more, settle

NAME: Final = "fencing"
NODES: Final = 5


def play_fencing(seed: int, *, keep_trace: bool, only: Only) -> Run:
    tally, chance = Tally(), Random(f"hostile fencing {seed}")
    policies, proven = Policies(tally), has_policies(seed, only)
    judge = HostileFencingInvariants(policies)
    cluster = Cluster(
        f"hostile {seed}",
        nodes=NODES,
        quality=draw_quality(chance),
        invariants=judge,
        admission=policies.admission if proven else {},
        keep_trace=keep_trace,
    )
    around = surround(
        cluster.world,
        tally,
        kinds=(SELF_REMEDIATION,),
        ceases=BEGIN + LASTS - 1.0,
        before=judge.remember,
        heard=judge.saw_read,
    )
    if proven:
        policies.begin(around)
    faults = Faults(cluster, chance)
    faults.on_restored = judge.restored
    begin(around, _plans(around, cluster, judge, faults), only)
    faults.plan()
    broken = ""
    try:
        cluster.run(BEGIN + LASTS)
        if settle(cluster, strict=not faults.restored):
            judge.checked["I13"] += 1
            lose_one_more(cluster, chance.choice(list(cluster.nodes)))
        nothing_failed_unseen(cluster.world.replicas)
    except (InvariantBrokenError, BrokenError) as error:
        broken = str(error)
    return _shown(seed, broken, cluster, judge, tally)


def _plans(around: Around, cluster: Cluster, judge: HostileFencingInvariants, faults: Faults) -> Plans:
    def lie() -> None:
        name = around.chance.choice(around.nodes)
        judge.attribution.liars.add(name)
        HostileNode(around, name).plan()

    def restored() -> None:
        faults.restored = True
        judge.restored()

    return {
        Kind.STALE: lambda: caches.plan(around),
        Kind.NEIGHBOURS: Neighbours(around).plan,
        Kind.NODES: lie,
        Kind.RESTORES: Restores(around, restored).plan,
        Kind.RIGHTS: lambda: rights.plan(around),
        Kind.OUTAGES: lambda: outages.plan(around),
        Kind.CLOCKS: lambda: clocks.plan(around),
        Kind.VERSIONS: lambda: versions.plan(around),
    }


def _shown(seed: int, broken: str, cluster: Cluster, judge: HostileFencingInvariants, tally: Tally) -> Run:
    cluster.close()
    trace = cluster.scheduler.trace
    checked = judge.checked + Counter({"I10": cluster.counts["lease looked at before a ping"]})
    return Run(
        seed,
        NAME,
        broken,
        judge.releases.total(),
        checked,
        tally.made,
        tally.effective,
        trace.digest,
        cluster.scheduler.requests.digests,
        tuple(trace.lines),
    )
