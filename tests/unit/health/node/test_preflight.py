"""Preflight: a decision made from caches is verified with live reads before anything starts."""

from collections.abc import Iterator
from math import inf
from typing import Any

import msgspec
import pytest

from nodemend.api import well_known
from nodemend.api.resources import (
    MANUAL_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
)
from nodemend.cli.cluster import Cluster
from nodemend.cli.explain.facts import gather_node
from nodemend.guard.evaluator import GuardEvaluator
from nodemend.guard.state import ControlPlaneIndex, CountScope, PlacedTarget
from nodemend.health.creation import CreationContext, ExternalLeases
from nodemend.health.node.preflight import ApprovedOrder, NodePreflight, Orders
from nodemend.health.node.targets import NodeGuardInputs, NodeTarget, NodeView, find_target, guard_target_of
from nodemend.health.remediation_index import RemediationListCache
from nodemend.kube.request import Method, Request
from nodemend.kube.tasks import FairSemaphore
from nodemend.rules.request import Order, OrderInvalid
from nodemend.safety.guard_holds import ControlPlaneBusy, Paused
from nodemend.safety.holds import CannotRead, Hold, NodeReady
from simulation.cluster.world import CHECK, Shape, World
from tests.unit.cli.simulated_caller import SimulatedCaller

SICK = "node-1"
ROLE = "node-role.kubernetes.io/control-plane"


class Stage:
    """Control-plane nodes without controllers, and the caches of a checker that has just read them."""

    def __init__(self) -> None:
        self.world = World("second look", Shape(people=False, replicas=0, policy={"maxConcurrent": 2}))
        for node in self.world.machines:
            self.world.admin_api.patch(NODE, node, {"metadata": {"labels": {ROLE: ""}}})
        self.world.run(60.0)
        self.world.machines[SICK].power_off()
        self.world.run(300.0)
        self.caller = SimulatedCaller(self.world)
        self.view: NodeView = self.caller.run(_live_state)

    def change(self, **spec: Any) -> None:
        self.world.admin_api.patch(NODE_HEALTH_CHECK, CHECK, {"spec": spec})

    def before_create(self, approved_order: ApprovedOrder | None = None) -> Request | Hold:
        target = find_target(self.view, SICK)
        assert isinstance(target, NodeTarget)

        async def observation(cluster: Cluster) -> Request | Hold:
            control_plane_index = ControlPlaneIndex()
            for node in self.view.nodes.all():
                control_plane_index.observe(node)
            around = NodeGuardInputs(self.view, control_plane_index)
            evaluator = GuardEvaluator(around, now=0.0, last_start=-inf)
            # The view was complete at moment 0 of a clock that has advanced since; only in this test it is
            # not stale.
            for cache in (self.view.nodes, self.view.checks, self.view.policies, self.view.orders):
                cache.last_contact = cluster.runtime.monotonic()
            for remediations in self.view.remedies.caches.values():
                remediations.last_contact = cluster.runtime.monotonic()
            orders = Orders(self.view, {}, cluster.reader)
            open_remediations = RemediationListCache(cluster.reader, self.view.remedies)
            creation_context = CreationContext(
                FairSemaphore(cluster.runtime), ExternalLeases(cluster.reader, ""), open_remediations
            )
            preflight = NodePreflight(cluster.reader, self.view, evaluator, orders, creation_context)
            placed = PlacedTarget(guard_target_of(target, cluster.runtime.wall()), CountScope(CHECK))
            return await preflight.before_create(target, placed, 0, approved_order)

        return self.caller.run(observation)


async def _live_state(cluster: Cluster) -> NodeView:
    return (await gather_node(cluster, SICK)).view


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.world.close()


def test_where_nothing_has_changed_the_remediation_is_created(stage: Stage) -> None:
    write = stage.before_create()
    assert isinstance(write, Request)
    assert write.method is Method.POST


def test_a_check_that_was_paused_just_now_holds_before_the_watch_reports_it(stage: Stage) -> None:
    stage.change(pause={"reason": "new kernel", "by": "admin"})
    assert stage.before_create() == Hold(CannotRead(f"the check {CHECK}", "it has just changed"))


def test_a_cluster_that_was_paused_just_now_holds_before_the_watch_reports_it(stage: Stage) -> None:
    pause = {"spec": {"pause": {"reason": "switch swap", "by": "admin"}}}
    stage.world.admin_api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, pause)
    assert stage.before_create() == Hold(Paused("admin", "switch swap"))


def test_a_deleted_check_starts_nothing(stage: Stage) -> None:
    stage.world.admin_api.delete(NODE_HEALTH_CHECK, CHECK)
    assert stage.before_create() == Hold(CannotRead(f"the check {CHECK}", "it is gone"))


def test_a_recovered_node_is_left_alone(stage: Stage) -> None:
    stage.world.machines[SICK].power_on()
    stage.world.run(330.0)
    assert stage.before_create() == Hold(NodeReady(SICK))


def test_a_deleted_node_is_left_alone(stage: Stage) -> None:
    stage.world.admin_api.delete(NODE, SICK)
    assert stage.before_create() == Hold(CannotRead("the Node", "it is gone"))


def test_a_control_plane_remediation_that_began_just_now_holds_before_the_watch_reports_it(
    stage: Stage,
) -> None:
    body = {"metadata": {"name": "node-2"}, "spec": {}}
    stage.world.admin_api.create(MANUAL_REMEDIATION, body, well_known.SYSTEM_NAMESPACE)
    held = stage.before_create()
    assert isinstance(held, Hold)
    assert isinstance(held.reason, ControlPlaneBusy), held.reason


def given(stage: Stage, node: str = SICK) -> ApprovedOrder:
    """A user creates an order, and the checker's cache has it."""
    found = stage.world.admin_api.get(NODE, node)
    assert found is not None
    spec = {"by": "admin", "reason": "bad disk", "nodeUID": found["metadata"]["uid"]}
    made = stage.world.admin_api.create(REMEDIATION_ORDER, {"metadata": {"name": node}, "spec": spec})
    order = Order(made["metadata"]["uid"], spec["nodeUID"], "admin", "bad disk", past_guard=False, age=1.0)
    return ApprovedOrder(order)


def test_a_valid_order_is_recorded_on_the_remediation(stage: Stage) -> None:
    approved_order = given(stage)
    write = stage.before_create(approved_order)
    assert isinstance(write, Request)
    annotations = msgspec.json.decode(write.body)["metadata"]["annotations"]
    assert approved_order.annotations.items() <= annotations.items()


def test_an_order_that_was_withdrawn_just_now_starts_nothing(stage: Stage) -> None:
    approved_order = given(stage)
    stage.world.admin_api.delete(REMEDIATION_ORDER, SICK)
    taken_back = Hold(OrderInvalid("admin", "it was deleted"))
    assert stage.before_create(approved_order) == taken_back
    given(stage)
    assert stage.before_create(approved_order) == taken_back


def test_the_age_of_an_order_is_measured_by_the_api_server_s_clock(stage: Stage) -> None:
    approved_order = given(stage)
    stage.world.run(stage.world.scheduler.now + 890.0)
    assert isinstance(stage.before_create(approved_order), Request)
    stage.world.run(stage.world.scheduler.now + 15.0)
    refused = stage.before_create(approved_order)
    assert isinstance(refused, Hold)
    assert isinstance(refused.reason, OrderInvalid)
    assert refused.reason.why.endswith("s old, and is valid for 900 s")


def test_a_recovered_node_is_left_alone_despite_an_order(stage: Stage) -> None:
    approved_order = given(stage)
    stage.world.machines[SICK].power_on()
    stage.world.run(330.0)
    assert stage.before_create(approved_order) == Hold(NodeReady(SICK))
