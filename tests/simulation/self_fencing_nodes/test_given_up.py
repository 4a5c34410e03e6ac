"""Gates that wait for an operator do not prevent the time proof of other nodes."""

from tests.simulation.self_fencing_nodes.cluster import QUICK, Cluster
from tests.simulation.self_fencing_nodes.directed import SETTLED, Quick


def test_two_gates_that_wait_for_an_operator_do_not_block_the_release_of_a_third_of_seven_nodes() -> None:
    """Four of its six peers are connected all the time: enough to prove its end by time."""
    cluster = Cluster("closed gates", nodes=7, quality=QUICK)
    try:
        cluster.run(SETTLED)
        waiting, lost = ("node-1", "node-2"), "node-7"
        cluster.around.held_back |= set(waiting)
        for name in waiting:
            cluster.nodes[name].chance = Quick()
            cluster.nodes[name].reset("its power fails")
        cluster.run(300.0)
        assert not any(cluster.nodes[name].gate_open for name in waiting)

        cluster.isolate(lost)
        cluster.run(300.0)

        assert cluster.invariants.releases["E4"] == 1
    finally:
        cluster.close()
