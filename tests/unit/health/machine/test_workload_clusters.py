"""Nodes behind kubeconfig Secrets: a separate connection for each cluster, and a failing one affects no
other.
"""

from collections.abc import Iterator

import pytest

from nodemend.api import well_known
from nodemend.api.resources import MANUAL_REMEDIATION, NODE
from tests.unit.health.machine.workload_world import SEEN, WorkloadWorld

SILENT = "its API server does not answer"
PASSED = {"HealthCheckSucceeded": ("True", "HealthCheckSucceeded")}


@pytest.fixture
def world() -> Iterator[WorkloadWorld]:
    begun = WorkloadWorld("a", "b", "c")
    begun.start()
    yield begun
    begun.close()


def silence(world: WorkloadWorld, *nodes: str) -> None:
    """`a1` is a node of the cluster `a`."""
    for node in nodes:
        world.set_far(node[0], node, "Unknown")


def assert_not_visible(world: WorkloadWorld, cluster: str, why: str) -> None:
    assert world.connections.of[cluster][-1] == why
    assert world.said("RemediationAllowed", cluster) == ("False", "CannotRead")
    assert why in world.allowed_message(cluster)
    assert world.status(cluster)["currentHealthy"] == 0


def test_the_nodes_of_every_cluster_are_judged_where_they_are(world: WorkloadWorld) -> None:
    assert {name: observations[-1] for name, observations in world.connections.of.items()} == dict.fromkeys(
        "abc", SEEN
    )
    for name in "abc":
        status = world.status(name)
        assert (status["expectedMachines"], status["currentHealthy"]) == (3, 3)
    silence(world, "b2")
    world.run(58)
    assert world.fixes() == []
    world.run(7)
    assert world.fixes() == ["b2"]
    world.set_far("b", "b2", "True")
    world.run(5)
    assert world.fixes() == []


@pytest.mark.conforms("C10")
def test_one_hanging_cluster_of_three_is_left_alone_and_the_others_are_served(world: WorkloadWorld) -> None:
    world.clusters["b"].hang()
    silence(world, "a1", "b1", "c1")
    world.run(70)
    assert world.fixes() == ["a1", "c1"]
    world.run(60)
    assert world.fixes() == ["a1", "c1"]
    assert_not_visible(world, "b", SILENT)
    assert [world.marks(f"b{number}") for number in (1, 2, 3)] == [PASSED] * 3
    for name in "ac":
        assert world.said("RemediationAllowed", name) == ("True", "RemediationAllowed")


@pytest.mark.conforms("C09")
def test_a_node_that_was_silent_before_its_cluster_hung_is_not_acted_upon(world: WorkloadWorld) -> None:
    """Its period ends before the hang is detected; the preflight detects it."""
    silence(world, "b1")
    world.run(20)
    world.clusters["b"].hang()
    silence(world, "a1")
    world.run(120)
    assert world.fixes() == ["a1"]
    world.clusters["b"].come_back()
    world.run(150)
    assert world.fixes() == ["a1", "b1"]


def test_a_cluster_that_hangs_from_the_start_is_reported_and_harms_no_other() -> None:
    world = WorkloadWorld("a", "b", "c")
    world.clusters["b"].hang()
    world.start()
    silence(world, "a1", "b1")
    world.run(70)
    assert world.fixes() == ["a1"]
    assert_not_visible(world, "b", SILENT)
    assert world.marks("b1") == {}
    world.close()


@pytest.mark.slow
@pytest.mark.conforms("C10")
def test_requests_made_before_a_cluster_became_unreachable_stay_until_it_returns(
    world: WorkloadWorld,
) -> None:
    silence(world, "b1")
    world.run(70)
    assert world.fixes() == ["b1"]
    marks = world.marks("b1")
    world.clusters["b"].go_away()
    world.run(200)
    assert_not_visible(world, "b", SILENT)
    assert (world.fixes(), world.marks("b1"), world.marks("b2")) == (["b1"], marks, PASSED)
    world.set_far("b", "b1", "True")
    world.clusters["b"].come_back()
    world.run(100)
    assert world.connections.of["b"][-1] == SEEN
    assert world.fixes() == []
    assert world.status("b")["currentHealthy"] == 3


def test_a_short_outage_keeps_the_cluster_visible(world: WorkloadWorld) -> None:
    before = list(world.connections.of["b"])
    world.clusters["b"].go_away()
    world.run(8)
    world.clusters["b"].come_back()
    world.run(100)
    assert world.connections.of["b"] == before
    silence(world, "b1")
    world.run(100)
    assert world.fixes() == ["b1"]


def test_a_cluster_that_denies_access_is_visible_again_after_its_secret_is_rotated(
    world: WorkloadWorld,
) -> None:
    world.clusters["b"].take_only("second")
    silence(world, "a1", "b1")
    world.run(100)
    assert world.fixes() == ["a1"]
    assert_not_visible(world, "b", "its API server does not take the credentials of its Secret (401)")
    world.write_secret("b", world.clusters["b"].kubeconfig())
    world.run(95)
    assert world.connections.of["b"][-1] == SEEN
    world.run(65)
    assert world.fixes() == ["a1", "b1"]


def test_a_rotation_without_a_gap_keeps_the_cluster_visible(world: WorkloadWorld) -> None:
    before = list(world.connections.of["b"])
    world.clusters["b"].take_only("second")
    world.write_secret("b", world.clusters["b"].kubeconfig())
    silence(world, "b1")
    world.run(100)
    assert (world.connections.of["b"], world.fixes()) == (before, ["b1"])


@pytest.mark.slow
def test_a_secret_of_another_cluster_makes_no_node_look_deleted(world: WorkloadWorld) -> None:
    world.write_secret("b", world.clusters["c"].kubeconfig())
    world.clusters["b"].take_only("second")
    world.run(120)
    assert world.fixes() == []
    assert world.connections.of["b"][-1] == (
        "its API server shows no Node with the provider ID of any of its machines"
    )
    assert world.marks("b1") == PASSED


def test_a_node_deleted_from_its_cluster_is_detected_while_other_nodes_are_visible(
    world: WorkloadWorld,
) -> None:
    world.api_of("b").delete(NODE, "b1")
    world.run(3)
    assert world.fixes() == ["b1"]
    assert world.marks("b1")["HealthCheckSucceeded"] == ("False", "NodeDeleted")


@pytest.mark.conforms("B15")
def test_nodes_of_one_name_in_two_clusters_are_kept_apart(world: WorkloadWorld) -> None:
    for name in "ab":
        world.add_far_machine(name, f"{name}-twin", node="twin")
    world.add_node("twin", provider_id="metal://here")
    world.run(5)
    world.set_far("b", "twin", "Unknown")
    world.run(65)
    assert world.fixes() == ["b-twin"]
    assert world.marks("a-twin") == PASSED
    world.set_condition("twin", "Ready", "Unknown")
    world.set_far("b", "twin", "True")
    world.run(65)
    assert world.fixes() == []


def test_a_remediation_of_an_own_node_does_not_apply_to_a_workload_node_of_the_same_name(
    world: WorkloadWorld,
) -> None:
    world.add_node("a1", provider_id="metal://here")
    world.api.create(
        MANUAL_REMEDIATION, {"metadata": {"name": "a1"}, "spec": {}}, well_known.SYSTEM_NAMESPACE
    )
    silence(world, "a1")
    world.run(65)
    assert world.fixes() == ["a1"]


def test_many_live_reads_of_a_hanging_cluster_delay_no_other_cluster() -> None:
    world = WorkloadWorld("a")
    world.add_workload_cluster("b", nodes=24)
    world.start()
    silence(world, *(f"b{number}" for number in range(1, 21)))
    world.run(1)
    silence(world, "a1")
    world.run(50)
    world.clusters["b"].hang()
    world.run(13)
    assert world.fixes() == ["a1"]
    world.close()


@pytest.mark.slow
def test_nothing_counts_towards_starting_up_while_a_cluster_is_out_of_reach(world: WorkloadWorld) -> None:
    for name in "ab":
        checks = {"nodeStartupTimeoutSeconds": 200}
        world.change_check({"checks": checks}, name)
        world.add_machine(f"{name}-new", node=None, cluster=name)
    world.clusters["b"].go_away()
    world.run(205)
    assert world.fixes() == ["a-new"]
    world.clusters["b"].come_back()
    world.run(205)
    assert world.fixes() == ["a-new"]
    world.run(70)
    assert world.fixes() == ["a-new", "b-new"]


def test_not_even_an_operator_s_request_starts_in_an_unreachable_cluster(world: WorkloadWorld) -> None:
    world.clusters["b"].go_away()
    world.run(100)
    for machine in ("a1", "b1"):
        world.annotate(machine, {"cluster.x-k8s.io/remediate-machine": ""})
    world.run(20)
    assert (world.fixes(), world.marks("b1")) == (["a1"], PASSED)
    world.clusters["b"].come_back()
    world.run(120)
    assert world.fixes() == ["a1", "b1"]


def test_the_live_read_is_sent_to_the_node_s_own_cluster(world: WorkloadWorld) -> None:
    """The watch of that cluster lags, and still shows the node as it was."""
    silence(world, "b1")
    world.run(50)
    server = world.clusters["b"].server
    server.lag(NODE, server.revision)
    world.set_far("b", "b1", "True")
    world.run(20)
    assert world.fixes() == []


def test_a_storm_in_one_cluster_holds_up_no_other() -> None:
    world = WorkloadWorld("a", "b", maxUnhealthy="40%", maxConcurrent=1)
    world.start()
    silence(world, "a1", "a2", "b1")
    world.run(70)
    assert world.fixes() == ["b1"]
    assert world.said("RemediationAllowed", "a") == ("False", "TooManyUnhealthy")
    world.close()


def test_the_limit_of_simultaneous_remediations_counts_per_cluster() -> None:
    world = WorkloadWorld("a", "b", maxConcurrent=1)
    world.start()
    silence(world, "a1", "a2", "b1")
    world.run(90)
    assert len(world.fixes()) == 2
    assert "b1" in world.fixes()
    world.close()


def test_a_newly_visible_cluster_is_no_storm_that_must_settle() -> None:
    world = WorkloadWorld("a", maxUnhealthy="40%", settleTime="10m")
    world.clusters["a"].hang()
    world.start()
    silence(world, "a1")
    world.run(120)
    world.clusters["a"].come_back()
    world.run(240)
    assert world.fixes() == ["a1"]
    world.close()


def test_without_a_connector_workload_clusters_are_not_read() -> None:
    world = WorkloadWorld("a", connected=False)
    world.start()
    silence(world, "a1")
    world.run(100)
    assert (world.fixes(), world.clusters["a"].links) == ([], [])
    world.close()
