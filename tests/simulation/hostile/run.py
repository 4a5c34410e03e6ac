"""One seed of one world, with hostile faults in addition to the usual ones."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from nodemend.api import well_known
from nodemend.api.resources import MANUAL_REMEDIATION, METAL3_REMEDIATION
from simulation.api_server.admission import User
from simulation.cluster.direct import Direct
from simulation.cluster.world import Account, World
from simulation.metal3.rack import Rack
from tests.simulation.beside import Beside, SettleBy
from tests.simulation.checks import run as checks
from tests.simulation.checks.faults import FAULTS_CEASE as CHECKS_CEASE
from tests.simulation.checks.world import ChecksWorld
from tests.simulation.hostile import caches, clocks, clusters, outages, rights, two_kinds, versions
from tests.simulation.hostile.checks_external_controllers import CheckedNeighbours
from tests.simulation.hostile.checks_truth import HostileChecksInvariants
from tests.simulation.hostile.drawing import Only, Plans, Run, begin, has_policies
from tests.simulation.hostile.external_controllers import ExternalControllers
from tests.simulation.hostile.fault_context import Around, stand_between, surround
from tests.simulation.hostile.fencing_world import play_fencing
from tests.simulation.hostile.hostile_nodes import HostileNode
from tests.simulation.hostile.kinds import Counts, Kind
from tests.simulation.hostile.policies import Policies
from tests.simulation.hostile.restores import Restores
from tests.simulation.hostile.self_fencing import SelfFencing
from tests.simulation.hostile.truth import HostileInvariants, HostilePowerInvariants
from tests.simulation.power import run as power
from tests.simulation.self_fencing_nodes import run as shipped_fencing
from tests.simulation.walking_path import run as walking_path
from tests.simulation.walking_path.faults import FAULTS_CEASE

FOR_HOURS: Final = 0.15
"""Share of seeds with outages in which one outage lasts hours."""
SETTLES_WITHIN: Final = 6000.0
AnyRun = walking_path.Run | power.Run | checks.Run | shipped_fencing.Run
WORLDS: Final = ("walking_path", "power", "checks", "fencing")


def play(seed: int, *, keep_trace: bool = False, only: Only = ()) -> Run:
    """Run seed n in world n modulo the number of worlds. `only` restricts the kinds of faults."""
    return PLAYS[WORLDS[seed % len(WORLDS)]](seed, keep_trace=keep_trace, only=only)


def _play_walking_path(seed: int, *, keep_trace: bool, only: Only) -> Run:
    counts = Counts()
    policies, proven = Policies(counts), has_policies(seed, only)
    evaluate = HostileInvariants(policies)
    found: list[Around] = []

    def join(world: World) -> None:
        person = Direct(Account(world.server, User("anna")))
        two_kinds.CarefulAdmin("anna", person, world.scheduler, world.machines).start()
        around = _surround(world, evaluate, counts)
        found.append(around)
        if proven:
            policies.begin(around)
        begin(around, _plans(around, evaluate), only)

    options = {"people": False, "self_fencing": True, "admission": policies.admission if proven else {}}
    beside = Beside(evaluate, options, join, lambda settle: _outlast(found, evaluate, settle))
    run = walking_path.play(seed, keep_trace=keep_trace, beside=beside)
    return _shown("walking_path", run, evaluate, counts)


def _play_power(seed: int, *, keep_trace: bool, only: Only) -> Run:
    counts = Counts()
    policies, proven = Policies(counts, power_cycle=True), has_policies(seed, only)
    evaluate = HostilePowerInvariants(policies)
    found: list[Around] = []

    def join(both: tuple[World, Rack]) -> None:
        world, rack = both
        around = _surround(world, evaluate, counts)
        found.append(around)
        if proven:
            policies.begin(around)
        here = {
            Kind.CLUSTERS: lambda: clusters.FarCluster(around, rack).plan(),
            Kind.BOTH: SelfFencing(around).plan,
        }
        begin(around, {**_plans(around, evaluate), **here}, only)

    options = {
        "self_fencing": True,
        "others": clusters.KINDS,
        "admission": policies.admission if proven else {},
    }
    beside = Beside(evaluate, options, join, lambda settle: _outlast(found, evaluate, settle))
    run = power.play(seed, keep_trace=keep_trace, beside=beside)
    return _shown("power", run, evaluate, counts)


def _play_checks(seed: int, *, keep_trace: bool, only: Only) -> Run:
    judges: list[HostileChecksInvariants] = []
    counts = Counts()
    policies, proven = Policies(counts, remediator=False), has_policies(seed, only)

    def evaluate(world: ChecksWorld, most: int) -> HostileChecksInvariants:
        judges.append(HostileChecksInvariants(world, most, policies))
        return judges[0]

    def join(world: ChecksWorld) -> None:
        around = _surround_checks(world, counts, judges[0])
        if proven:
            policies.begin(around)
        begin(around, _plans_of_checks(around, world, judges[0]), only)

    beside = Beside(evaluate, {"admission": policies.admission["checker"]} if proven else {}, join)
    run = checks.play(seed, keep_trace=keep_trace, beside=beside)
    return _reported("checks", run, 0, judges[0].checked, counts)


def _surround_checks(world: ChecksWorld, counts: Counts, evaluate: HostileChecksInvariants) -> Around:
    around = Around(
        scheduler=world.scheduler,
        server=world.server,
        api=world.api,
        replicas=world.replicas,
        account_of=lambda _: world.checker,
        counts=counts,
        ceases=CHECKS_CEASE - 1.0,
        nodes=world.nodes,
        busy=lambda: {*world.asked(), *(one["metadata"]["name"] for one in world.fixes())},
        quiet=0.25,
    )
    stand_between(around, well_known.SYSTEM_NAMESPACE, lambda _: None, evaluate.saw_read)
    return around


def _plans_of_checks(around: Around, world: ChecksWorld, evaluate: HostileChecksInvariants) -> Plans:
    """Return the plans. No remediator runs in this world, so nodes have no two kinds of remediations."""
    return {
        Kind.STALE: lambda: caches.plan(around),
        Kind.EXTERNAL_CONTROLLERS: CheckedNeighbours(around, world, evaluate.saw_deletion).plan,
        Kind.NODES: lambda: HostileNode(around, around.chance.choice(around.nodes)).plan(),
        Kind.CLUSTERS: lambda: clusters.plan_far_machines(around),
        Kind.RESTORES: Restores(around, evaluate.restored).plan,
        Kind.RIGHTS: lambda: rights.plan(around),
        Kind.OUTAGES: lambda: outages.plan(around),
        Kind.CLOCKS: lambda: clocks.plan(around),
        Kind.VERSIONS: lambda: versions.plan(around),
    }


def _surround(world: World, evaluate: HostileInvariants, counts: Counts) -> Around:
    return surround(
        world,
        counts,
        kinds=(MANUAL_REMEDIATION, METAL3_REMEDIATION),
        ceases=FAULTS_CEASE - 1.0,
        before=evaluate.remember,
        heard=evaluate.saw_read,
    )


def _plans(around: Around, evaluate: HostileInvariants) -> Plans:
    def lie() -> None:
        name = around.chance.choice(around.nodes)
        evaluate.attribution.byzantine_peers.add(name)
        HostileNode(around, name).plan()

    return {
        Kind.STALE: lambda: caches.plan(around),
        Kind.EXTERNAL_CONTROLLERS: ExternalControllers(around).plan,
        Kind.TWO_KINDS: lambda: two_kinds.plan(around),
        Kind.NODES: lie,
        Kind.RESTORES: Restores(around, evaluate.restored).plan,
        Kind.RIGHTS: lambda: rights.plan(around),
        Kind.OUTAGES: lambda: outages.plan(around),
        Kind.CLOCKS: lambda: clocks.plan(around),
        Kind.VERSIONS: lambda: versions.plan(around),
    }


def _outlast(found: list[Around], evaluate: HostileInvariants, settle: SettleBy) -> None:
    """In some seeds with outages, run the longest outage after all other faults."""
    [around], engine = found, evaluate.world.engine
    if around.counts.made[Kind.OUTAGES] and around.chance.random() < FOR_HOURS:
        outages.outlast_hours(around, lambda away: setattr(engine, "away", away), settle, SETTLES_WITHIN)


def _shown(name: str, run: walking_path.Run | power.Run, evaluate: HostileInvariants, counts: Counts) -> Run:
    return _reported(name, run, run.releases, evaluate.checked, counts)


def _reported(
    name: str,
    run: walking_path.Run | power.Run | checks.Run,
    releases: int,
    checked: Counter[str],
    counts: Counts,
) -> Run:
    return Run(
        run.seed,
        name,
        run.broken,
        releases,
        checked,
        counts.made,
        counts.effective,
        run.digest,
        run.requests,
        run.lines,
    )


PLAYS: Final = {
    "walking_path": _play_walking_path,
    "power": _play_power,
    "checks": _play_checks,
    "fencing": play_fencing,
}
_PLAIN: Final[Mapping[str, Callable[..., AnyRun]]] = {
    "walking_path": walking_path.play,
    "power": power.play,
    "checks": checks.play,
    "fencing": shipped_fencing.play,
}
_HOSTILE_EVERY: Final = {"fencing": 4}
"""Every n-th seed has hostile faults; n is 2 in the other worlds.

In the fencing world, every other seed is directed at one danger.
"""


def play_mixed(seed: int, *, world: str, keep_trace: bool = False) -> Run:
    """Run a seed as the campaign of that world does; some seeds with hostile faults."""
    every = _HOSTILE_EVERY.get(world, 2)
    if seed % every == every - 1:
        return PLAYS[world](seed, keep_trace=keep_trace, only=())
    plain = _PLAIN[world](seed, keep_trace=keep_trace)
    return Run(seed, world, plain.broken, 0, Counter(), lines=plain.lines)
