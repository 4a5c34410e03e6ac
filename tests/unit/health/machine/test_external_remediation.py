"""With a template: the remediation of a machine is created, kept and deleted."""

from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.resources import REMEDIATION_POLICY
from tests.unit.health.machine.conftest import NewWorld
from tests.unit.health.machine.machine_world import FIX, FIX_TEMPLATE, SPACE, MachineWorld


@pytest.fixture
def world(new_world: NewWorld) -> MachineWorld:
    begun = new_world()
    begun.add_pool(4)
    begun.add_check(template=True)
    return begun.start()


def the_fix(world: MachineWorld, name: str) -> dict[str, Any]:
    found = world.api.get(FIX, name, SPACE)
    assert found is not None
    return found


@pytest.mark.conforms("I01", "I04")
def test_only_the_machine_of_a_silent_node_gets_a_remediation(world: MachineWorld) -> None:
    world.set_condition("m1", "Ready", "Unknown")
    world.run(58)
    assert world.fixes() == []
    world.run(4)
    assert world.fixes() == ["m1"]

    made = the_fix(world, "m1")
    machine = world.machine("m1")
    assert machine is not None
    assert made["spec"] == {"strategy": {"type": "Reboot"}}
    assert made["metadata"]["labels"] == {
        "team": "metal",
        well_known.CHECK: "workers",
        "cluster.x-k8s.io/cluster-name": "prod",
    }
    annotations = made["metadata"]["annotations"]
    assert annotations["cluster.x-k8s.io/cloned-from-name"] == "reboot"
    assert (
        annotations["cluster.x-k8s.io/cloned-from-groupkind"]
        == "Metal3RemediationTemplate.remediation.metal3.io"
    )
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Machine", machine["metadata"]["uid"])
    assert "OwnerRemediated" not in world.marks("m1")
    world.run(5)
    assert world.marks("m1") == {
        "HealthCheckSucceeded": ("False", "UnhealthyNode"),
        "ExternallyRemediated": ("False", "WaitingForRemediation"),
    }


@pytest.mark.conforms("I17")
def test_a_template_has_precedence_over_the_annotation_strategy(world: MachineWorld) -> None:
    world.annotate_check({well_known.REMEDIATION_STRATEGY: well_known.EXTERNAL_STRATEGY})
    world.set_condition("m1", "Ready", "Unknown")
    world.run(65)
    assert world.fixes() == ["m1"]
    assert well_known.EXTERNAL_REMEDIATION not in (
        (world.machine("m1") or {})["metadata"].get("annotations") or {}
    )


@pytest.mark.conforms("I02")
def test_it_is_withdrawn_when_the_node_is_back_and_the_marks_say_so(world: MachineWorld) -> None:
    world.set_condition("m1", "Ready", "Unknown")
    world.run(65)
    world.set_condition("m1", "Ready", "True")
    world.run(3)
    assert world.fixes() == []
    world.run(3)
    assert world.marks("m1") == {"HealthCheckSucceeded": ("True", "HealthCheckSucceeded")}


@pytest.mark.conforms("I07", "X2")
def test_a_remediation_of_one_machine_does_not_block_another_machine_s(world: MachineWorld) -> None:
    """Upstream ends its pass at the first machine that has a remediation."""
    world.set_condition("m1", "Ready", "Unknown")
    world.run(65)
    world.set_condition("m2", "Ready", "Unknown")
    world.set_condition("m3", "Ready", "Unknown")
    world.run(80)
    assert world.fixes() == ["m1", "m2", "m3"]


@pytest.mark.conforms("G10", "X1")
def test_a_machine_that_recovers_is_reported_healthy_even_without_a_remediation(
    new_world: NewWorld,
) -> None:
    """Upstream leaves HealthCheckSucceeded False forever in this case."""
    world = new_world(maxUnhealthy=1)
    world.add_pool(3)
    world.add_check(template=True)
    world.start()
    world.set_condition("m1", "Ready", "Unknown")
    world.run(65)
    assert (world.fixes(), world.marks("m1")["HealthCheckSucceeded"]) == ([], ("False", "UnhealthyNode"))
    world.set_condition("m1", "Ready", "True")
    world.run(5)
    assert world.marks("m1")["HealthCheckSucceeded"] == ("True", "HealthCheckSucceeded")


@pytest.mark.conforms("I10", "X5")
def test_it_is_withdrawn_also_while_the_guard_is_closed(world: MachineWorld) -> None:
    world.set_condition("m1", "Ready", "Unknown")
    world.run(65)
    assert world.fixes() == ["m1"]
    world.api.patch(
        world.checks_at,
        "workers",
        {"spec": {"remediation": {"triggerIf": {"unhealthyInRange": "[9-9]"}}}},
        at=(SPACE, ""),
    )
    world.run(3)
    assert world.said("RemediationAllowed")[0] == "False"
    world.set_condition("m1", "Ready", "True")
    world.run(5)
    assert world.fixes() == []


@pytest.mark.conforms("I05", "I08", "X3")
def test_a_missing_template_is_reported_on_every_machine_that_waits_for_it(world: MachineWorld) -> None:
    world.api.delete(FIX_TEMPLATE, "reboot", SPACE)
    for name in ("m1", "m2"):
        world.set_condition(name, "Ready", "Unknown")
    world.run(70)
    for name in ("m1", "m2"):
        assert world.marks(name)["ExternallyRemediated"] == ("False", "RemediationTemplateNotFound")
        assert "reboot" in world.message(name, "ExternallyRemediated")
    assert world.fixes() == []


@pytest.mark.parametrize(
    "spec",
    [
        {"template": "reboot"},
        {"template": {"spec": ["Reboot"]}},
        {"template": {"metadata": "metal"}},
        {"template": {"metadata": {"labels": ["team"]}}},
        {"template": {"metadata": {"annotations": {"team": 1}}}},
    ],
)
def test_a_template_of_another_form_holds_and_is_reported(world: MachineWorld, spec: dict[str, Any]) -> None:
    """Another project's kind may allow any value there."""
    world.api.delete(FIX_TEMPLATE, "reboot", SPACE)
    world.api.create(FIX_TEMPLATE, {"metadata": {"name": "reboot"}, "spec": spec}, SPACE)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(70)
    assert world.fixes() == []
    assert world.marks("m1")["ExternallyRemediated"] == ("False", "RemediationTemplateNotFound")
    assert "the template default/reboot" in world.message("m1", "ExternallyRemediated")


@pytest.mark.slow
@pytest.mark.attack("G4")
def test_with_a_missing_template_no_dead_node_s_machine_passes_its_check(world: MachineWorld) -> None:
    world.run(30)
    assert world.marks("m1")["HealthCheckSucceeded"][0] == "True"
    world.api.delete(FIX_TEMPLATE, "reboot", SPACE)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(70)
    assert world.marks("m1")["HealthCheckSucceeded"] == ("False", "UnhealthyNode")
    world.run(600)
    assert world.marks("m1")["HealthCheckSucceeded"] == ("False", "UnhealthyNode")

    world.set_condition("m1", "Ready", "True")
    world.run(10)
    assert world.marks("m1") == {"HealthCheckSucceeded": ("True", "HealthCheckSucceeded")}


@pytest.mark.conforms("I09", "X4")
def test_a_machine_that_is_being_deleted_gets_none(world: MachineWorld) -> None:
    world.api.patch(
        world.machines_at, "m1", {"metadata": {"finalizers": ["example.com/slow"]}}, at=(SPACE, "")
    )
    world.api.delete(world.machines_at, "m1", SPACE)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(90)
    assert world.fixes() == []


@pytest.mark.conforms("I12", "X7")
def test_a_remediation_that_is_deleted_by_hand_is_created_again(world: MachineWorld) -> None:
    world.set_condition("m1", "Ready", "Unknown")
    world.run(65)
    world.api.delete(FIX, "m1", SPACE)
    assert world.fixes() == []
    world.run(5)
    assert world.fixes() == ["m1"]


@pytest.mark.conforms("I03", "I13")
def test_a_remediation_with_the_machine_s_uid_is_adopted_regardless_of_its_creator(
    world: MachineWorld,
) -> None:
    machine = world.machine("m1")
    assert machine is not None
    world.api.create(FIX, a_fix("m1", machine["metadata"]["uid"]), SPACE)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(70)
    assert world.fixes() == ["m1"]
    world.set_condition("m1", "Ready", "True")
    world.run(5)
    assert world.fixes() == []


@pytest.mark.conforms("X8")
def test_an_own_remediation_that_is_not_cached_yet_is_no_failure(world: MachineWorld) -> None:
    world.server.lag(FIX, world.server.revision)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(62)
    made = the_fix(world, "m1")["metadata"]["uid"]
    world.run(20)
    assert the_fix(world, "m1")["metadata"]["uid"] == made
    world.server.lag(FIX, None)
    world.set_condition("m1", "Ready", "True")
    world.run(5)
    assert world.fixes() == []


@pytest.mark.conforms("I06")
def test_one_that_is_ending_is_not_deleted_again(world: MachineWorld) -> None:
    world.set_condition("m1", "Ready", "Unknown")
    world.run(62)
    world.api.patch(FIX, "m1", {"metadata": {"finalizers": ["example.com/slow"]}}, at=(SPACE, ""))
    world.set_condition("m1", "Ready", "True")
    world.run(5)
    deletions = [write for write in world.writes if write.startswith("DELETE")]
    world.run(30)
    assert [write for write in world.writes if write.startswith("DELETE")] == deletions
    assert len(deletions) == 1


@pytest.mark.conforms("I13", "X9")
def test_a_remediation_of_an_earlier_machine_of_that_name_is_left_alone(world: MachineWorld) -> None:
    another = world.machine("m2")
    assert another is not None
    world.api.create(FIX, a_fix("m1", another["metadata"]["uid"]) | {"spec": {"of": "another"}}, SPACE)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(70)
    assert the_fix(world, "m1")["spec"] == {"of": "another"}
    world.set_condition("m1", "Ready", "True")
    world.run(5)
    assert world.fixes() == ["m1"]


def a_fix(name: str, owner: str) -> dict[str, Any]:
    reference = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name, "uid": owner}
    return {"metadata": {"name": name, "ownerReferences": [reference], "finalizers": []}, "spec": {}}


@pytest.mark.conforms("I11", "X6")
@pytest.mark.parametrize("how", ["check deleted", "template removed", "deselected", "skipped"])
def test_it_is_withdrawn_when_it_is_no_longer_requested(world: MachineWorld, how: str) -> None:
    world.set_condition("m1", "Ready", "Unknown")
    world.run(65)
    assert world.fixes() == ["m1"]
    match how:
        case "check deleted":
            world.api.delete(world.checks_at, "workers", SPACE)
        case "template removed":
            world.change_check({"remediation": None})
        case "deselected":
            world.change_machine("m1", labels={"pool": None})
        case _:
            world.annotate("m1", {"cluster.x-k8s.io/skip-remediation": ""})
    world.run(6)
    assert world.fixes() == []


@pytest.mark.conforms("I14", "X10")
def test_a_node_that_is_ready_only_briefly_keeps_it(world: MachineWorld) -> None:
    world.api.patch(REMEDIATION_POLICY, "cluster", {"spec": {"machines": {"healthyDelay": "30s"}}})
    world.set_condition("m1", "Ready", "Unknown")
    world.run(65)
    for _ in range(3):
        world.set_condition("m1", "Ready", "True")
        world.run(20)
        world.set_condition("m1", "Ready", "False")
        world.run(2)
        assert world.fixes() == ["m1"]
    world.set_condition("m1", "Ready", "True")
    world.run(35)
    assert world.fixes() == []


@pytest.mark.conforms("X11")
def test_the_first_check_by_name_has_a_machine_that_two_checks_select(world: MachineWorld) -> None:
    world.add_check("also", template=True)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(70)
    assert the_fix(world, "m1")["metadata"]["labels"][well_known.CHECK] == "also"
    made = the_fix(world, "m1")["metadata"]["uid"]
    world.run(60)
    assert the_fix(world, "m1")["metadata"]["uid"] == made
    assert (world.status("also")["expectedMachines"], world.status("workers")["expectedMachines"]) == (4, 0)


def test_an_ended_remediation_frees_its_slot_at_once(new_world: NewWorld) -> None:
    world = new_world(maxConcurrent=1)
    world.add_pool(4)
    world.add_check(template=True)
    world.start()
    world.set_condition("m1", "Ready", "Unknown")
    world.run(15)
    world.set_condition("m2", "Ready", "Unknown")
    world.run(50)
    assert world.fixes() == ["m1"]

    world.set_condition("m1", "Ready", "True")
    world.run(12)

    assert world.fixes() == ["m2"]
