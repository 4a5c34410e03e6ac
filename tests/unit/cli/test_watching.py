"""A watched view is told at a bounded pace; what only grows older is no news, and silence is told once."""

from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.watching import LOOK_EVERY, Look, keep_looking
from nodemend.testing.cluster.world import Shape, World
from tests.unit.cli.simulated_caller import SimulatedCaller

SILENT = CommandFailure(ExitCode.NO_ANSWER, "no answer from the cluster: refused.")
REFUSED = CommandFailure(ExitCode.WRONG, "the API server does not know you.")
Seen = tuple[str, int]
"""What is there, and for how long."""


class EnoughError(Exception):
    """The person has seen it."""


def watch(*sights: Seen | CommandFailure) -> tuple[list[Look[Seen]], list[float]]:
    """What is told while these are seen one after the other, and when each look began."""
    world = World("watch", Shape(machines=1, replicas=0, people=False))
    told: list[Look[Seen]] = []
    at: list[float] = []

    async def work(cluster: Cluster) -> None:
        coming = iter(sights)
        await keep_looking(cluster, looking_at(coming.__next__, at, world), lambda sight: sight[0], tell)

    def tell(look: Look[Seen]) -> None:
        told.append(look)
        if len(told) == len(sights):
            raise EnoughError

    with pytest.raises(EnoughError):
        SimulatedCaller(world).run(work)
    return told, at


def looking_at(
    coming: Callable[[], Seen | CommandFailure], at: list[float], world: World
) -> Callable[[Cluster], Awaitable[Seen]]:
    async def look(_cluster: Cluster) -> Seen:
        at.append(world.scheduler.now)
        sight = coming()
        if isinstance(sight, CommandFailure):
            raise sight
        return sight

    return look


def test_every_look_is_told_and_says_whether_it_is_news() -> None:
    told, _ = watch(("held", 1), ("held", 3), ("open", 5))

    assert [(look.view, look.news) for look in told] == [
        (("held", 1), True),
        (("held", 3), False),
        (("open", 5), True),
    ]


def test_there_is_a_pause_between_two_looks() -> None:
    _, at = watch(("held", 1), ("held", 1), ("held", 1))

    assert [later - earlier for earlier, later in pairwise(at)] == [LOOK_EVERY] * 2


def test_a_cluster_that_falls_silent_is_told_once_and_so_is_its_return() -> None:
    told, _ = watch(("held", 1), SILENT, SILENT, ("held", 9))

    assert [(look.view, look.news, look.failure) for look in told] == [
        (("held", 1), True, ""),
        (("held", 1), True, "no answer from the cluster: refused."),
        (("held", 1), False, "no answer from the cluster: refused."),
        (("held", 9), True, ""),
    ]
    assert told[1].at == told[0].at < told[3].at


@pytest.mark.parametrize("sights", [(SILENT,), (("held", 1), REFUSED)], ids=["at once", "later"])
def test_a_first_look_that_fails_and_any_refusal_end_it(sights: tuple[Seen | CommandFailure, ...]) -> None:
    with pytest.raises(CommandFailure):
        watch(*sights)
