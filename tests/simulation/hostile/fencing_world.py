"""One seed of self-fencing nodes, with hostile faults in addition to the usual ones."""

from collections import Counter
from random import Random
from typing import Final

from nodemend.api.resources import SELF_REMEDIATION
from tests.simulation.convergence import InvariantBrokenError, nothing_failed_unseen
from tests.simulation.hostile import caches, clocks, outages, rights, versions
from tests.simulation.hostile.drawing import Only, Plans, Run, begin, has_policies
from tests.simulation.hostile.external_controllers import ExternalControllers
from tests.simulation.hostile.fault_context import Around, surround
from tests.simulation.hostile.fencing_truth import HostileFencingInvariants
from tests.simulation.hostile.hostile_nodes import HostileNode
from tests.simulation.hostile.kinds import Counts, Kind
from tests.simulation.hostile.policies import Policies
from tests.simulation.hostile.restores import Restores
from tests.simulation.self_fencing.fencing_cluster import BrokenError
from tests.simulation.self_fencing_nodes.cluster import Cluster
from tests.simulation.self_fencing_nodes.faults import BEGIN, LASTS, Faults, draw_quality
from tests.simulation.self_fencing_nodes.run import lose_one_more, settle

NAME: Final = "fencing"
NODES: Final = 5


def play_fencing(seed: int, *, keep_trace: bool, only: Only) -> Run:
    counts, chance = Counts(), Random(f"hostile fencing {seed}")
    policies, proven = Policies(counts), has_policies(seed, only)
    evaluate = HostileFencingInvariants(policies)
    cluster = Cluster(
        f"hostile {seed}",
        nodes=NODES,
        quality=draw_quality(chance),
        invariants=evaluate,
        admission=policies.admission if proven else {},
        keep_trace=keep_trace,
    )
    around = surround(
        cluster.world,
        counts,
        kinds=(SELF_REMEDIATION,),
        ceases=BEGIN + LASTS - 1.0,
        before=evaluate.remember,
        heard=evaluate.saw_read,
    )
    if proven:
        policies.begin(around)
    faults = Faults(cluster, chance)
    faults.on_restored = evaluate.restored
    begin(around, _plans(around, cluster, evaluate, faults), only)
    faults.plan()
    broken = ""
    try:
        cluster.run(BEGIN + LASTS)
        if settle(cluster, strict=not faults.restored):
            evaluate.checked["I13"] += 1
            lose_one_more(cluster, chance.choice(list(cluster.nodes)))
        nothing_failed_unseen(cluster.world.replicas)
    except (InvariantBrokenError, BrokenError) as error:
        broken = str(error)
    return _shown(seed, broken, cluster, evaluate, counts)


def _plans(around: Around, cluster: Cluster, evaluate: HostileFencingInvariants, faults: Faults) -> Plans:
    def lie() -> None:
        name = around.chance.choice(around.nodes)
        evaluate.attribution.byzantine_peers.add(name)
        HostileNode(around, name).plan()

    def restored() -> None:
        faults.restored = True
        evaluate.restored()

    return {
        Kind.STALE: lambda: caches.plan(around),
        Kind.EXTERNAL_CONTROLLERS: ExternalControllers(around).plan,
        Kind.NODES: lie,
        Kind.RESTORES: Restores(around, restored).plan,
        Kind.RIGHTS: lambda: rights.plan(around),
        Kind.OUTAGES: lambda: outages.plan(around),
        Kind.CLOCKS: lambda: clocks.plan(around),
        Kind.VERSIONS: lambda: versions.plan(around),
    }


def _shown(
    seed: int, broken: str, cluster: Cluster, evaluate: HostileFencingInvariants, counts: Counts
) -> Run:
    cluster.close()
    trace = cluster.scheduler.trace
    checked = evaluate.checked + Counter({"I10": cluster.counts["lease looked at before a ping"]})
    return Run(
        seed,
        NAME,
        broken,
        evaluate.releases.total(),
        checked,
        counts.made,
        counts.effective,
        trace.digest,
        cluster.scheduler.requests.digests,
        tuple(trace.lines),
    )
