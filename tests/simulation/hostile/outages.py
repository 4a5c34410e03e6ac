"""The API server is away for all or for some, or answers many requests with errors of its own."""

from typing import Final

from tests.simulation.hostile.endpoint import brown_out
from tests.simulation.hostile.kinds import Kind
from tests.simulation.hostile.surroundings import Around

AWAY: Final = (5.0, 20.0, 60.0, 180.0)
HOURS: Final = (1.0, 2.0, 3.0)
ILL: Final = (0.2, 0.5, 0.8)


def plan(around: Around) -> None:
    around.at_some_times(2, lambda: _go_away(around))
    around.at_some_times(3, lambda: _fall_ill(around))


def _some(around: Around) -> list[str]:
    names = sorted(around.endpoints)
    return [around.chance.choice(names)] if around.chance.random() < 0.4 else names


def _go_away(around: Around) -> None:
    """For replicas alone: a balancer finds no API server for them, and kubelets have another."""
    names = _some(around)
    around.note(f"no API server for {names}")
    send_away(around, names)
    around.later(lambda: bring_back(around, names), AWAY)


def send_away(around: Around, names: list[str]) -> None:
    for name in names:
        endpoint = around.endpoints[name]
        endpoint.away = True
        endpoint.begin(Kind.OUTAGES)
        endpoint.break_watches("the server went away")


def bring_back(around: Around, names: list[str]) -> None:
    for name in names:
        around.endpoints[name].away = False


def _fall_ill(around: Around) -> None:
    names, share = _some(around), around.chance.choice(ILL)
    around.note(f"the API server fails {share:.0%} of the requests of {names}")
    for name in names:
        endpoint = around.endpoints[name]
        endpoint.ill = brown_out(endpoint, around.chance, share)
        endpoint.begin(Kind.OUTAGES)
    around.later(lambda: _recover(around, names), (30.0, 90.0, 200.0))


def _recover(around: Around, names: list[str]) -> None:
    for name in names:
        around.endpoints[name].ill = None
