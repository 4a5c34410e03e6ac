"""The API server is unreachable for all or some replicas, or answers many requests with errors."""

from collections.abc import Callable
from typing import Final

from simulation.metal3.rack import CROSSED
from tests.simulation.beside import SettleBy
from tests.simulation.hostile.endpoint import brown_out
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Kind

AWAY: Final = (5.0, 20.0, 60.0, 180.0)
HOURS: Final = (1.0, 2.0, 3.0)
ILL_HOURS: Final = (0.5, 1.0, 2.0)
DAYS: Final = (26.0, 50.0)
"""In hours."""
FOR_DAYS: Final = 0.08
"""Share of long outages and brown-outs that last days.

To simulate one day takes half a minute, in a brown-out twice that.
"""
ILL: Final = (0.2, 0.5, 0.8)


def plan(around: Around) -> None:
    around.at_some_times(2, lambda: _go_away(around))
    around.at_some_times(3, lambda: _fall_ill(around))


def outlast_hours(around: Around, away: Callable[[bool], None], settle: SettleBy, within: float) -> None:
    """After the world has settled, make the API server unreachable for hours or days; a machine fails.

    `away` receives True when the controllers of Kubernetes lose the API server, and False when they reach it
    again. The API server may return with a brown-out, which fails many requests for further hours.
    """
    names, machines = sorted(around.endpoints), around.machines
    hours = _how_long(around, HOURS)
    around.note(f"nobody has an API server for {hours:.0f} hours")
    send_away(around, names)
    away(True)
    for machine in machines.values():
        machine.connected = False
    around.scheduler.run(around.now + around.chance.uniform(0.0, hours) * 3600.0)
    if machines:
        # A machine whose host has another machine's BMC cannot be power-cycled, so it is not chosen.
        machines[around.chance.choice([name for name in around.nodes if name not in CROSSED])].hung = True
    around.scheduler.run(around.now + hours * 1800.0)
    for machine in machines.values():
        machine.connected = True
    away(False)
    bring_back(around, names)
    if around.chance.random() < 0.5:
        _be_ill_for_hours(around, names)
    settle(around.now + within)


def _how_long(around: Around, hours: tuple[float, ...]) -> float:
    return around.chance.choice(DAYS if around.chance.random() < FOR_DAYS else hours)


def _be_ill_for_hours(around: Around, names: list[str]) -> None:
    hours, share = _how_long(around, ILL_HOURS), around.chance.choice(ILL)
    around.note(f"the API server fails {share:.0%} of all requests for {hours:.1f} hours")
    _make_ill(around, names, share)
    around.scheduler.run(around.now + hours * 3600.0)
    _recover(around, names)


def _some(around: Around) -> list[str]:
    names = sorted(around.endpoints)
    return [around.chance.choice(names)] if around.chance.random() < 0.4 else names


def _go_away(around: Around) -> None:
    """Remove the API server from replicas only: their load balancer finds none, and kubelets use another."""
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
    _make_ill(around, names, share)
    around.later(lambda: _recover(around, names), (30.0, 90.0, 200.0))


def _make_ill(around: Around, names: list[str], share: float) -> None:
    for name in names:
        endpoint = around.endpoints[name]
        endpoint.ill = brown_out(endpoint, around.chance, share)
        endpoint.begin(Kind.OUTAGES)


def _recover(around: Around, names: list[str]) -> None:
    for name in names:
        around.endpoints[name].ill = None
