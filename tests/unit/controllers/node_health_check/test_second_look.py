"""What was judged from caches is asked again of the API server before anything begins."""

from collections.abc import Iterator
from math import inf
from typing import Any

import msgspec
import pytest

from nodemend.api import keys
from nodemend.api.group_versions import (
    MANUAL_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
)
from nodemend.cli.cluster import Cluster
from nodemend.cli.explain.facts import gather
from nodemend.controllers.checking.control_plane_roll import ControlPlaneRoll
from nodemend.controllers.checking.guarding import Guarding
from nodemend.controllers.checking.neighbours import Nobody
from nodemend.controllers.checking.open_remediations import OpenRemediations
from nodemend.controllers.checking.precautions import Precautions
from nodemend.controllers.checking.standings import Place
from nodemend.controllers.checking.turn import Turn
from nodemend.controllers.checking.weather import Weather
from nodemend.controllers.node_health_check.gather import Target, View, find_target
from nodemend.controllers.node_health_check.orders import Orders, Warrant
from nodemend.controllers.node_health_check.second_look import SecondLook
from nodemend.controllers.node_health_check.surroundings import NodeSurroundings
from nodemend.decide.guard_holds import ControlPlaneBusy, OrderVoid, Paused
from nodemend.decide.holds import CannotRead, Hold, NodeReady
from nodemend.decide.remediation_order import Order
from nodemend.kube.api_request import Method, Request
from nodemend.testing.cluster.world import CHECK, Shape, World
from tests.unit.cli.simulated_caller import SimulatedCaller

SICK = "node-1"
ROLE = "node-role.kubernetes.io/control-plane"


class Stage:
    """Control-plane nodes without controllers, and the caches of one that has just looked at them."""

    def __init__(self) -> None:
        self.world = World("second look", Shape(people=False, replicas=0, policy={"maxConcurrent": 2}))
        for node in self.world.machines:
            self.world.admin_api.patch(NODE, node, {"metadata": {"labels": {ROLE: ""}}})
        self.world.run(60.0)
        self.world.machines[SICK].power_off()
        self.world.run(300.0)
        self.caller = SimulatedCaller(self.world)
        self.view: View = self.caller.run(_look)

    def change(self, **spec: Any) -> None:
        self.world.admin_api.patch(NODE_HEALTH_CHECK, CHECK, {"spec": spec})

    def before_create(self, warrant: Warrant | None = None) -> Request | Hold:
        target = find_target(self.view, SICK)
        assert isinstance(target, Target)

        async def look(cluster: Cluster) -> Request | Hold:
            roll = ControlPlaneRoll()
            for node in self.view.nodes.all():
                roll.observe(node)
            around = NodeSurroundings(self.view, roll)
            guarding = Guarding(around, Weather(stormy_before=False, now=0.0), last_start=-inf)
            # The view was complete at moment 0 of a clock that has gone on since: only here it is not stale.
            for cache in (self.view.nodes, self.view.checks, self.view.policies, self.view.orders):
                cache.last_contact = cluster.runtime.monotonic()
            for remediations in self.view.remedies.caches.values():
                remediations.last_contact = cluster.runtime.monotonic()
            orders = Orders(self.view, {}, cluster.reader)
            open_remediations = OpenRemediations(cluster.reader, self.view.remedies)
            precautions = Precautions(Turn(cluster.runtime), Nobody(), open_remediations)
            second_look = SecondLook(cluster.reader, self.view, guarding, orders, precautions)
            return await second_look.before_create(target, Place(CHECK), 0, warrant)

        return self.caller.run(look)


async def _look(cluster: Cluster) -> View:
    return (await gather(cluster, SICK)).view


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.world.close()


def test_where_nothing_has_changed_the_remediation_is_created(stage: Stage) -> None:
    write = stage.before_create()
    assert isinstance(write, Request)
    assert write.method is Method.POST


def test_a_check_that_was_paused_just_now_holds_before_the_watch_tells(stage: Stage) -> None:
    stage.change(pause={"reason": "new kernel", "by": "admin"})
    assert stage.before_create() == Hold(CannotRead(f"the check {CHECK}", "it has just changed"))


def test_a_cluster_that_was_paused_just_now_holds_before_the_watch_tells(stage: Stage) -> None:
    pause = {"spec": {"pause": {"reason": "switch swap", "by": "admin"}}}
    stage.world.admin_api.patch(REMEDIATION_POLICY, keys.POLICY_NAME, pause)
    assert stage.before_create() == Hold(Paused("admin", "switch swap"))


def test_a_check_that_is_gone_begins_nothing(stage: Stage) -> None:
    stage.world.admin_api.delete(NODE_HEALTH_CHECK, CHECK)
    assert stage.before_create() == Hold(CannotRead(f"the check {CHECK}", "it is gone"))


def test_a_node_that_is_well_again_is_left_alone(stage: Stage) -> None:
    stage.world.machines[SICK].power_on()
    stage.world.run(330.0)
    assert stage.before_create() == Hold(NodeReady(SICK))


def test_a_node_that_is_gone_is_left_alone(stage: Stage) -> None:
    stage.world.admin_api.delete(NODE, SICK)
    assert stage.before_create() == Hold(CannotRead("the Node", "it is gone"))


def test_another_of_the_control_plane_that_is_begun_just_now_holds_before_the_watch_tells(
    stage: Stage,
) -> None:
    body = {"metadata": {"name": "node-2"}, "spec": {}}
    stage.world.admin_api.create(MANUAL_REMEDIATION, body, keys.SYSTEM_NAMESPACE)
    held = stage.before_create()
    assert isinstance(held, Hold)
    assert isinstance(held.reason, ControlPlaneBusy), held.reason


def given(stage: Stage, node: str = SICK) -> Warrant:
    """Somebody orders it, and the checker's cache has it."""
    found = stage.world.admin_api.get(NODE, node)
    assert found is not None
    spec = {"by": "admin", "reason": "bad disk", "nodeUID": found["metadata"]["uid"]}
    made = stage.world.admin_api.create(REMEDIATION_ORDER, {"metadata": {"name": node}, "spec": spec})
    order = Order(made["metadata"]["uid"], spec["nodeUID"], "admin", "bad disk", past_guard=False, age=1.0)
    return Warrant(order)


def test_an_order_that_stands_is_written_on_the_remediation(stage: Stage) -> None:
    warrant = given(stage)
    write = stage.before_create(warrant)
    assert isinstance(write, Request)
    annotations = msgspec.json.decode(write.body)["metadata"]["annotations"]
    assert warrant.annotations.items() <= annotations.items()


def test_an_order_that_was_taken_back_just_now_begins_nothing(stage: Stage) -> None:
    warrant = given(stage)
    stage.world.admin_api.delete(REMEDIATION_ORDER, SICK)
    taken_back = Hold(OrderVoid("admin", "it was taken back"))
    assert stage.before_create(warrant) == taken_back
    given(stage)
    assert stage.before_create(warrant) == taken_back


def test_an_order_is_as_old_as_the_api_server_says(stage: Stage) -> None:
    warrant = given(stage)
    stage.world.run(stage.world.scheduler.now + 890.0)
    assert isinstance(stage.before_create(warrant), Request)
    stage.world.run(stage.world.scheduler.now + 15.0)
    refused = stage.before_create(warrant)
    assert isinstance(refused, Hold)
    assert isinstance(refused.reason, OrderVoid)
    assert refused.reason.why.endswith("s old, and is good for 900 s")


def test_a_node_that_is_well_again_is_left_alone_whatever_was_ordered(stage: Stage) -> None:
    warrant = given(stage)
    stage.world.machines[SICK].power_on()
    stage.world.run(330.0)
    assert stage.before_create(warrant) == Hold(NodeReady(SICK))
