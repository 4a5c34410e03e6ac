"""A view that is looked at again and again, at a bounded pace, until the person has seen enough."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar

from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode

V = TypeVar("V")

LOOK_EVERY: Final = 2.0
"""Seconds from the end of one look to the next."""
_PASSES: Final = frozenset({ExitCode.NO_ANSWER, ExitCode.TIMED_OUT})
"""A cluster that is silent for a while is what one watches for; a cluster that refuses us stays so."""


@dataclass(frozen=True, slots=True)
class Look(Generic[V]):
    """What was last seen, and when. `failure` says why the cluster has not answered since; empty if it has.

    `news` is False when only ages differ from the look before.
    """

    view: V
    at: datetime
    news: bool
    failure: str = ""


async def keep_looking(
    cluster: Cluster,
    look: Callable[[Cluster], Awaitable[V]],
    lasting: Callable[[V], object],
    tell: Callable[[Look[V]], None],
) -> None:
    """Until cancelled. `lasting` is what of a view does not change by time alone.

    Raises CommandFailure when the first look fails, or when a later one is refused.
    """
    last = Look(await look(cluster), cluster.now, news=True)
    tell(last)
    while True:
        await cluster.runtime.sleep(LOOK_EVERY)
        last = await _look_again(cluster, look, lasting, last)
        tell(last)


async def _look_again(
    cluster: Cluster,
    look: Callable[[Cluster], Awaitable[V]],
    lasting: Callable[[V], object],
    before: Look[V],
) -> Look[V]:
    try:
        view = await look(cluster)
    except CommandFailure as failure:
        if failure.code not in _PASSES:
            raise
        return Look(before.view, before.at, news=not before.failure, failure=failure.message)
    news = bool(before.failure) or lasting(view) != lasting(before.view)
    return Look(view, cluster.now, news=news)
