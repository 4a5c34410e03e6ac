"""An explanation is what the deciding code says of the cluster as it is."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nodemend.api.resources import MANUAL_REMEDIATION, NODE, NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.cli.cluster import Cluster
from nodemend.cli.confirm import confirm, prepare
from nodemend.cli.exit_codes import CommandFailure
from nodemend.cli.explain.facts import gather_node
from nodemend.cli.explain.node import explain_node
from nodemend.cli.explain.questions import QUESTION_OF
from nodemend.cli.explain.view import ExplainAnswer, ExplainView
from nodemend.cli.run import order
from nodemend.cli.run import prepare as prepare_order
from simulation.cluster.world import CHECK, Shape, World
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.safety.hold_reasons import all_hold_reasons

SICK = "node-1"
WOULD = (
    "It would create a ManualRemediation in nodemend-system (remedy 1 of 1); the guard would let it begin."
)


@contextmanager
def world_of(replicas: int = 2) -> Iterator[tuple[World, SimulatedCaller]]:
    world = World("explain", Shape(people=False, replicas=replicas))
    try:
        yield world, SimulatedCaller(world)
    finally:
        world.close()


def explained(caller: SimulatedCaller, node: str = SICK) -> ExplainView:
    async def read(cluster: Cluster) -> ExplainView:
        return explain_node(await gather_node(cluster, node))

    return caller.run(read)


def answers(view: ExplainView) -> dict[str, ExplainAnswer]:
    return {question.key: question.answer for question in view.questions}


def test_every_hold_has_its_place_among_the_questions() -> None:
    assert set(QUESTION_OF) == set(all_hold_reasons())


def test_a_healthy_node_needs_nothing() -> None:
    with world_of() as (world, caller):
        world.run(60.0)
        view = explained(caller)

    assert (view.health, view.headline, view.next_step) == ("Healthy", "node-1 is healthy.", "nothing")
    assert answers(view) == {
        "watched": ExplainAnswer.YES,
        "unhealthy": ExplainAnswer.NO,
        "allowed": ExplainAnswer.YES,
        "remediating": ExplainAnswer.NO,
    }


def test_a_node_that_no_check_selects_is_on_its_own() -> None:
    with world_of() as (world, caller):
        world.run(30.0)
        world.admin_api.delete(NODE_HEALTH_CHECK, CHECK)
        view = explained(caller)

    assert view.headline == "node-1 is watched by no check. Nothing will be done about it."
    assert view.health == "Unwatched"


def test_every_step_of_a_failure_is_explained() -> None:
    with world_of() as (world, caller):
        world.run(60.0)
        world.machines[SICK].power_off()
        world.run(130.0)
        suspect = explained(caller)
        world.run(280.0)
        waiting = explained(caller)
        shown = caller.run(lambda cluster: prepare(cluster, SICK, "", "pulled the plug"))
        caller.run(lambda cluster: confirm(cluster, shown, dry_run=False))
        world.run(283.0)
        leaving = explained(caller)
        world.run(330.0)
        away = explained(caller)
        world.machines[SICK].power_on()
        world.run(420.0)
        back = explained(caller)

    assert suspect.headline.startswith("node-1 is suspect. It counts as unhealthy in ")
    assert waiting.held is not None
    assert (waiting.held.reason, answers(waiting)["vouched"]) == (
        "WaitingForConfirmation",
        ExplainAnswer.HOLD,
    )
    assert "kubectl mend confirm node-1" in waiting.next_step
    assert leaving.held is not None
    assert (leaving.held.reason, answers(leaving)["released"]) == ("WorkloadsLeaving", ExplainAnswer.HOLD)
    assert away.held is not None
    assert (away.held.reason, answers(away)["back"]) == ("WaitingForNewBoot", ExplainAnswer.HOLD)
    assert back.headline == "node-1 is healthy."


@pytest.mark.parametrize(
    ("spec", "reason", "sentence"),
    [
        (
            {"mode": "DryRun"},
            "DryRun",
            f"The RemediationPolicy sets DryRun, so Nodemend only reports what it would do. {WOULD}",
        ),
        ({"mode": "Act", "pause": {"reason": "swap", "by": "admin"}}, "Paused", "Paused by admin: swap."),
    ],
)
def test_a_closed_guard_holds_and_shows_how_to_open_it(
    spec: dict[str, object], reason: str, sentence: str
) -> None:
    with world_of() as (world, caller):
        world.run(30.0)
        world.admin_api.patch(REMEDIATION_POLICY, "cluster", {"spec": spec})
        world.machines[SICK].power_off()
        world.run(300.0)
        view = explained(caller)

    assert view.health == "Unhealthy"
    assert view.headline == f"node-1 is unhealthy, and its remediation is held. {sentence}"
    assert view.held is not None
    assert (view.held.reason, answers(view)["allowed"]) == (reason, ExplainAnswer.HOLD)


def test_checks_that_overlap_are_named() -> None:
    with world_of() as (world, caller):
        world.run(30.0)
        spec = world.admin_api.list(NODE_HEALTH_CHECK)[0]["spec"]
        world.admin_api.create(NODE_HEALTH_CHECK, {"metadata": {"name": "zzz"}, "spec": spec})
        view = explained(caller)

    assert view.questions[0].because == "nhc/all-nodes, the first by name; also selected by nhc/zzz"


def test_an_ending_remediation_shows_its_remaining_steps() -> None:
    with world_of() as (world, caller):
        world.run(60.0)
        world.machines[SICK].power_off()
        world.run(280.0)
        for replica in world.replicas:
            replica.process.pause(1000.0)
        world.admin_api.delete(MANUAL_REMEDIATION, SICK, "nodemend-system")
        view = explained(caller)

    assert view.headline == "node-1 is under remediation. Next, the remediator unlocks the node."


def test_missing_controllers_are_reported_as_the_reason_why_nothing_happens() -> None:
    with world_of(replicas=0) as (world, caller):
        world.run(30.0)
        world.machines[SICK].power_off()
        world.run(300.0)
        view = explained(caller)

    assert view.headline == "node-1 is unhealthy. Next, the checker creates its remediation."
    assert view.next_step == "kubectl mend check"
    assert view.notes[1].startswith("None of this happens before the checker runs.")


def test_a_node_that_is_not_there_ends_the_command() -> None:
    with world_of(replicas=0) as (world, caller):
        world.admin_api.delete(NODE, SICK)
        with pytest.raises(CommandFailure, match="there is no node node-1"):
            explained(caller)


def test_a_storm_is_explained_with_its_numbers_and_settles_before_anything_begins() -> None:
    with world_of() as (world, caller):
        world.run(60.0)
        for name in (SICK, "node-2"):
            world.machines[name].connected = False
        world.run(300.0)
        storming = explained(caller)
        world.machines["node-2"].connected = True
        world.run(340.0)
        cooldown = explained(caller)

    assert storming.headline == (
        "node-1 is unhealthy, and its remediation is held."
        " Too many targets are unhealthy in the cluster: 2 of 3; with the limit 40% the guard closes at 2."
    )
    assert storming.advice == (
        "Nodemend continues when at most 1 target is unhealthy, or when maxUnhealthy is raised."
    )
    assert answers(storming)["allowed"] is ExplainAnswer.HOLD
    assert cooldown.held is not None
    assert cooldown.held.reason == "CoolingDown"


def test_an_excluded_node_shows_the_reason() -> None:
    with world_of() as (world, caller):
        world.run(60.0)
        world.admin_api.patch(NODE, SICK, {"metadata": {"annotations": {"nodemend.io/exclude": "disk"}}})
        world.machines[SICK].connected = False
        world.run(300.0)
        view = explained(caller)

    assert view.held is not None
    assert view.held.sentence == "The node is excluded from remediation: it has nodemend.io/exclude."
    assert not world.admin_api.list(MANUAL_REMEDIATION)


def test_an_order_is_explained_while_it_is_held_and_once_it_is_followed() -> None:
    with world_of() as (world, caller):
        world.run(10.0)
        world.admin_api.patch(REMEDIATION_POLICY, "cluster", {"spec": {"maxUnhealthy": 1}})
        world.machines[SICK].connected = False
        world.run(75.0)
        plain = caller.run(lambda cluster: prepare_order(cluster, SICK, "bad disk", past_guard=False))
        caller.run(lambda cluster: order(cluster, plain, dry_run=False))
        world.run(90.0)
        held = explained(caller)
        past = caller.run(lambda cluster: prepare_order(cluster, SICK, "bad disk", past_guard=True))
        world.replicas[0].process.pause(5.0)
        world.replicas[1].process.pause(5.0)
        caller.run(lambda cluster: order(cluster, past, dry_run=False))
        let_past = explained(caller)
        world.run(105.0)
        begun = explained(caller)

    limit = "Too many targets are unhealthy in the cluster: 1 of 3; with the limit 1 the guard closes at 1."
    assert held.headline == f"node-1 is suspect, and the remediation that anna ordered is held. {limit}"
    assert (answers(held)["ordered"], answers(held)["allowed"]) == (ExplainAnswer.YES, ExplainAnswer.HOLD)
    assert "To start its remediation anyway: kubectl mend override node-1 --reason ..." in held.notes
    assert let_past.headline.endswith("Next, the checker creates its remediation.")
    rows = {question.key: question.because for question in let_past.questions}
    assert rows["ordered"].startswith("anna, 0s ago: bad disk; good for ")
    assert rows["ordered"].endswith(" more, past the guard")
    assert rows["allowed"] == "anna overrides TooManyUnhealthy"
    assert "ordered" not in answers(begun)
    under = next(question for question in begun.questions if question.key == "remediating")
    assert under.because.endswith("; ordered by anna: bad disk")
