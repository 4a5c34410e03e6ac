"""Without a template: conditions ask the Machine's owner to replace it, while the guard allows it."""

from typing import Any

import pytest

from nodemend.api.resources import NODE, REMEDIATION_POLICY
from nodemend.records.machine import CLUSTER_API, OPENSHIFT
from tests.unit.health.machine.conftest import NewWorld
from tests.unit.health.machine.machine_world import CLUSTER, SPACE, MachineWorld

FAILED = ("False", "UnhealthyNode")
ASKED = ("False", "WaitingForRemediation")
PASSED = ("True", "HealthCheckSucceeded")
NEXT_RECHECK = 11.0
"""One starts each second; a Machine that this limit holds is evaluated again after this time."""


@pytest.fixture
def world(new_world: NewWorld) -> MachineWorld:
    begun = new_world()
    begun.add_pool(5)
    begun.add_check()
    return begun.start()


def silence(world: MachineWorld, *names: str) -> None:
    for name in names:
        world.set_condition(name, "Ready", "Unknown")


@pytest.mark.conforms("D07", "H13")
def test_an_unhealthy_machine_is_marked_and_its_owner_asked(world: MachineWorld) -> None:
    silence(world, "m1")
    world.run(58)
    assert world.marks("m1") == {"HealthCheckSucceeded": PASSED}
    world.run(5)
    assert world.marks("m1") == {"HealthCheckSucceeded": FAILED, "OwnerRemediated": ASKED}
    assert world.message("m1", "HealthCheckSucceeded") == "Unhealthy: Ready=Unknown (Told) for 60 s."
    assert world.marks("m2") == {"HealthCheckSucceeded": PASSED}
    assert world.fixes() == []


@pytest.mark.conforms("C08", "G03", "G04")
def test_the_status_counts_and_names_its_targets(world: MachineWorld) -> None:
    status = world.status()
    assert (status["expectedMachines"], status["currentHealthy"], status["remediationsAllowed"]) == (5, 5, 5)
    assert status["targets"] == ["m1", "m2", "m3", "m4", "m5"]
    assert status["observedGeneration"] == 1
    assert world.said("RemediationAllowed") == ("True", "RemediationAllowed")
    silence(world, "m1")
    world.run(63)
    status = world.status()
    assert (status["expectedMachines"], status["currentHealthy"], status["remediationsAllowed"]) == (5, 4, 4)


@pytest.mark.conforms("H07", "J16", "G10")
def test_a_recovered_machine_is_reported_healthy_and_its_owner_request_is_cleared(
    world: MachineWorld,
) -> None:
    silence(world, "m1")
    world.run(63)
    world.set_condition("m1", "Ready", "True")
    world.run(3)
    assert world.marks("m1") == {"HealthCheckSucceeded": PASSED}


@pytest.mark.conforms("H09")
def test_the_owner_s_progress_condition_is_left_alone(world: MachineWorld) -> None:
    silence(world, "m1")
    world.run(63)
    machine = world.machine("m1")
    assert machine is not None
    conditions = [
        {**one, "reason": "MachineDeleting"} if one["type"] == "OwnerRemediated" else one
        for one in machine["status"]["conditions"]
    ]
    world.set_machine_status("m1", conditions=conditions)
    world.change_check({"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": 0}}})
    world.run(20)
    assert world.marks("m1")["OwnerRemediated"] == ("False", "MachineDeleting")


@pytest.mark.conforms("F06", "F20", "K04")
@pytest.mark.parametrize("reason", ["WaitingForRemediation", "RemediationDeferred"])
def test_a_storm_revokes_requests_that_no_owner_has_begun(world: MachineWorld, reason: str) -> None:
    world.change_check({"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}}})
    silence(world, "m1")
    world.run(63)
    machine = world.machine("m1")
    assert machine is not None
    conditions = [
        {**one, "reason": reason} if one["type"] == "OwnerRemediated" else one
        for one in machine["status"]["conditions"]
    ]
    world.set_machine_status("m1", conditions=conditions)
    silence(world, "m2", "m3", "m4")
    world.run(15)
    assert world.marks("m1") == {"HealthCheckSucceeded": FAILED}
    world.run(60)
    assert all(world.marks(name) == {"HealthCheckSucceeded": FAILED} for name in ("m2", "m3", "m4"))
    assert world.said("RemediationAllowed") == ("False", "TooManyUnhealthy")
    assert world.status()["remediationsAllowed"] == 0


@pytest.mark.conforms("F11")
def test_the_limit_closes_before_the_first_deadline_when_many_are_suspect(world: MachineWorld) -> None:
    world.change_check({"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}}})
    silence(world, "m1", "m2", "m3")
    world.run(10)
    assert world.said("RemediationAllowed") == ("False", "TooManyUnhealthy")


@pytest.mark.conforms("F03", "F04", "F05")
@pytest.mark.parametrize(("limit", "asked"), [(1, False), (2, True), ("40%", True), ("39%", False)])
def test_meeting_a_limit_that_says_or_equal_is_allowed(
    new_world: NewWorld, limit: Any, *, asked: bool
) -> None:
    world = new_world()
    world.add_pool(5)
    world.add_check(remediation={"triggerIf": {"unhealthyLessThanOrEqualTo": limit}})
    world.start()
    silence(world, "m1", "m2")
    world.run(65 + NEXT_RECHECK)
    assert ("OwnerRemediated" in world.marks("m1")) is asked


@pytest.mark.parametrize(
    ("reading", "limit", "asked"),
    [("AtLimit", 2, False), ("AtLimit", 3, True), ("AboveLimit", 2, True), ("AboveLimit", "40%", True)],
)
def test_max_unhealthy_is_read_with_the_policy_s_semantics(
    new_world: NewWorld, reading: str, limit: Any, *, asked: bool
) -> None:
    world = new_world(version="v1beta1", machines={"limitReading": reading})
    world.add_pool(5)
    world.add_check(maxUnhealthy=limit)
    world.start()
    silence(world, "m1", "m2")
    world.run(65 + NEXT_RECHECK)
    assert ("OwnerRemediated" in world.marks("m1")) is asked


@pytest.mark.conforms("F19", "L05")
@pytest.mark.parametrize(("reading", "asked"), [("AtLimit", False), ("AllowsOne", True)])
def test_a_small_group_is_remediated_if_the_policy_allows_it(
    new_world: NewWorld, reading: str, *, asked: bool
) -> None:
    world = new_world(version="v1beta1", machines={"limitReading": reading})
    world.add_pool(3)
    world.add_check(maxUnhealthy="20%")
    world.start()
    silence(world, "m1")
    world.run(65)
    assert ("OwnerRemediated" in world.marks("m1")) is asked


@pytest.mark.conforms("E06")
def test_twenty_simultaneous_failures_are_reported_within_two_seconds_of_their_deadline(
    new_world: NewWorld,
) -> None:
    world = new_world()
    names = world.add_pool(20)
    world.add_check(remediation={"triggerIf": {"unhealthyLessThanOrEqualTo": 0}})
    world.start()
    silence(world, *names)
    world.run(62)
    assert {world.marks(name)["HealthCheckSucceeded"] for name in names} == {FAILED}


def test_in_a_dry_run_nothing_is_written_on_any_machine(new_world: NewWorld) -> None:
    world = new_world(mode="DryRun")
    world.add_pool(3)
    world.add_check()
    world.start()
    silence(world, "m1")
    world.run(70)
    assert world.marks("m1") == world.marks("m2") == {}
    assert not [write for write in world.writes if "/machines/" in write]
    assert world.said("RemediationAllowed") == ("False", "DryRun")


def test_a_pause_revokes_requests_that_no_owner_has_begun(world: MachineWorld) -> None:
    silence(world, "m1")
    world.run(63)
    pause = {"reason": "switch upgrade", "by": "anna"}
    world.api.patch(REMEDIATION_POLICY, "cluster", {"spec": {"pause": pause}})
    world.run(3)
    assert "OwnerRemediated" not in world.marks("m1")


def test_a_paused_cluster_is_left_alone(world: MachineWorld) -> None:
    world.api.patch(world.clusters_at, CLUSTER, {"spec": {"paused": True}}, at=(SPACE, ""))
    silence(world, "m1")
    world.run(70)
    assert world.marks("m1") == {"HealthCheckSucceeded": PASSED}


@pytest.mark.conforms("H10")
def test_an_unowned_machine_gets_no_owner_remediation(world: MachineWorld) -> None:
    world.add_node("lonely")
    world.add_machine("lonely", owner=False)
    silence(world, "lonely")
    world.run(65)
    assert world.marks("lonely") == {"HealthCheckSucceeded": FAILED}


@pytest.mark.conforms("C05", "D05", "D14")
def test_a_deleted_node_is_found_at_once(world: MachineWorld) -> None:
    world.api.delete(NODE, "m1")
    world.run(3)
    assert world.marks("m1")["HealthCheckSucceeded"] == ("False", "NodeDeleted")
    assert "its Node m1 is gone" in world.message("m1", "HealthCheckSucceeded")


@pytest.mark.conforms("C06", "D03", "E01")
def test_a_machine_that_never_becomes_a_node_is_found_after_its_time(world: MachineWorld) -> None:
    world.change_check({"checks": {"nodeStartupTimeoutSeconds": 120}})
    world.add_machine("new", node=None)
    world.run(115)
    assert "OwnerRemediated" not in world.marks("new")
    world.run(10)
    assert world.marks("new")["HealthCheckSucceeded"] == ("False", "NodeStartupTimeout")


@pytest.mark.conforms("D02")
def test_the_clock_of_a_machine_without_infrastructure_does_not_run(world: MachineWorld) -> None:
    world.change_check({"checks": {"nodeStartupTimeoutSeconds": 60}})
    world.add_machine("new", node=None)
    world.set_machine_status("new", initialization={"infrastructureProvisioned": False})
    world.run(100)
    assert world.marks("new") == {}
    world.set_machine_status("new", initialization={"infrastructureProvisioned": True})
    world.run(55)
    assert world.marks("new") == {}
    world.run(10)
    assert world.marks("new")["HealthCheckSucceeded"] == ("False", "NodeStartupTimeout")


@pytest.mark.conforms("D13")
def test_a_machine_with_the_annotation_is_unhealthy_at_once(world: MachineWorld) -> None:
    world.annotate("m1", {"cluster.x-k8s.io/remediate-machine": ""})
    world.run(3)
    assert world.marks("m1") == {
        "HealthCheckSucceeded": ("False", "HasRemediateAnnotation"),
        "OwnerRemediated": ASKED,
    }


@pytest.mark.conforms("C07")
@pytest.mark.parametrize("annotation", ["cluster.x-k8s.io/paused", "cluster.x-k8s.io/skip-remediation"])
def test_an_excluded_machine_is_no_target(world: MachineWorld, annotation: str) -> None:
    world.annotate("m1", {annotation: ""})
    silence(world, "m1")
    world.run(65)
    assert world.marks("m1") == {"HealthCheckSucceeded": PASSED}
    assert world.status()["expectedMachines"] == 4


def test_nodes_of_a_workload_cluster_are_not_read_in_the_management_cluster(new_world: NewWorld) -> None:
    world = new_world()
    world.add_machine("far-1", node="far-1")
    world.add_machine("far-2", node="far-2")
    world.add_check()
    world.start()
    world.run(120)
    assert world.marks("far-1") == {}
    assert (world.status()["expectedMachines"], world.status()["currentHealthy"]) == (2, 0)


@pytest.mark.conforms("B06")
def test_a_node_that_two_machines_claim_judges_neither(world: MachineWorld) -> None:
    world.add_machine("twin", node="m1")
    silence(world, "m1")
    world.run(70)
    assert world.marks("m1") == {"HealthCheckSucceeded": PASSED}
    assert world.marks("twin") == {}


def test_a_check_that_was_not_claimed_is_not_served(new_world: NewWorld) -> None:
    begun = new_world()
    begun.add_pool(2)
    begun.add_check(claimed=False)
    begun.start()
    silence(begun, "m1")
    begun.run(70)
    assert not [write for write in begun.writes if CLUSTER_API in write]


@pytest.mark.conforms("F02")
def test_a_check_with_an_invalid_spec_does_nothing_and_reports_it(new_world: NewWorld) -> None:
    world = new_world(version="v1beta1")
    world.add_pool(3)
    world.add_check(maxUnhealthy="many")
    world.start()
    silence(world, "m1")
    world.run(65)
    assert "OwnerRemediated" not in world.marks("m1")
    assert world.said("Stalled") == ("True", "UnsupportedSetting")
    assert world.said("RemediationAllowed") == ("False", "UnsupportedSetting")


def test_openshift_s_machines_are_deleted_where_the_policy_lets_them_be(new_world: NewWorld) -> None:
    world = new_world(OPENSHIFT, "v1beta1", machines={"deleteMachines": True})
    world.add_pool(5)
    world.add_check()
    world.start()
    silence(world, "m1")
    world.run(65)
    assert world.machine("m1") is None
    assert world.machine("m2") is not None


STRATEGY = "machine.openshift.io/remediation-strategy"


@pytest.mark.attack("G5")
@pytest.mark.parametrize("strategy", ["external-baremetal", "\x1b[2Jx" * 100])
@pytest.mark.parametrize("may_delete", [True, False])
def test_a_strategy_without_a_template_deletes_nothing_and_that_is_reported(
    new_world: NewWorld, strategy: str, *, may_delete: bool
) -> None:
    world = new_world(OPENSHIFT, "v1beta1", machines={"deleteMachines": may_delete})
    world.add_pool(5)
    world.add_check()
    world.annotate_check({STRATEGY: strategy})
    world.start()
    world.set_condition("m1", "Ready", "Unknown")
    world.run(300)

    assert world.machine("m1") is not None
    named = strategy if strategy == "external-baremetal" else "one that Nodemend does not know"
    assert f"{STRATEGY} ({named}) needs a remediation template" in world.allowed_message("workers")
    assert world.said("RemediationAllowed") == ("False", "UnsupportedSetting")
    assert world.said("Stalled") == ("True", "UnsupportedSetting")


@pytest.mark.attack("G5")
def test_a_strategy_that_goes_lets_the_machine_be_deleted(new_world: NewWorld) -> None:
    world = new_world(OPENSHIFT, "v1beta1", machines={"deleteMachines": True})
    world.add_pool(5)
    world.add_check()
    world.annotate_check({STRATEGY: "external-baremetal"})
    world.start()
    world.set_condition("m1", "Ready", "Unknown")
    world.run(100)
    assert world.machine("m1") is not None
    world.annotate_check({STRATEGY: None})
    world.run(60)
    assert world.machine("m1") is None


@pytest.mark.conforms("J17")
def test_openshift_s_masters_are_deleted_too_while_a_majority_stays(new_world: NewWorld) -> None:
    world = new_world(OPENSHIFT, "v1beta1", machines={"deleteMachines": True})
    for name in ("cp-1", "cp-2", "cp-3"):
        world.add_node(name)
        role = {"machine.openshift.io/cluster-api-machine-role": "master"}
        world.add_machine(name, labels={"pool": "workers", **role})
    world.add_check()
    world.start()
    silence(world, "cp-1")
    world.run(65)
    assert world.machine("cp-1") is None
    silence(world, "cp-2")
    world.run(80)
    assert world.machine("cp-2") is not None


@pytest.mark.conforms("H12")
def test_a_deletion_that_is_refused_is_tried_again(new_world: NewWorld) -> None:
    world = new_world(OPENSHIFT, "v1beta1", machines={"deleteMachines": True})
    world.add_pool(3)
    world.add_check()
    world.start()
    world.refuse_writes_to("m1")
    silence(world, "m1")
    world.run(70)
    assert world.machine("m1") is not None
    world.allow_writes_to("m1")
    world.run(60)
    assert world.machine("m1") is None


def test_without_the_strategy_openshift_s_machines_are_kept(new_world: NewWorld) -> None:
    world = new_world(OPENSHIFT, "v1beta1")
    world.add_pool(5)
    world.add_check()
    world.start()
    silence(world, "m1")
    world.run(80)
    assert world.machine("m1") is not None
    assert (world.status()["expectedMachines"], world.status()["currentHealthy"]) == (5, 4)
    assert "targets" not in world.status()


@pytest.mark.conforms("D25")
def test_openshift_s_machine_in_phase_failed_is_unhealthy_at_once(new_world: NewWorld) -> None:
    world = new_world(OPENSHIFT, "v1beta1", machines={"deleteMachines": True})
    world.add_pool(5)
    world.add_check()
    world.start()
    world.set_machine_status("m1", phase="Failed", errorMessage="no such image")
    world.run(3)
    assert world.machine("m1") is None


def test_after_a_storm_elsewhere_a_check_says_that_it_may_act_again(new_world: NewWorld) -> None:
    """Nothing about its own Machines has changed since it reported that it may not act."""
    world = new_world(maxUnhealthy=2)
    for name in world.add_pool(3):
        world.set_condition(name, "Ready", "Unknown")
    world.add_node("well")
    world.add_machine("well", labels={"pool": "others"})
    world.add_check()
    world.add_check("others", selector={"matchLabels": {"pool": "others"}})
    world.start().run(60)
    world.api.patch(world.checks_at, "others", {"metadata": {"labels": {"touched": "yes"}}}, at=(SPACE, ""))
    world.run(5)
    assert world.said("RemediationAllowed", "others") == ("False", "TooManyUnhealthy")
    for name in ("m1", "m2", "m3"):
        world.set_condition(name, "Ready", "True")
    world.run(30)
    assert world.said("RemediationAllowed", "others") == ("True", "RemediationAllowed")
