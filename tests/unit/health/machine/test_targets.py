"""The Machines that a check selects, and what is reported of them."""

from typing import Any

import pytest

from nodemend.api.resources import NODE
from nodemend.health.machine.events import MachineHealthCheckRecorder
from nodemend.kube.events import EventRecord
from nodemend.records.machine import OPENSHIFT
from tests.unit.health.machine.conftest import NewWorld
from tests.unit.health.machine.machine_world import CLUSTER, SPACE, MachineWorld
from tests.unit.telemetry.scraped import Scraped

PASSED = ("True", "HealthCheckSucceeded")


@pytest.fixture
def world(new_world: NewWorld) -> MachineWorld:
    begun = new_world()
    begun.add_pool(3)
    begun.add_check()
    return begun.start()


def counts(world: MachineWorld, check: str = "workers") -> tuple[int, int, int]:
    status = world.status(check)
    return status["expectedMachines"], status["currentHealthy"], status["remediationsAllowed"]


@pytest.mark.conforms("C01")
def test_without_machines_there_is_nothing_to_count_and_nothing_to_hold(new_world: NewWorld) -> None:
    world = new_world()
    world.add_check()
    world.start()
    assert counts(world) == (0, 0, 0)
    assert world.said("RemediationAllowed") == ("True", "RemediationAllowed")


@pytest.mark.conforms("C02", "B04")
def test_a_machine_outside_the_selector_is_not_counted(world: MachineWorld) -> None:
    world.add_node("other")
    world.add_machine("other", labels={"pool": "others"})
    world.set_condition("other", "Ready", "Unknown")
    world.run(70)
    assert counts(world) == (3, 3, 3)
    assert world.marks("other") == {}


@pytest.mark.conforms("C03", "B02", "B09")
def test_a_machine_of_another_cluster_is_not_counted(world: MachineWorld) -> None:
    world.add_cluster("other")
    world.add_node("far")
    world.add_machine("far", cluster="other")
    world.set_condition("far", "Ready", "Unknown")
    world.run(70)
    assert counts(world) == (3, 3, 3)
    assert world.marks("far") == {}


@pytest.mark.conforms("C04", "D12", "B03", "B08", "B10")
def test_each_machine_is_judged_by_its_own_node(world: MachineWorld) -> None:
    world.set_condition("m2", "Ready", "Unknown")
    world.run(30)
    world.set_condition("m3", "Ready", "Unknown")
    world.run(33)
    assert world.marks("m1") == {"HealthCheckSucceeded": PASSED}
    assert world.marks("m2")["HealthCheckSucceeded"] == ("False", "UnhealthyNode")
    assert world.marks("m3") == {"HealthCheckSucceeded": PASSED}
    world.run(30)
    assert world.marks("m3")["HealthCheckSucceeded"] == ("False", "UnhealthyNode")


@pytest.mark.conforms("B12")
def test_a_machine_that_loses_its_label_leaves_the_counts(world: MachineWorld) -> None:
    world.change_machine("m1", labels={"pool": None})
    world.run(3)
    assert counts(world) == (2, 2, 2)
    assert world.status()["targets"] == ["m2", "m3"]


def test_each_of_two_checks_of_a_cluster_names_its_own_targets(world: MachineWorld) -> None:
    world.change_machine("m1", labels={"pool": "storage"})
    world.add_check("storage", selector={"matchLabels": {"pool": "storage"}})
    world.run(3)
    assert world.status("storage")["targets"] == ["m1"]
    assert world.status()["targets"] == ["m2", "m3"]


@pytest.mark.slow
@pytest.mark.conforms("B16")
def test_a_machine_that_is_deleted_leaves_the_counts(world: MachineWorld) -> None:
    world.api.delete(world.machines_at, "m1", SPACE)
    world.run(3)
    assert counts(world) == (2, 2, 2)


@pytest.mark.conforms("B17")
def test_an_empty_selector_means_every_machine_of_openshift_and_none_of_cluster_api(
    new_world: NewWorld,
) -> None:
    theirs = new_world(OPENSHIFT, "v1beta1")
    theirs.add_pool(3)
    theirs.add_check(selector={})
    theirs.start()
    assert theirs.status()["expectedMachines"] == 3
    ours = new_world()
    ours.add_pool(3)
    ours.add_check(selector={})
    ours.start()
    assert ours.status()["expectedMachines"] == 0


@pytest.mark.conforms("B18")
def test_an_invalid_selector_matches_no_machine(new_world: NewWorld) -> None:
    world = new_world()
    world.add_pool(3)
    world.add_check(
        selector={"matchExpressions": [{"key": "pool", "operator": "Resembles", "values": ["w"]}]}
    )
    world.start()
    world.set_condition("m1", "Ready", "Unknown")
    world.run(70)
    assert world.marks("m1") == {}


@pytest.mark.conforms("B13", "B14", "E02", "E03")
def test_an_irrelevant_change_causes_no_write(world: MachineWorld) -> None:
    world.writes.clear()
    for beat in range(5):
        heartbeat = {"type": "Ready", "status": "True", "reason": "Told", "lastHeartbeatTime": world.now}
        world.api.patch(NODE, "m1", {"status": {"conditions": [heartbeat]}}, at=("", "status"))
        world.change_machine("m2", annotations={"example.com/beat": str(beat)})
        world.run(5)
    assert world.writes == []


@pytest.mark.conforms("B05", "B07")
def test_a_node_without_a_machine_or_a_check_causes_no_write(world: MachineWorld) -> None:
    world.add_node("stray")
    world.add_node("unchecked")
    world.add_machine("unchecked", labels={})
    world.writes.clear()
    for name in ("stray", "unchecked"):
        world.set_condition(name, "Ready", "Unknown")
    world.run(70)
    assert world.writes == []


@pytest.mark.conforms("B01", "D17", "D18", "D19")
def test_nothing_is_evaluated_before_its_cluster_is_ready_and_then_the_timeout_starts(
    new_world: NewWorld,
) -> None:
    world = new_world()
    world.change_cluster(infrastructureProvisioned=False)
    world.add_pool(2)
    world.add_machine("new", node=None)
    world.add_check(checks={"nodeStartupTimeoutSeconds": 60})
    world.start()
    world.api.delete(NODE, "m1")
    world.run(120)
    assert (world.marks("m1"), world.marks("new")) == ({}, {})
    assert counts(world)[:2] == (3, 0)
    world.change_cluster(infrastructureProvisioned=True)
    world.run(5)
    assert world.marks("m1")["HealthCheckSucceeded"] == ("False", "NodeDeleted")
    assert world.marks("new") == {}
    world.run(70)
    assert world.marks("new")["HealthCheckSucceeded"] == ("False", "NodeStartupTimeout")


@pytest.mark.conforms("D18")
def test_before_the_control_plane_is_up_only_its_own_machines_are_judged(new_world: NewWorld) -> None:
    world = new_world()
    world.change_cluster(controlPlaneInitialized=False)
    world.add_pool(1)
    for name in ("cp-1", "cp-2", "cp-3"):
        world.add_node(name)
        world.add_machine(name, labels={"pool": "workers", "cluster.x-k8s.io/control-plane": ""})
    world.add_check()
    world.start()
    for name in ("m1", "cp-1"):
        world.api.delete(NODE, name)
    world.run(5)
    assert world.marks("m1") == {}
    assert world.marks("cp-1")["HealthCheckSucceeded"] == ("False", "NodeDeleted")


@pytest.mark.conforms("B11", "D10")
def test_a_machine_condition_that_turns_bad_is_found(world: MachineWorld) -> None:
    world.change_check({"checks": {"unhealthyMachineConditions": [a_condition("BootOK", "False", 30)]}})
    bad = {"type": "BootOK", "status": "False", "reason": "BadDisk", "lastTransitionTime": world.now}
    machine = world.machine("m1")
    assert machine is not None
    world.set_machine_status("m1", conditions=[*machine["status"]["conditions"], bad])
    world.run(28)
    assert world.marks("m1")["HealthCheckSucceeded"] == PASSED
    world.run(5)
    assert world.marks("m1")["HealthCheckSucceeded"] == ("False", "UnhealthyMachine")
    assert "BootOK=False (BadDisk) for 30 s" in world.message("m1", "HealthCheckSucceeded")


@pytest.mark.conforms("D23")
def test_a_timeout_of_zero_has_passed_at_the_first_evaluation(world: MachineWorld) -> None:
    world.change_check({"checks": {"unhealthyNodeConditions": [a_condition("Terminating", "True", 0)]}})
    world.set_condition("m1", "Terminating", "True")
    world.run(2)
    assert world.marks("m1")["HealthCheckSucceeded"] == ("False", "UnhealthyNode")


def a_condition(type_: str, status: str, seconds: int) -> dict[str, Any]:
    return {"type": type_, "status": status, "timeoutSeconds": seconds}


@pytest.mark.conforms("G05")
def test_the_generation_that_is_observed_moves_with_the_check(world: MachineWorld) -> None:
    assert world.status()["observedGeneration"] == 1
    world.change_check({"checks": {"nodeStartupTimeoutSeconds": 900}})
    world.run(3)
    assert world.status()["observedGeneration"] == 2


@pytest.mark.conforms("E05", "F11", "F16", "F17")
def test_counts_stay_true_while_the_guard_is_closed(world: MachineWorld) -> None:
    world.change_check({"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": 0}}})
    world.set_condition("m1", "Ready", "Unknown")
    world.run(20)
    assert counts(world) == (3, 2, 0)
    world.set_condition("m2", "Ready", "Unknown")
    world.run(45)
    assert world.marks("m1")["HealthCheckSucceeded"] == ("False", "UnhealthyNode")
    assert world.marks("m2")["HealthCheckSucceeded"] == PASSED
    assert counts(world) == (3, 1, 0)
    conditions = {one["type"]: one["message"] for one in world.status()["conditions"]}
    assert "2 of 3" in conditions["RemediationAllowed"]


@pytest.mark.conforms("F07", "F08", "F12")
@pytest.mark.parametrize(("failed", "allowed", "status"), [(1, 0, "False"), (2, 1, "True"), (3, 0, "True")])
def test_a_range_is_open_between_its_ends(
    new_world: NewWorld, failed: int, allowed: int, status: str
) -> None:
    world = new_world()
    names = world.add_pool(5)
    world.add_check(remediation={"triggerIf": {"unhealthyInRange": "[2-3]"}})
    world.start()
    for name in names[:failed]:
        world.set_condition(name, "Ready", "Unknown")
    world.run(3)
    assert world.said("RemediationAllowed")[0] == status
    assert counts(world)[2] == allowed


@pytest.mark.conforms("J03", "J07", "J08", "J09", "J12", "J02")
@pytest.mark.parametrize(
    ("members", "sick", "asked"), [(1, 1, 0), (3, 1, 1), (3, 2, 0), (5, 2, 1), (5, 3, 0), (3, 0, 0)]
)
def test_the_control_plane_keeps_its_majority_and_is_remediated_one_at_a_time(
    new_world: NewWorld, members: int, sick: int, asked: int
) -> None:
    world = new_world()
    names = [f"cp-{number}" for number in range(members)]
    for name in names:
        world.add_node(name)
        world.add_machine(name, labels={"pool": "workers", "cluster.x-k8s.io/control-plane": ""})
    world.add_check(remediation={"triggerIf": {"unhealthyLessThanOrEqualTo": "100%"}})
    world.start()
    for name in names[:sick]:
        world.set_condition(name, "Ready", "Unknown")
    world.run(120)
    assert sum("OwnerRemediated" in world.marks(name) for name in names) == asked


@pytest.mark.conforms("F18")
def test_how_many_at_once_is_limited_apart_from_the_limit(new_world: NewWorld) -> None:
    world = new_world(maxConcurrent=2)
    names = world.add_pool(6)
    world.add_check()
    world.start()
    for name in names[:4]:
        world.set_condition(name, "Ready", "Unknown")
    world.run(120)
    assert sum("OwnerRemediated" in world.marks(name) for name in names) == 2


@pytest.mark.conforms("G08")
def test_one_machine_that_cannot_be_written_does_not_stop_the_others(world: MachineWorld) -> None:
    world.refuse_writes_to("m1")
    for name in ("m1", "m2"):
        world.set_condition(name, "Ready", "Unknown")
    world.run(80)
    assert world.marks("m1") == {"HealthCheckSucceeded": PASSED}
    assert world.marks("m2")["HealthCheckSucceeded"] == ("False", "UnhealthyNode")


def test_a_deleted_cluster_evaluates_no_machine(world: MachineWorld) -> None:
    world.api.delete(world.clusters_at, CLUSTER, SPACE)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(70)
    assert world.marks("m1") == {"HealthCheckSucceeded": PASSED}


@pytest.mark.attack("G6")
def test_a_check_whose_machines_another_check_has_reports_it_once(new_world: NewWorld) -> None:
    events: list[EventRecord] = []
    scraped = Scraped()
    world = new_world()
    world.add_pool(3)
    world.add_check()
    world.add_check("a-first", selector={"matchLabels": {"pool": "workers", "rack": "a"}})
    world.start(recorder=MachineHealthCheckRecorder(scraped.log, scraped.metrics, events.append))
    assert world.said("Overlapping") == ("", "")
    for name in ("m1", "m2", "m3"):
        world.change_machine(name, labels={"rack": "a"})
        world.run(20)
    assert (world.said("Overlapping"), world.said("Stalled")) == (
        ("True", "OthersComeFirst"),
        ("True", "NoTargetsLeft"),
    )
    shown = {one["type"]: one for one in world.status()["conditions"]}
    assert (
        "3 are watched by checks whose name comes first: 3 by mhc/a-first." in shown["Overlapping"]["message"]
    )
    [event] = [one for one in events if one.reason == "CheckOverlapped"]
    assert (event.regarding.kind, event.regarding.name) == ("MachineHealthCheck", "workers")

    world.api.delete(world.checks_at, "a-first", SPACE)
    world.run(20)
    assert (world.said("Overlapping"), world.said("Stalled"), counts(world)[0]) == (("", ""), ("", ""), 3)
