"""`simulate` predicts what the shipped checker does in a simulated world with an API server and a network.

The checker evaluates held nodes in turns, so it may be later by some seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import pytest

from nodemend.api.resources import NODE
from nodemend.cli.simulate.engine import simulate
from nodemend.cli.simulate.input import take_snapshot
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.cluster.world import Shape, World
from tests.unit.cli.simulate.simulated import a_plan, begun
from tests.unit.cli.simulated_caller import SimulatedCaller

BEGINS: Final = 30
LATE: Final = 15.0
"""Seconds: the checker evaluates held nodes every ten, and its writes must be observed."""


@dataclass(frozen=True)
class Incident:
    """Times at which each node is cut off and connected again, in seconds after the start."""

    machines: int
    cut: Mapping[str, int]
    connected: Mapping[str, int] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    lasts: int = 1200


@dataclass
class Lived:
    """Times at which nodes turned Unknown and True, and at which each remediation was created."""

    unknown: list[tuple[str, int]] = field(default_factory=list)
    well: list[tuple[str, int]] = field(default_factory=list)
    asked: list[tuple[float, str]] = field(default_factory=list)


def live(world: World, incident: Incident) -> Lived:
    lived, was = Lived(), dict.fromkeys(world.machines, "True")

    def heard(_user: str, request: Request, answer: ApiResponse) -> None:
        if request.method is Method.POST and "manualremediations" in request.path:
            name = msgspec.json.decode(answer.body)["metadata"]["name"]
            lived.asked.append((world.scheduler.now - BEGINS, name))

    world.checker.witnesses.append(heard)
    for now in range(incident.lasts):
        for name, machine in world.machines.items():
            if incident.cut.get(name) == now:
                machine.connected = False
            if incident.connected.get(name) == now:
                machine.connected = True
        world.run(BEGINS + now + 1)
        for node in world.admin_api.list(NODE):
            name = node["metadata"]["name"]
            ready = next(one["status"] for one in node["status"]["conditions"] if one["type"] == "Ready")
            if ready != was[name]:
                (lived.well if ready == "True" else lived.unknown).append((name, now))
            was[name] = ready
    return lived


@pytest.mark.slow
@pytest.mark.parametrize(
    "incident",
    [
        Incident(4, {"node-2": 60}, {"node-2": 400}, lasts=600),
        Incident(6, {"node-1": 60, "node-2": 60, "node-3": 60}, {"node-2": 300, "node-3": 320}),
        Incident(
            10,
            {"node-3": 60, "node-5": 100, "node-7": 140},
            {"node-3": 500, "node-5": 800},
            {"maxConcurrent": 1, "settleTime": "1m"},
        ),
        Incident(
            8,
            {"node-1": 60, "node-4": 80, "node-6": 100},
            {},
            {"maxUnhealthy": "50%", "maxConcurrentPercent": 100, "minInterval": "1m"},
            lasts=500,
        ),
    ],
    ids=["one node", "a storm that settles", "one at a time", "paced"],
)
def test_the_same_remediations_begin_in_the_same_order_at_about_the_same_time(incident: Incident) -> None:
    world = World(
        "simulate", Shape(machines=incident.machines, people=False, replicas=1, policy=incident.policy)
    )
    try:
        world.run(BEGINS)
        snapshot = SimulatedCaller(world).run(take_snapshot)
        lived = live(world, incident)
    finally:
        world.close()
    fails = (f"{name}@{at}s" for name, at in lived.unknown)
    heals = tuple(f"{name}@{at}s" for name, at in lived.well)
    plan = a_plan(*fails, heals=heals, stays_unhealthy=("*",), takes=36000, lasts=incident.lasts)
    simulated = begun(simulate(snapshot, plan))

    assert [name for _, name in lived.asked] == [name for _, name in simulated]
    for (really, _), (would, _) in zip(lived.asked, simulated, strict=True):
        assert would - 1 <= really <= would + LATE
    assert simulated
