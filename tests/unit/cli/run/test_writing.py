"""An order is in the caller's own name and for the Node that was shown; what makes no sense is refused."""

from collections.abc import Iterator
from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.resources import (
    MANUAL_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
)
from nodemend.cli.exit_codes import CommandFailure
from nodemend.cli.run import OrderView, OrderWithdrawnView, order, prepare, withdraw_order
from simulation.cluster.world import CHECK, Shape, World
from tests.unit.cli.simulated_caller import EVERYTHING, SimulatedCaller

SICK = "node-1"
WHY = "its disk is failing"


class Story:
    """A node is not Ready, but has not been so for long enough. No controller runs, unless asked for."""

    def __init__(self, *, replicas: int = 0) -> None:
        self.world = World("run", Shape(machines=6, people=False, replicas=replicas))
        self.world.run(10.0)
        self.world.machines[SICK].connected = False
        self.world.run(75.0)
        self.caller = SimulatedCaller(self.world)

    def prepare(
        self, node: str = SICK, *, past_guard: bool = False, by: SimulatedCaller | None = None
    ) -> OrderView:
        caller = by or self.caller
        return caller.run(lambda cluster: prepare(cluster, node, WHY, past_guard=past_guard))

    def order(
        self,
        node: str = SICK,
        *,
        past_guard: bool = False,
        by: SimulatedCaller | None = None,
        dry_run: bool = False,
    ) -> None:
        shown = self.prepare(node, past_guard=past_guard, by=by)
        (by or self.caller).run(lambda cluster: order(cluster, shown, dry_run=dry_run))

    @property
    def orders(self) -> list[dict[str, Any]]:
        return self.world.admin_api.list(REMEDIATION_ORDER)

    def set_policy(self, **spec: object) -> None:
        self.world.admin_api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": spec})


@pytest.fixture
def story() -> Iterator[Story]:
    begun = Story()
    yield begun
    begun.world.close()


def test_an_order_is_for_exactly_this_node_and_is_deleted_with_it(story: Story) -> None:
    story.order()
    node = story.world.admin_api.get(NODE, SICK)
    assert node is not None
    [made] = story.orders
    assert made["metadata"]["name"] == SICK
    assert made["spec"] == {"by": "anna", "reason": WHY, "nodeUID": node["metadata"]["uid"]}
    [owner] = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Node", node["metadata"]["uid"])


def test_the_text_shows_the_node_s_state_and_what_would_hold_it(story: Story) -> None:
    free = story.prepare()
    story.set_policy(pause={"reason": "swap", "by": "admin"})
    held = story.prepare()

    assert free.state.startswith("is suspect: Ready=Unknown for ")
    assert (free.check, free.by, free.held, free.passed) == (CHECK, "anna", (), ())
    assert held.held == ("Paused by admin: swap.",)


def test_a_dry_run_writes_nothing(story: Story) -> None:
    story.order(dry_run=True)
    assert story.orders == []
    story.order()
    [before] = story.orders
    story.order(dry_run=True)
    assert story.orders == [before]


def test_a_second_order_replaces_the_first_and_names_its_author(story: Story) -> None:
    berta = SimulatedCaller(story.world, "berta")
    story.order()
    shown = story.prepare(by=berta)
    story.order(by=berta)

    assert (shown.before_by, shown.before_reason) == ("anna", WHY)
    assert [one["spec"]["by"] for one in story.orders] == ["berta"]


def test_any_user_with_the_right_can_withdraw_an_order(story: Story) -> None:
    story.order()
    berta = SimulatedCaller(story.world, "berta")
    taken = berta.run(lambda cluster: withdraw_order(cluster, SICK, dry_run=False))

    assert taken == OrderWithdrawnView(node=SICK, by="anna", reason=WHY, past_guard=False, dry_run=False)
    assert story.orders == []
    with pytest.raises(CommandFailure, match="no order to withdraw"):
        berta.run(lambda cluster: withdraw_order(cluster, SICK, dry_run=False))


def test_an_order_for_a_healthy_node_is_refused_with_an_alternative(story: Story) -> None:
    with pytest.raises(CommandFailure, match="node-2 is Ready, and nhc/all-nodes finds nothing") as refused:
        story.prepare("node-2")
    assert "kubectl drain node-2" in refused.value.next_step
    assert "Nothing was ordered." in refused.value.message


def test_an_order_for_a_node_without_a_check_is_refused(story: Story) -> None:
    story.world.admin_api.delete(NODE_HEALTH_CHECK, CHECK)
    with pytest.raises(CommandFailure, match="node-1 is watched by no check"):
        story.prepare()


def test_a_node_under_remediation_is_refused(story: Story) -> None:
    story.world.admin_api.create(
        MANUAL_REMEDIATION, {"metadata": {"name": SICK}, "spec": {}}, well_known.SYSTEM_NAMESPACE
    )
    with pytest.raises(CommandFailure, match="node-1 is under remediation already"):
        story.prepare()


@pytest.mark.parametrize(
    ("lacks", "past_guard", "reported"),
    [
        ("create", False, "anna may not order remediations"),
        ("override", True, "anna may not override the guard"),
    ],
)
def test_a_user_without_the_right_sees_which_role_has_it(
    story: Story, lacks: str, reported: str, *, past_guard: bool
) -> None:
    anna = SimulatedCaller(story.world, "anna", [verb for verb in EVERYTHING if verb != lacks])
    with pytest.raises(CommandFailure, match=reported) as refused:
        story.prepare(past_guard=past_guard, by=anna)
    assert "ClusterRole nodemend-" in refused.value.next_step


def test_an_override_shows_what_it_would_pass(story: Story) -> None:
    story.set_policy(maxUnhealthy=1)
    shown = story.prepare(past_guard=True)
    story.order(past_guard=True)

    assert shown.passed == (
        "Too many targets are unhealthy in the cluster: 1 of 6; with the limit 1 the guard closes at 1.",
    )
    assert story.orders[0]["spec"]["pastGuard"] is True


def test_an_override_where_nothing_holds_is_refused(story: Story) -> None:
    with pytest.raises(CommandFailure, match="Nothing holds node-1") as refused:
        story.prepare(past_guard=True)
    assert refused.value.next_step == "kubectl mend run node-1 --reason ..."


def test_an_override_of_what_it_does_not_pass_is_refused(story: Story) -> None:
    story.set_policy(maxUnhealthy=1, pause={"reason": "swap", "by": "admin"})
    with pytest.raises(
        CommandFailure, match="An override does not apply to this: Paused by admin: swap"
    ) as no:
        story.prepare(past_guard=True)
    assert no.value.next_step == "`kubectl mend resume` ends the pause."


def test_an_order_that_is_given_is_followed() -> None:
    story = Story(replicas=1)
    story.order()
    story.world.run(100.0)
    [remediation] = story.world.admin_api.list(MANUAL_REMEDIATION)
    assert remediation["metadata"]["annotations"]["nodemend.io/ordered-by"] == "anna"
    story.world.close()


@pytest.mark.attack("U9")
@pytest.mark.parametrize("verbs", [(), ("get", "list"), ("get", "list", "create")])
def test_a_user_who_may_not_override_sees_which_role_may(story: Story, verbs: tuple[str, ...]) -> None:
    eve = SimulatedCaller(story.world, "eve", verbs=verbs)
    with pytest.raises(CommandFailure, match="may not override the guard") as refused:
        eve.run(lambda cluster: prepare(cluster, SICK, WHY, past_guard=True))

    assert "nodemend-overrider" in refused.value.next_step
    assert "nodemend-operator" not in refused.value.next_step
