"""One seed of one world with hostile faults beside those that it always has."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import MANUAL_REMEDIATION, METAL3_REMEDIATION
from nodemend.testing.api_server.admission import User
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.world import Account, World
from nodemend.testing.metal3.rack import Rack
from tests.simulation.beside import Beside, SettleBy
from tests.simulation.checks import run as checks
from tests.simulation.checks.faults import FAULTS_CEASE as CHECKS_CEASE
from tests.simulation.checks.world import ChecksWorld
from tests.simulation.hostile import caches, clocks, clusters, outages, rights, two_kinds, versions
from tests.simulation.hostile.checks_neighbours import CheckedNeighbours
from tests.simulation.hostile.checks_truth import HostileChecksInvariants
from tests.simulation.hostile.drawing import Only, Plans, Run, begin, has_policies
from tests.simulation.hostile.fencing_world import play_fencing
from tests.simulation.hostile.hostile_nodes import HostileNode
from tests.simulation.hostile.kinds import Kind, Tally
from tests.simulation.hostile.neighbours import Neighbours
from tests.simulation.hostile.policies import Policies
from tests.simulation.hostile.restores import Restores
from tests.simulation.hostile.self_fencing import SelfFencing
from tests.simulation.hostile.surroundings import Around, stand_between, surround
from tests.simulation.hostile.truth import HostileInvariants, HostilePowerInvariants
from tests.simulation.power import run as power
from tests.simulation.shipped_fencing import run as shipped_fencing
from tests.simulation.walking_path import run as walking_path
from tests.simulation.walking_path.faults import FAULTS_CEASE

FOR_HOURS: Final = 0.15
"""Of the seeds with outages: these have one of hours."""
SETTLES_WITHIN: Final = 6000.0
AnyRun = walking_path.Run | power.Run | checks.Run | shipped_fencing.Run
WORLDS: Final = ("walking_path", "power", "checks", "fencing")


def play(seed: int, *, keep_trace: bool = False, only: Only = ()) -> Run:
    """Seed n is played in world n modulo their number. With `only`, faults of these kinds alone."""
    return PLAYS[WORLDS[seed % len(WORLDS)]](seed, keep_trace=keep_trace, only=only)


def _play_walking_path(seed: int, *, keep_trace: bool, only: Only) -> Run:
    tally = Tally()
    policies, proven = Policies(tally), has_policies(seed, only)
    judge = HostileInvariants(policies)
    found: list[Around] = []

    def join(world: World) -> None:
        person = Direct(Account(world.server, User("anna")))
        two_kinds.CarefulAdmin("anna", person, world.scheduler, world.machines).start()
        around = _surround(world, judge, tally)
        found.append(around)
        if proven:
            policies.begin(around)
        begin(around, _plans(around, judge), only)

    wishes = {"people": False, "self_fencing": True, "admission": policies.admission if proven else {}}
    beside = Beside(judge, wishes, join, lambda settle: _outlast(found, judge, settle))
    run = walking_path.play(seed, keep_trace=keep_trace, beside=beside)
    return _shown("walking_path", run, judge, tally)


def _play_power(seed: int, *, keep_trace: bool, only: Only) -> Run:
    tally = Tally()
    policies, proven = Policies(tally, power_cycle=True), has_policies(seed, only)
    judge = HostilePowerInvariants(policies)
    found: list[Around] = []

    def join(both: tuple[World, Rack]) -> None:
        world, rack = both
        around = _surround(world, judge, tally)
        found.append(around)
        if proven:
            policies.begin(around)
        here = {
            Kind.CLUSTERS: lambda: clusters.FarCluster(around, rack).plan(),
            Kind.BOTH: SelfFencing(around).plan,
        }
        begin(around, {**_plans(around, judge), **here}, only)

    wishes = {
        "self_fencing": True,
        "others": clusters.KINDS,
        "admission": policies.admission if proven else {},
    }
    beside = Beside(judge, wishes, join, lambda settle: _outlast(found, judge, settle))
    run = power.play(seed, keep_trace=keep_trace, beside=beside)
    return _shown("power", run, judge, tally)


def _play_checks(seed: int, *, keep_trace: bool, only: Only) -> Run:
    judges: list[HostileChecksInvariants] = []
    tally = Tally()
    policies, proven = Policies(tally, remediator=False), has_policies(seed, only)

    def judge(world: ChecksWorld, most: int) -> HostileChecksInvariants:
        judges.append(HostileChecksInvariants(world, most, policies))
        return judges[0]

    def join(world: ChecksWorld) -> None:
        around = _surround_checks(world, tally, judges[0])
        if proven:
            policies.begin(around)
        begin(around, _plans_of_checks(around, world, judges[0]), only)

    beside = Beside(judge, {"admission": policies.admission["checker"]} if proven else {}, join)
    run = checks.play(seed, keep_trace=keep_trace, beside=beside)
    return _told("checks", run, 0, judges[0].checked, tally)


def _surround_checks(world: ChecksWorld, tally: Tally, judge: HostileChecksInvariants) -> Around:
    around = Around(
        scheduler=world.scheduler,
        server=world.server,
        api=world.api,
        replicas=world.replicas,
        account_of=lambda _: world.checker,
        tally=tally,
        ceases=CHECKS_CEASE - 1.0,
        nodes=world.nodes,
        busy=lambda: {*world.asked(), *(one["metadata"]["name"] for one in world.fixes())},
        quiet=0.25,
    )
    stand_between(around, keys.SYSTEM_NAMESPACE, lambda _: None, judge.saw_read)
    return around


def _plans_of_checks(around: Around, world: ChecksWorld, judge: HostileChecksInvariants) -> Plans:
    """Nobody remediates in this world: there are no two kinds of remediations."""
    return {
        Kind.STALE: lambda: caches.plan(around),
        Kind.NEIGHBOURS: CheckedNeighbours(around, world, judge.saw_deletion).plan,
        Kind.NODES: lambda: HostileNode(around, around.chance.choice(around.nodes)).plan(),
        Kind.CLUSTERS: lambda: clusters.plan_far_machines(around),
        Kind.RESTORES: Restores(around, judge.restored).plan,
        Kind.RIGHTS: lambda: rights.plan(around),
        Kind.OUTAGES: lambda: outages.plan(around),
        Kind.CLOCKS: lambda: clocks.plan(around),
        Kind.VERSIONS: lambda: versions.plan(around),
    }


def _surround(world: World, judge: HostileInvariants, tally: Tally) -> Around:
    return surround(
        world,
        tally,
        kinds=(MANUAL_REMEDIATION, METAL3_REMEDIATION),
        ceases=FAULTS_CEASE - 1.0,
        before=judge.remember,
        heard=judge.saw_read,
    )


def _plans(around: Around, judge: HostileInvariants) -> Plans:
    def lie() -> None:
        name = around.chance.choice(around.nodes)
        judge.attribution.liars.add(name)
        HostileNode(around, name).plan()

    return {
        Kind.STALE: lambda: caches.plan(around),
        Kind.NEIGHBOURS: Neighbours(around).plan,
        Kind.TWO_KINDS: lambda: two_kinds.plan(around),
        Kind.NODES: lie,
        Kind.RESTORES: Restores(around, judge.restored).plan,
        Kind.RIGHTS: lambda: rights.plan(around),
        Kind.OUTAGES: lambda: outages.plan(around),
        Kind.CLOCKS: lambda: clocks.plan(around),
        Kind.VERSIONS: lambda: versions.plan(around),
    }


def _outlast(found: list[Around], judge: HostileInvariants, settle: SettleBy) -> None:
    """In some seeds that have outages the longest comes when all the others are over."""
    [around], engine = found, judge.world.engine
    if around.tally.made[Kind.OUTAGES] and around.chance.random() < FOR_HOURS:
        outages.outlast_hours(around, lambda away: setattr(engine, "away", away), settle, SETTLES_WITHIN)


def _shown(name: str, run: walking_path.Run | power.Run, judge: HostileInvariants, tally: Tally) -> Run:
    return _told(name, run, run.releases, judge.checked, tally)


def _told(
    name: str,
    run: walking_path.Run | power.Run | checks.Run,
    releases: int,
    checked: Counter[str],
    tally: Tally,
) -> Run:
    return Run(
        run.seed,
        name,
        run.broken,
        releases,
        checked,
        tally.made,
        tally.effective,
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
"""Every other seed of the other worlds. In this one every other is directed at one danger."""


def play_mixed(seed: int, *, world: str, keep_trace: bool = False) -> Run:
    """As the campaign of that world plays it, and some of its seeds with hostile faults."""
    every = _HOSTILE_EVERY.get(world, 2)
    if seed % every == every - 1:
        return PLAYS[world](seed, keep_trace=keep_trace, only=())
    plain = _PLAIN[world](seed, keep_trace=keep_trace)
    return Run(seed, world, plain.broken, 0, Counter(), lines=plain.lines)
