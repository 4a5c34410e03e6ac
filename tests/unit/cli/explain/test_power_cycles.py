"""A node whose host is power cycled is reported as under remediation, with its progress."""

from nodemend.cli.cluster import Cluster
from nodemend.cli.explain.facts import gather_node
from nodemend.cli.explain.node import explain_node
from nodemend.cli.explain.view import ExplainAnswer, ExplainView
from simulation.cluster.world import World
from simulation.metal3.rack import furnish, shaped
from tests.unit.cli.simulated_caller import SimulatedCaller

SICK = "node-1"
LENIENT = {"maxUnhealthy": "100%", "settleTime": "5s", "minInterval": "1s"}


async def read(cluster: Cluster) -> ExplainView:
    return explain_node(await gather_node(cluster, SICK))


def test_the_headline_is_what_the_power_cycle_waits_for() -> None:
    world = World("explain power", shaped(machines=3, policy=LENIENT))
    rack = furnish(world)
    world.run(120.0)
    rack.bmcs[SICK].faults.off_never_done = True
    world.machines[SICK].connected = False
    world.run(270.0)
    view = SimulatedCaller(world).run(read)
    rack.close()
    world.close()

    [remediating] = [row for row in view.questions if row.key == "remediating"]
    assert view.headline == (
        f"{SICK} is under remediation: default/{SICK} is powered off and on (power-off). "
        f"Waiting at most 300 s until metal3 reports default/{SICK} as off."
    )
    assert remediating.answer is ExplainAnswer.YES
    assert remediating.because.startswith(f"power cycle nodemend-system/{SICK}, power-off, for ")
