"""The API server is away for all or for some, or answers many requests with errors of its own."""

from collections.abc import Callable
from typing import Final

from tests.simulation.beside import SettleBy
from tests.simulation.hostile.endpoint import brown_out
from tests.simulation.hostile.kinds import Kind
from tests.simulation.hostile.surroundings import Around

AWAY: Final = (5.0, 20.0, 60.0, 180.0)
HOURS: Final = (1.0, 2.0, 3.0)
ILL: Final = (0.2, 0.5, 0.8)


def plan(around: Around) -> None:
    around.at_some_times(2, lambda: _go_away(around))
    around.at_some_times(3, lambda: _fall_ill(around))


def outlast_hours(around: Around, away: Callable[[bool], None], settle: SettleBy, within: float) -> None:
    """When all was well nobody reaches the API server for hours, and meanwhile a machine breaks.

    `away` is told when the controllers of Kubernetes lose the API server, and when they have it back.
    """
    names, machines = sorted(around.endpoints), around.machines
    hours = around.chance.choice(HOURS)
    around.note(f"nobody has an API server for {hours:.0f} hours")
    send_away(around, names)
    away(True)
    for machine in machines.values():
        machine.connected = False
    around.scheduler.run(around.now + around.chance.uniform(0.0, hours) * 3600.0)
    broken = machines[around.chance.choice(around.nodes)] if machines else None
    if broken is not None:
        broken.hung = True
    around.scheduler.run(around.now + hours * 1800.0)
    for machine in machines.values():
        machine.connected = True
    away(False)
    bring_back(around, names)
    settle(around.now + within)


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
