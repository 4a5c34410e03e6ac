"""A target that only the start interval holds starts when the interval ends, not some seconds later."""

from itertools import pairwise

import pytest

from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.cluster.world import Shape, World
from tests.unit.remediation.complaints import OPEN


@pytest.mark.slow
@pytest.mark.attack("X4")
@pytest.mark.parametrize("interval", [3, 13, 37])
def test_the_next_remediation_begins_within_a_second_after_the_interval(interval: int) -> None:
    policy = {**OPEN, "maxConcurrent": 20, "minInterval": f"{interval}s"}
    world = World("pace", Shape(people=False, machines=10, workloads=0, policy=policy))
    began: list[float] = []

    def saw(_user: str, request: Request, _answer: ApiResponse) -> None:
        if request.method is Method.POST and request.path.endswith("/manualremediations"):
            began.append(world.scheduler.now)

    world.checker.witnesses.append(saw)
    world.run(30.0)
    for machine in list(world.machines.values())[:6]:
        machine.hung = True
    world.run(180.0 + 6 * interval)
    world.close()

    assert len(began) == 6
    assert all(interval - 0.1 <= later - before <= interval + 1.0 for before, later in pairwise(began))
