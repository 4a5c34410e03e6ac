"""An annotation requests the remediation of a Machine: it starts, heals, and the annotation is removed."""

from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.resources import (
    LEASE,
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    METAL3_REMEDIATION_TEMPLATE,
    NODE,
    REMEDIATION_POLICY,
    SELF_REMEDIATION,
    SELF_REMEDIATION_TEMPLATE,
)
from nodemend.guard.state import TargetStatus
from nodemend.health.machine.annotation import ACCEPTED_FOR
from nodemend.health.machine.targets import MachineTarget
from nodemend.records.machine import CLUSTER_API, OPENSHIFT, MachineRecord
from simulation.cluster.direct import Object
from simulation.cluster.replicas import Silent
from tests.unit.health.machine.conftest import NewWorld
from tests.unit.health.machine.machine_world import SPACE, MachineWorld
from tests.unit.health.machine.workload_world import WorkloadWorld

ASK = {well_known.EXTERNAL_REMEDIATION: ""}
HOST = {well_known.HOST_OF_MACHINE: f"{SPACE}/host-1"}
TEMPLATE = "reboot"
UNCHANGED_FOR = 25.0
"""Seconds until the annotation has lasted long enough and its remediation exists."""


class RecordedEvents(Silent):
    """The events that the checker reports."""

    def __init__(self) -> None:
        self.held_for: dict[str, str] = {}
        self.ignored_for: list[tuple[str, str]] = []
        self.actions: list[tuple[str, str]] = []

    def judged(self, *reported: Any) -> None:
        target, _before, now = reported
        assert isinstance(target, MachineTarget)
        assert isinstance(now, TargetStatus)
        self.held_for[target.machine.name] = now.message

    def asked(self, *reported: Any) -> None:
        target, action = reported
        self.actions.append((target.machine.name, type(action).__name__))

    def annotation_ignored(self, *reported: Any) -> None:
        machine, why = reported
        assert isinstance(machine, MachineRecord)
        self.ignored_for.append((machine.name, why))


@pytest.fixture
def reported() -> RecordedEvents:
    return RecordedEvents()


def add_template(world: MachineWorld) -> None:
    made = {"metadata": {"name": TEMPLATE}, "spec": {"template": {"spec": {"deleteAfterRetries": 5}}}}
    world.api.create(METAL3_REMEDIATION_TEMPLATE, made, SPACE)


def a_world(
    new_world: NewWorld, reported: RecordedEvents, machines: int = 4, *arguments: str, **policy: Any
) -> MachineWorld:
    world = new_world(*arguments, **policy)
    world.add_pool(machines, annotations=HOST)
    add_template(world)
    world.start(recorder=reported, annotation_template=TEMPLATE)
    return world


@pytest.fixture
def world(new_world: NewWorld, reported: RecordedEvents) -> MachineWorld:
    return a_world(new_world, reported)


def cycles(world: MachineWorld) -> list[str]:
    return sorted(one["metadata"]["name"] for one in world.api.list(METAL3_REMEDIATION))


def the_cycle(world: MachineWorld, name: str) -> Object:
    found = world.api.get(METAL3_REMEDIATION, name, SPACE)
    assert found is not None
    return found


def says(world: MachineWorld, name: str, **conditions: str) -> None:
    """The remediator reports these conditions."""
    reported = [
        {"type": type_, "status": status, "reason": "Told", "message": "", "lastTransitionTime": world.now}
        for type_, status in conditions.items()
    ]
    world.api.patch(METAL3_REMEDIATION, name, {"status": {"conditions": reported}}, at=(SPACE, "status"))


def asked(world: MachineWorld, name: str) -> bool:
    machine = world.machine(name)
    assert machine is not None
    return well_known.EXTERNAL_REMEDIATION in machine["metadata"].get("annotations", {})


def fall_sick(world: MachineWorld, *names: str) -> None:
    for name in names:
        world.set_condition(name, "Ready", "Unknown")
        world.annotate(name, ASK)


@pytest.mark.parametrize(("group", "version"), [(CLUSTER_API, "v1beta2"), (OPENSHIFT, "v1beta1")])
def test_it_gets_the_remediation_that_a_check_would_have_made(
    new_world: NewWorld, reported: RecordedEvents, group: str, version: str
) -> None:
    world = a_world(new_world, reported, 4, group, version)
    fall_sick(world, "m1")
    world.run(UNCHANGED_FOR)

    made, machine = the_cycle(world, "m1"), world.machine("m1")
    assert machine is not None
    assert made["spec"]["deleteAfterRetries"] == 5
    (owner,) = made["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": world.machines_at.api_version,
        "kind": "Machine",
        "name": "m1",
        "uid": machine["metadata"]["uid"],
    }
    assert made["metadata"]["annotations"][well_known.TEMPLATE] == TEMPLATE
    assert cycles(world) == ["m1"]


@pytest.mark.attack("G3")
@pytest.mark.parametrize("after", [5.0, 20.0, 35.0])
def test_a_dead_node_that_still_shows_ready_is_remediated(world: MachineWorld, after: float) -> None:
    """Its kubelet dies, the annotation is set, and Kubernetes turns the node Unknown after 50 s."""
    world.run(300.0)
    world.annotate("m1", ASK)
    world.run(50.0 - after)
    assert asked(world, "m1")
    world.set_condition("m1", "Ready", "Unknown")
    world.run(UNCHANGED_FOR)

    assert cycles(world) == ["m1"]


@pytest.mark.attack("G3")
def test_a_node_that_is_ready_for_a_minute_after_the_request_is_left_alone(world: MachineWorld) -> None:
    world.run(300.0)
    world.annotate("m1", ASK)
    world.run(ACCEPTED_FOR - 5.0)
    assert asked(world, "m1")
    world.run(10.0)

    assert not asked(world, "m1")
    assert not cycles(world)


def test_the_annotation_must_be_set_for_some_time_before_it_is_acted_upon(world: MachineWorld) -> None:
    fall_sick(world, "m1")
    world.run(18)
    assert cycles(world) == []
    world.annotate("m1", {well_known.EXTERNAL_REMEDIATION: None})
    world.run(60)
    assert cycles(world) == []


def test_after_recovery_the_annotation_is_removed_and_then_the_remediation(
    world: MachineWorld, reported: RecordedEvents
) -> None:
    fall_sick(world, "m1")
    world.run(UNCHANGED_FOR)
    says(world, "m1", Fenced="True", Succeeded="Unknown")
    world.run(30)
    assert (asked(world, "m1"), cycles(world)) == (True, ["m1"])

    world.set_condition("m1", "Ready", "True")
    world.run(10)
    assert (asked(world, "m1"), cycles(world)) == (True, ["m1"]), "only the remediator knows when it is over"

    says(world, "m1", Fenced="True", Succeeded="True")
    world.run(5)
    assert (asked(world, "m1"), cycles(world)) == (False, [])
    assert reported.actions == [("m1", "Create"), ("m1", "Clear"), ("m1", "DeleteRemediation")]


def test_the_request_is_withdrawn_when_a_user_removes_the_annotation(world: MachineWorld) -> None:
    fall_sick(world, "m1")
    world.run(UNCHANGED_FOR)
    world.annotate("m1", {well_known.EXTERNAL_REMEDIATION: None})
    world.run(3)
    assert cycles(world) == []


def test_a_remediation_that_released_something_is_not_withdrawn_with_the_annotation(
    world: MachineWorld,
) -> None:
    fall_sick(world, "m1")
    world.run(UNCHANGED_FOR)
    says(world, "m1", Fenced="True", Succeeded="Unknown")
    world.annotate("m1", {well_known.EXTERNAL_REMEDIATION: None})
    world.run(30)
    assert cycles(world) == ["m1"]
    says(world, "m1", Fenced="True", Succeeded="True")
    world.run(5)
    assert cycles(world) == []


def test_an_annotation_that_was_set_again_is_not_cleared_with_the_previous_one(world: MachineWorld) -> None:
    fall_sick(world, "m1")
    world.run(UNCHANGED_FOR)
    first = the_cycle(world, "m1")["metadata"]["uid"]
    world.annotate("m1", {well_known.EXTERNAL_REMEDIATION: "again"})
    says(world, "m1", Fenced="True", Succeeded="True")
    world.run(UNCHANGED_FOR + 10)

    assert asked(world, "m1")
    assert the_cycle(world, "m1")["metadata"]["uid"] != first


def test_a_healthy_node_is_left_alone_and_the_annotation_is_removed(
    world: MachineWorld, reported: RecordedEvents
) -> None:
    """If it stayed, it would start a needless remediation at the next failure, and count in the limits until
    then.
    """
    world.run(20)
    world.annotate("m1", ASK)
    world.run(5)
    assert asked(world, "m1"), "a kubelet that has just died is still called Ready"
    world.run(ACCEPTED_FOR)
    assert not asked(world, "m1")
    assert (cycles(world), reported.actions) == ([], [("m1", "Clear")])


def test_in_dry_run_nothing_is_written_at_all(new_world: NewWorld, reported: RecordedEvents) -> None:
    world = a_world(new_world, reported, mode="DryRun")
    fall_sick(world, "m1")
    world.annotate("m2", ASK)
    world.run(200)
    assert (asked(world, "m1"), asked(world, "m2"), cycles(world)) == (True, True, [])
    assert not [write for write in world.writes if "machine" in write and "machineHistory" not in write]
    assert "DryRun" in reported.held_for["m1"]


@pytest.mark.slow
def test_a_thousand_at_once_are_a_storm(new_world: NewWorld, reported: RecordedEvents) -> None:
    world = a_world(new_world, reported, 1100, maxUnhealthy="40%")
    fall_sick(world, *(f"m{number}" for number in range(1, 1001)))
    world.run(60)
    assert cycles(world) == []
    assert "Too many targets are unhealthy in the cluster: 1000 of 1100" in reported.held_for["m1000"]


def test_a_few_go_one_by_one_within_the_limits(new_world: NewWorld, reported: RecordedEvents) -> None:
    world = a_world(new_world, reported, 20, maxUnhealthy="40%", maxConcurrent=2)
    fall_sick(world, "m1", "m2", "m3", "m4")
    world.run(120)
    assert len(cycles(world)) == 2


def test_nodes_without_the_annotation_count_in_a_storm_too(
    new_world: NewWorld, reported: RecordedEvents
) -> None:
    world = a_world(new_world, reported, 10, maxUnhealthy="40%")
    for number in range(2, 9):
        world.set_condition(f"m{number}", "Ready", "Unknown")
    world.run(5)
    fall_sick(world, "m1")
    world.run(60)
    assert cycles(world) == []
    assert "8 of 10" in reported.held_for["m1"]


def test_a_pause_holds_it(world: MachineWorld) -> None:
    world.api.patch(REMEDIATION_POLICY, "cluster", {"spec": {"pause": {"by": "anna", "reason": "swap"}}})
    world.run(3)
    fall_sick(world, "m1")
    world.run(60)
    assert cycles(world) == []
    world.api.patch(REMEDIATION_POLICY, "cluster", {"spec": {"pause": None}})
    world.run(15)
    assert cycles(world) == ["m1"]


def test_a_machine_without_a_host_has_to_end_itself(world: MachineWorld) -> None:
    made = {"metadata": {"name": TEMPLATE}, "spec": {"template": {"spec": {"safeTimeSeconds": 90}}}}
    world.api.create(SELF_REMEDIATION_TEMPLATE, made, SPACE)
    world.change_machine("m1", annotations={well_known.HOST_OF_MACHINE: None})
    fall_sick(world, "m1")
    world.run(UNCHANGED_FOR)

    assert cycles(world) == []
    [one] = world.api.list(SELF_REMEDIATION)
    assert (one["metadata"]["name"], one["spec"]["safeTimeSeconds"]) == ("m1", 90)
    assert one["metadata"]["ownerReferences"][0]["kind"] == "Machine"

    world.set_condition("m1", "Ready", "True")
    world.run(ACCEPTED_FOR + 60)
    assert not asked(world, "m1")
    assert world.api.list(SELF_REMEDIATION) == []


def test_a_machine_without_a_host_and_a_template_reports_that(
    world: MachineWorld, reported: RecordedEvents
) -> None:
    world.change_machine("m1", annotations={well_known.HOST_OF_MACHINE: None})
    fall_sick(world, "m1")
    world.run(60)
    assert (cycles(world), world.api.list(SELF_REMEDIATION)) == ([], [])
    assert f"the template {SPACE}/{TEMPLATE}" in reported.held_for["m1"]


def test_without_its_template_nothing_is_created_and_that_is_reported(
    world: MachineWorld, reported: RecordedEvents
) -> None:
    world.api.delete(METAL3_REMEDIATION_TEMPLATE, TEMPLATE, SPACE)
    fall_sick(world, "m1")
    world.run(30)
    assert cycles(world) == []
    assert f"the template {SPACE}/{TEMPLATE}" in reported.held_for["m1"]


def test_it_is_off_unless_it_is_switched_on(new_world: NewWorld, reported: RecordedEvents) -> None:
    world = new_world()
    world.add_pool(4, annotations=HOST)
    world.start(recorder=reported)
    fall_sick(world, "m1")
    world.annotate("m2", ASK)
    world.run(120)
    assert (asked(world, "m1"), asked(world, "m2"), cycles(world)) == (True, True, [])
    assert (reported.actions, reported.ignored_for) == ([], [])


def test_no_marks_are_put_on_machines_that_no_check_has(world: MachineWorld) -> None:
    """HealthCheckSucceeded and similar conditions belong to the controller that serves MachineHealthChecks
    there.
    """
    fall_sick(world, "m1")
    world.run(60)
    assert [world.marks(name) for name in ("m1", "m2")] == [{}, {}]


def test_a_machine_that_a_check_selects_is_left_to_the_check_and_that_is_reported_once(
    world: MachineWorld, reported: RecordedEvents
) -> None:
    world.add_check(template=True)
    fall_sick(world, "m1")
    world.run(30)
    assert (cycles(world), world.fixes(), asked(world, "m1")) == ([], [], True)
    world.run(60)
    assert (cycles(world), world.fixes(), asked(world, "m1")) == ([], ["m1"], True)
    assert reported.ignored_for == [("m1", "mhc/workers selects it, and heals it when it is unhealthy")]


@pytest.mark.slow
def test_a_new_check_takes_over_the_remediation_that_the_annotation_started(world: MachineWorld) -> None:
    fall_sick(world, "m1")
    world.run(UNCHANGED_FOR)
    made = the_cycle(world, "m1")["metadata"]["uid"]
    kind = METAL3_REMEDIATION_TEMPLATE
    named = {"apiVersion": kind.api_version, "kind": kind.kind, "name": TEMPLATE}
    world.add_check(remediation={"templateRef": named})
    world.run(90)
    assert the_cycle(world, "m1")["metadata"]["uid"] == made
    world.annotate("m1", {well_known.EXTERNAL_REMEDIATION: None})
    world.run(10)
    assert the_cycle(world, "m1")["metadata"]["uid"] == made
    world.set_condition("m1", "Ready", "True")
    world.run(10)
    assert cycles(world) == []


def test_an_excluded_machine_is_left_alone(world: MachineWorld, reported: RecordedEvents) -> None:
    world.annotate("m1", {"cluster.x-k8s.io/paused": ""})
    fall_sick(world, "m1")
    world.run(30)
    assert cycles(world) == []
    assert reported.ignored_for == [("m1", "it has the annotation cluster.x-k8s.io/paused")]


def a_stranger(world: MachineWorld, name: str) -> None:
    """A remediation of this Machine that another project's check created."""
    machine = world.machine(name)
    assert machine is not None
    owner = {
        "apiVersion": world.machines_at.api_version,
        "kind": "Machine",
        "name": name,
        "uid": machine["metadata"]["uid"],
    }
    world.api.create(
        METAL3_REMEDIATION, {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": {}}, SPACE
    )


def test_a_machine_with_another_controller_s_remediation_gets_no_second_one(
    world: MachineWorld, reported: RecordedEvents
) -> None:
    a_stranger(world, "m1")
    before = the_cycle(world, "m1")["metadata"]["uid"]
    fall_sick(world, "m1")
    world.run(30)
    assert "is active on this node" in reported.held_for["m1"]

    world.annotate("m1", {well_known.EXTERNAL_REMEDIATION: None})
    world.set_condition("m1", "Ready", "True")
    world.run(90)
    assert the_cycle(world, "m1")["metadata"]["uid"] == before


def test_another_controller_s_remediation_that_replaced_the_own_one_is_not_deleted(
    world: MachineWorld,
) -> None:
    fall_sick(world, "m1")
    world.run(UNCHANGED_FOR)
    world.server.lag(METAL3_REMEDIATION, world.server.revision)
    world.api.delete(METAL3_REMEDIATION, "m1", SPACE)
    a_stranger(world, "m1")
    before = the_cycle(world, "m1")["metadata"]["uid"]
    world.annotate("m1", {well_known.EXTERNAL_REMEDIATION: None})
    world.run(30)
    assert the_cycle(world, "m1")["metadata"]["uid"] == before


def test_a_remediation_left_by_a_check_is_withdrawn_and_not_adopted(world: MachineWorld) -> None:
    kind = METAL3_REMEDIATION_TEMPLATE
    named = {"apiVersion": kind.api_version, "kind": kind.kind, "name": TEMPLATE}
    world.add_check(remediation={"templateRef": named})
    world.set_condition("m1", "Ready", "Unknown")
    world.run(70)
    assert cycles(world) == ["m1"]
    world.api.delete(world.checks_at, "workers", SPACE)
    world.run(5)
    assert cycles(world) == []


def test_a_remediation_of_another_kind_is_in_progress_too(
    world: MachineWorld, reported: RecordedEvents
) -> None:
    machine = world.machine("m1")
    assert machine is not None
    owner = {"apiVersion": "v1", "kind": "Machine", "name": "m1", "uid": machine["metadata"]["uid"]}
    made = {"metadata": {"name": "m1", "ownerReferences": [owner]}, "spec": {"instructions": "go"}}
    world.api.create(MANUAL_REMEDIATION, made, SPACE)
    fall_sick(world, "m1")
    world.run(30)
    assert cycles(world) == []
    assert "ManualRemediation default/m1 is active on this node" in reported.held_for["m1"]


def test_nothing_is_cleared_based_on_the_cache_alone(world: MachineWorld) -> None:
    world.annotate("m1", ASK)
    world.run(5)
    world.server.lag(NODE, world.server.revision)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(60)
    assert asked(world, "m1")


def test_a_live_read_finds_another_controller_s_remediation_that_the_cache_lacks(
    world: MachineWorld,
) -> None:
    world.server.lag(METAL3_REMEDIATION, world.server.revision)
    a_stranger(world, "m1")
    before = the_cycle(world, "m1")["metadata"]["uid"]
    fall_sick(world, "m1")
    world.run(20)
    assert the_cycle(world, "m1")["metadata"]["uid"] == before
    assert not [write for write in world.writes if "metal3remediations" in write]


def test_a_machine_whose_owner_must_replace_it_gets_none(
    world: MachineWorld, reported: RecordedEvents
) -> None:
    mark = {"type": "OwnerRemediated", "status": "False", "reason": "WaitingForRemediation"}
    world.set_machine_status("m1", conditions=[{**mark, "lastTransitionTime": world.now}])
    fall_sick(world, "m1")
    world.run(30)
    assert cycles(world) == []
    assert "The MachineSet of the Machine is active" in reported.held_for["m1"]
    policy = world.api.get(REMEDIATION_POLICY, well_known.POLICY_NAME)
    assert policy is not None
    assert "machineHistory" not in policy.get("status", {}), "that was asked by no check of ours"


@pytest.mark.parametrize("mark", well_known.MARKS_OF_THE_ACTUATOR)
def test_nothing_starts_for_a_machine_that_another_controller_remediates(
    world: MachineWorld, reported: RecordedEvents, mark: str
) -> None:
    world.annotate("m1", {mark: ""})
    fall_sick(world, "m1")
    world.run(60)
    assert cycles(world) == []
    assert mark in reported.held_for["m1"]


def test_nothing_starts_until_the_leader_of_that_controller_is_silent(
    world: MachineWorld, reported: RecordedEvents
) -> None:
    spec: dict[str, Any] = {"holderIdentity": "capbm-1", "leaseDurationSeconds": 40}
    lease = {"metadata": {"name": well_known.LEASE_OF_THE_ACTUATOR}, "spec": spec}
    world.api.create(LEASE, lease, SPACE)
    fall_sick(world, "m1")
    for turn in range(8):
        spec["leaseTransitions"] = turn
        world.api.patch(LEASE, well_known.LEASE_OF_THE_ACTUATOR, {"spec": spec}, at=(SPACE, ""))
        world.run(20)
        assert cycles(world) == []
    assert "capbm-1 has the Lease" in reported.held_for["m1"]
    world.run(70)
    assert cycles(world) == ["m1"]


def test_the_next_leader_continues_it(world: MachineWorld, reported: RecordedEvents) -> None:
    fall_sick(world, "m1")
    world.run(UNCHANGED_FOR)
    made = the_cycle(world, "m1")["metadata"]["uid"]
    world.close()
    world.run(30)
    world.start(recorder=reported, annotation_template=TEMPLATE)
    assert the_cycle(world, "m1")["metadata"]["uid"] == made
    says(world, "m1", Fenced="True", Succeeded="True")
    world.set_condition("m1", "Ready", "True")
    world.run(10)
    assert (asked(world, "m1"), cycles(world)) == (False, [])


@pytest.mark.parametrize("hangs", [True, False])
def test_a_node_of_a_workload_cluster_is_read_there(reported: RecordedEvents, *, hangs: bool) -> None:
    world = WorkloadWorld("a")
    world.api.delete(world.checks_at, "a", SPACE)
    add_template(world)
    for number in (1, 2, 3):
        world.annotate(f"a{number}", HOST)
    world.start(recorder=reported, annotation_template=TEMPLATE)
    world.set_far("a", "a1", "Unknown")
    world.annotate("a1", ASK)
    if hangs:
        world.clusters["a"].hang()
    world.run(60)
    try:
        assert cycles(world) == ([] if hangs else ["a1"])
        assert not hangs or "its API server does not answer" in reported.held_for["a1"]
    finally:
        world.close()
