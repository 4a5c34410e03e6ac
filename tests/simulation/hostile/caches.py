"""Watches and cached reads of some replicas lag for a while."""

from typing import Final

from tests.simulation.hostile.endpoint import Between
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Kind

BEHIND: Final = (3.0, 8.0, 15.0, 30.0)


def plan(around: Around) -> None:
    around.at_some_times(5, lambda: _fall_behind(around))


def _fall_behind(around: Around) -> None:
    """Delay one replica or all: an API server lags, or the etcd member that it reads from."""
    chance, names = around.chance, sorted(around.endpoints)
    fallen = [chance.choice(names)] if chance.random() < 0.6 else names
    seconds = chance.choice(BEHIND)
    around.note(f"{fallen} read a cache that is {seconds:.0f} s behind")
    for name in fallen:
        endpoint = around.endpoints[name]
        endpoint.lag = seconds
        endpoint.begin(Kind.STALE)
    around.later(lambda: _catch_up([around.endpoints[name] for name in fallen]))


def _catch_up(endpoints: list[Between]) -> None:
    for endpoint in endpoints:
        endpoint.lag = 0.0
