"""The answer about a Machine agrees with what the checker does with it."""

import pytest

from nodemend.api.resources import NODE_HEALTH_CHECK
from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure
from nodemend.cli.explain.facts import gather_node
from nodemend.cli.explain.machine import explain_machine, explain_with_machines
from nodemend.cli.explain.machine_facts import MachineName, gather_behind, gather_machine, parse_machine
from nodemend.cli.explain.view import ExplainAnswer, ExplainView
from nodemend.records.machine import OPENSHIFT
from simulation.cluster.world import check_spec
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.health.machine.conftest import NewWorld
from tests.unit.health.machine.machine_world import SPACE, MachineWorld
from tests.unit.health.machine.workload_world import WorkloadWorld


def explained(
    world: MachineWorld, name: str = "m1", namespace: str = "", hidden: tuple[str, ...] = ()
) -> ExplainView:
    async def read(cluster: Cluster) -> ExplainView:
        return explain_machine(*await gather_machine(cluster, MachineName(name, namespace)))

    return SimulatedCaller(world, hidden=hidden).run(read)


def explained_node(world: MachineWorld, name: str = "m1", hidden: tuple[str, ...] = ()) -> ExplainView:
    async def read(cluster: Cluster) -> ExplainView:
        facts = await gather_node(cluster, name)
        return explain_with_machines(facts, await gather_behind(cluster, facts))

    return SimulatedCaller(world, hidden=hidden).run(read)


def answers(view: ExplainView) -> dict[str, ExplainAnswer]:
    return {question.key: question.answer for question in view.questions}


def test_the_steps_of_a_failure_are_those_of_the_checker(new_world: NewWorld) -> None:
    world = new_world()
    world.add_pool(4)
    world.add_check()
    world.start()
    healthy = explained(world)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(30)
    suspect = explained(world)
    world.run(40)
    asked = explained(world)

    assert (healthy.health, healthy.next_step) == ("Healthy", "nothing")
    assert suspect.headline == "Machine default/m1 is suspect. It counts as unhealthy in 29s."
    assert world.marks("m1")["OwnerRemediated"] == ("False", "WaitingForRemediation")
    assert asked.headline == "Machine default/m1 is unhealthy. It is under remediation."
    assert answers(asked) == {
        "watched": ExplainAnswer.YES,
        "unhealthy": ExplainAnswer.YES,
        "told": ExplainAnswer.YES,
        "allowed": ExplainAnswer.YES,
        "remediating": ExplainAnswer.YES,
    }


def test_the_reason_of_a_hold_is_the_one_that_the_checker_wrote_on_the_check(new_world: NewWorld) -> None:
    world = new_world()
    names = world.add_pool(6)
    triggers = {"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}}
    world.add_check(remediation=triggers)
    world.start()
    for name in names[:3]:
        world.set_condition(name, "Ready", "Unknown")
    world.run(90)
    view = explained(world)

    assert view.held is not None
    assert world.said("RemediationAllowed") == ("False", view.held.reason)
    assert world.allowed_message("workers") == f"{view.held.sentence} {view.held.next_step}"
    assert answers(view)["allowed"] is ExplainAnswer.HOLD


def test_its_remediation_is_shown_with_its_age(new_world: NewWorld) -> None:
    world = new_world()
    world.add_pool(4)
    world.add_check(template=True)
    world.start()
    world.set_condition("m1", "Ready", "Unknown")
    world.run(100)
    view = explained(world)

    assert world.fixes() == ["m1"]
    row = next(question for question in view.questions if question.key == "remediating")
    assert row.answer is ExplainAnswer.YES
    assert row.because == "Metal3Remediation default/m1, open, for 40s"


def test_without_the_right_to_see_remediations_the_rest_is_shown(new_world: NewWorld) -> None:
    world = new_world()
    world.add_pool(4)
    world.add_check(template=True)
    world.start()
    view = explained(world, hidden=("metal3remediations",))

    assert view.health == "Healthy"
    assert answers(view)["remediating"] is ExplainAnswer.OPEN
    assert any("Metal3Remediation objects cannot be read" in one for one in view.unread)


def test_a_node_is_explained_by_its_machine_where_only_that_is_watched(new_world: NewWorld) -> None:
    world = new_world()
    world.add_pool(4)
    world.add_check()
    world.start()
    view = explained_node(world)

    assert (view.machine, view.node, view.health) == ("default/m1", "m1", "Healthy")
    assert "m1 itself is selected by no NodeHealthCheck." in view.notes


def test_a_node_under_checks_of_both_kinds_has_both_explained(new_world: NewWorld) -> None:
    world = new_world()
    world.add_pool(4)
    world.add_check()
    world.api.create(NODE_HEALTH_CHECK, {"metadata": {"name": "all"}, "spec": check_spec()})
    world.start()
    view = explained_node(world)

    assert (view.machine, view.health) == ("", "Healthy")
    assert [one.machine for one in view.machines] == ["default/m1"]


def test_a_user_without_the_right_to_see_machines_still_gets_an_explanation_of_a_node(
    new_world: NewWorld,
) -> None:
    world = new_world()
    world.add_pool(4)
    world.add_check()
    world.start()
    view = explained_node(world, hidden=("machines", "machinehealthchecks", "clusters"))

    assert (view.machine, view.health, view.machines) == ("", "Unwatched", ())


@pytest.mark.slow
def test_an_explanation_about_another_cluster_repeats_the_checker_s_message() -> None:
    world = WorkloadWorld("a")
    try:
        world.start()
        well = explained(world, "a1")
        world.set_far("a", "a1", "Unknown")
        world.run(90)
        sick = explained(world, "a1")
        world.clusters["a"].hang()
        world.run(130)
        held = explained(world, "a2")
    finally:
        world.close()

    assert (well.health, well.headline) == ("Healthy", "Machine default/a1 is healthy, as the checker wrote.")
    assert sick.headline == (
        "Machine default/a1 is unhealthy, as the checker wrote. It is under remediation."
    )
    assert answers(sick) == {
        "watched": ExplainAnswer.YES,
        "unhealthy": ExplainAnswer.YES,
        "told": ExplainAnswer.YES,
        "allowed": ExplainAnswer.YES,
        "remediating": ExplainAnswer.YES,
    }
    assert answers(held)["allowed"] is ExplainAnswer.NO
    guard = next(row for row in held.questions if row.key == "allowed")
    assert "its API server does not answer" in guard.because


def test_a_name_that_several_have_needs_its_namespace(new_world: NewWorld) -> None:
    world = new_world()
    world.add_pool(1)
    world.api.create(
        world.machines_at, {"metadata": {"name": "m1"}, "spec": {"clusterName": "prod"}}, "kube-system"
    )
    world.add_check()
    world.start()

    with pytest.raises(CommandFailure, match="there are 2 Machines m1: in default and kube-system"):
        explained(world)
    assert explained(world, namespace=SPACE).machine == "default/m1"
    with pytest.raises(CommandFailure, match="there is no Machine m2 in the namespace default"):
        explained(world, "m2", namespace=SPACE)


def test_an_openshift_machine_without_the_delete_right_is_reported_as_held(new_world: NewWorld) -> None:
    world = new_world(OPENSHIFT, "v1beta1")
    world.add_pool(4)
    world.add_check()
    world.start()
    world.set_condition("m1", "Ready", "Unknown")
    world.run(90)
    view = explained(world)

    assert view.held is not None
    assert view.held.reason == "NoRemedy"
    assert answers(view)["remediating"] is ExplainAnswer.HOLD
    assert "told" not in answers(view)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("edge-07", None),
        ("node/edge-07", None),
        ("machine/m1", MachineName("m1", "here")),
        ("machines/m1", MachineName("m1", "here")),
        ("machine.machine.openshift.io/m1", MachineName("m1", "here", OPENSHIFT)),
    ],
)
def test_the_argument_is_read_as_kubectl_reads_it(written: str, meant: MachineName | None) -> None:
    assert parse_machine(written, "here") == meant
