"""One seed of one world with hostile faults beside those that it always has."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from nodemend.testing.api_server.admission import User
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.world import Account, World
from tests.simulation.beside import Beside
from tests.simulation.hostile import caches, two_kinds
from tests.simulation.hostile.kinds import Kind, Tally
from tests.simulation.hostile.neighbours import Neighbours
from tests.simulation.hostile.surroundings import Around, stand_between
from tests.simulation.hostile.truth import HostileInvariants, HostilePowerInvariants
from tests.simulation.power import run as power
from tests.simulation.walking_path import run as walking_path
from tests.simulation.walking_path.faults import FAULTS_CEASE

PLANS: Final[dict[Kind, Callable[[Around], None]]] = {
    Kind.STALE: caches.plan,
    Kind.NEIGHBOURS: lambda around: Neighbours(around).plan(),
    Kind.TWO_KINDS: two_kinds.plan,
}
SHARE: Final = 0.45
"""Of the kinds of faults that a seed has."""
WORLDS: Final = ("walking_path", "power")


@dataclass(frozen=True, slots=True)
class Run:
    """What a seed showed. Seeds go round the worlds: the world is part of the seed."""

    seed: int
    world: str
    broken: str
    releases: int
    checked: Counter[str]
    made: Counter[str] = field(default_factory=Counter)
    effective: Counter[str] = field(default_factory=Counter)
    digest: str = ""
    lines: tuple[str, ...] = ()


def play(seed: int, *, keep_trace: bool = False, only: Kind | None = None) -> Run:
    """Seed n is played in world n modulo their number. With `only`, faults of one kind alone."""
    return PLAYS[WORLDS[seed % len(WORLDS)]](seed, keep_trace=keep_trace, only=only)


def _play_walking_path(seed: int, *, keep_trace: bool, only: Kind | None) -> Run:
    judge, tally = HostileInvariants(), Tally()

    def join(world: World) -> None:
        person = Direct(Account(world.server, User("anna")))
        two_kinds.CarefulAdmin("anna", person, world.scheduler, world.machines).start()
        _begin(world, judge, tally, only)

    wishes = {"people": False, "self_fencing": True}
    run = walking_path.play(seed, keep_trace=keep_trace, beside=Beside(judge, wishes, join))
    return _shown("walking_path", run, judge, tally)


def _play_power(seed: int, *, keep_trace: bool, only: Kind | None) -> Run:
    judge, tally = HostilePowerInvariants(), Tally()
    join = partial(_begin, judge=judge, tally=tally, only=only)
    run = power.play(seed, keep_trace=keep_trace, beside=Beside(judge, {"self_fencing": True}, join))
    return _shown("power", run, judge, tally)


def _begin(world: World, judge: HostileInvariants, tally: Tally, only: Kind | None) -> None:
    chance = world.scheduler.chance("hostile")
    around = Around(world, judge, tally, FAULTS_CEASE - 1.0, chance)
    stand_between(around)
    drawn = [kind for kind in PLANS if chance.random() < SHARE] or [chance.choice(tuple(PLANS))]
    for kind in drawn if only is None else [only]:
        PLANS[kind](around)


def _shown(name: str, run: walking_path.Run | power.Run, judge: HostileInvariants, tally: Tally) -> Run:
    return Run(
        run.seed,
        name,
        run.broken,
        run.releases,
        judge.checked,
        tally.made,
        tally.effective,
        run.digest,
        run.lines,
    )


PLAYS: Final = {"walking_path": _play_walking_path, "power": _play_power}
