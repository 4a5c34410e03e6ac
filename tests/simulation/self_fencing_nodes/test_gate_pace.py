"""The simulated gate publishes at the rate of the real one."""

from tests.simulation.self_fencing_nodes.cluster import QUICK, Cluster
from tests.simulation.self_fencing_nodes.directed import SETTLED


def test_a_simulated_gate_that_stays_closed_without_a_marker_publishes_once() -> None:
    cluster = Cluster("gate pace", nodes=5, quality=QUICK)
    try:
        cluster.run(SETTLED)
        cluster.around.held_back.add("node-1")
        cluster.nodes["node-1"].reset("its power fails")
        cluster.run(200.0)
        before = cluster.counts["published by a gate"]
        cluster.run(180.0)

        assert cluster.counts["published by a gate"] == before
    finally:
        cluster.close()
