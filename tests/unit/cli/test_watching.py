"""A watched view is printed at a bounded rate: growing ages alone print nothing, and silence is reported
once.
"""

from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.terminal import POLL_INTERVAL, Observation, keep_observing
from simulation.cluster.world import Shape, World
from tests.unit.cli.simulated_caller import SimulatedCaller

SILENT = CommandFailure(ExitCode.NO_ANSWER, "no answer from the cluster: refused.")
REFUSED = CommandFailure(ExitCode.WRONG, "the API server does not know you.")
Observed = tuple[str, int]
"""The subject and its age."""


class EnoughError(Exception):
    """The user has seen enough."""


def watch(*observations: Observed | CommandFailure) -> tuple[list[Observation[Observed]], list[float]]:
    """The output while these views follow one another, and the start time of each read."""
    world = World("watch", Shape(machines=1, replicas=0, people=False))
    reported: list[Observation[Observed]] = []
    at: list[float] = []

    async def work(cluster: Cluster) -> None:
        coming = iter(observations)
        await keep_observing(
            cluster, looking_at(coming.__next__, at, world), lambda observed: observed[0], tell
        )

    def tell(read: Observation[Observed]) -> None:
        reported.append(read)
        if len(reported) == len(observations):
            raise EnoughError

    with pytest.raises(EnoughError):
        SimulatedCaller(world).run(work)
    return reported, at


def looking_at(
    coming: Callable[[], Observed | CommandFailure], at: list[float], world: World
) -> Callable[[Cluster], Awaitable[Observed]]:
    async def read(_cluster: Cluster) -> Observed:
        at.append(world.scheduler.now)
        observed = coming()
        if isinstance(observed, CommandFailure):
            raise observed
        return observed

    return read


def test_every_read_is_reported_with_whether_it_is_a_change() -> None:
    reported, _ = watch(("held", 1), ("held", 3), ("open", 5))

    assert [(read.view, read.news) for read in reported] == [
        (("held", 1), True),
        (("held", 3), False),
        (("open", 5), True),
    ]


def test_there_is_a_pause_between_two_reads() -> None:
    _, at = watch(("held", 1), ("held", 1), ("held", 1))

    assert [later - earlier for earlier, later in pairwise(at)] == [POLL_INTERVAL] * 2


def test_the_loss_of_the_cluster_is_reported_once_and_so_is_its_return() -> None:
    reported, _ = watch(("held", 1), SILENT, SILENT, ("held", 9))

    assert [(read.view, read.news, read.failure) for read in reported] == [
        (("held", 1), True, ""),
        (("held", 1), True, "no answer from the cluster: refused."),
        (("held", 1), False, "no answer from the cluster: refused."),
        (("held", 9), True, ""),
    ]
    assert reported[1].at == reported[0].at < reported[3].at


@pytest.mark.parametrize("observations", [(SILENT,), (("held", 1), REFUSED)], ids=["at once", "later"])
def test_a_failed_first_read_and_any_refusal_end_the_watch(
    observations: tuple[Observed | CommandFailure, ...],
) -> None:
    with pytest.raises(CommandFailure):
        watch(*observations)
