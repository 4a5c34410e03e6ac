"""A user's orders, in the simulated world."""

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
from nodemend.rules.request import Order
from simulation.api_server.admission import User
from simulation.cluster.direct import Direct
from simulation.cluster.replicas import Replica, Silent
from simulation.cluster.world import Account, Shape, World

SICK = "node-1"
UNREADY_AT = 75.0
"""Silent at 10 s, Unknown about 45 s later, unhealthy 60 s after that."""
SOON = 15.0


class _Lapses(Silent):
    """Records the orders that expired unused: their author and the reason."""

    def __init__(self) -> None:
        self.expired: list[tuple[str, str]] = []

    def order_expired(self, *reported: object) -> None:
        _target, order, why = reported
        assert isinstance(order, Order)
        self.expired.append((order.by, str(why)))


class Story:
    """A node is not Ready, but not for long enough yet."""

    def __init__(self, *, machines: int = 6, silent: tuple[str, ...] = (SICK,)) -> None:
        self._recorder = _Lapses()
        shape = Shape(machines=machines, people=False, replicas=1, recorder=self._recorder)
        self.world = World("orders", shape)
        self.anna = Direct(Account(self.world.server, User("anna")))
        self.world.run(10.0)
        for name in silent:
            self.world.machines[name].connected = False
        self.world.run(UNREADY_AT)

    def order(self, node: str = SICK, *, uid: str = "", past_guard: bool = False) -> dict[str, Any]:
        found = self.world.admin_api.get(NODE, node)
        spec = {
            "by": "anna",
            "reason": "its disk is failing",
            "nodeUID": uid or (found or {"metadata": {"uid": "none"}})["metadata"]["uid"],
            "pastGuard": past_guard,
        }
        return self.anna.create(REMEDIATION_ORDER, {"metadata": {"name": node}, "spec": spec})

    def run(self, seconds: float) -> "Story":
        self.world.run(self.world.scheduler.now + seconds)
        return self

    def run_until_taken_up(self) -> None:
        for _ in range(10_000):
            if not self.orders:
                return
            self.run(0.001)
        raise AssertionError("nobody took up the order")

    @property
    def expired(self) -> list[tuple[str, str]]:
        return self._recorder.expired

    @property
    def remediations(self) -> list[dict[str, Any]]:
        return self.world.admin_api.list(MANUAL_REMEDIATION)

    @property
    def orders(self) -> list[str]:
        return [order["metadata"]["name"] for order in self.world.admin_api.list(REMEDIATION_ORDER)]

    @property
    def report(self) -> dict[str, Any]:
        status = self.world.admin_api.list(NODE_HEALTH_CHECK)[0]["status"]
        return next((row for row in status.get("reports", ()) if row["name"] == SICK), {})

    @property
    def checker(self) -> Replica:
        return next(one for one in self.world.replicas if one.name.startswith("checker"))

    def set_policy(self, **spec: object) -> None:
        self.world.admin_api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": spec})


@pytest.fixture
def story() -> Iterator[Story]:
    begun = Story()
    yield begun
    begun.world.close()


def test_a_suspect_node_is_remediated_at_once_and_the_remediation_names_the_order_s_author(
    story: Story,
) -> None:
    assert story.report["verdict"] == "Suspect"
    order = story.order()
    story.run(SOON)

    [remediation] = story.remediations
    annotations = remediation["metadata"]["annotations"]
    assert annotations["nodemend.io/order"] == order["metadata"]["uid"]
    assert annotations["nodemend.io/ordered-by"] == "anna"
    assert annotations["nodemend.io/ordered-because"] == "its disk is failing"
    assert "nodemend.io/past-guard" not in annotations
    assert story.report["verdict"] == "Remediating"


def test_an_order_is_used_up_by_the_remediation_that_it_began(story: Story) -> None:
    story.order()
    story.run(SOON)
    assert story.orders == []
    story.world.admin_api.delete(MANUAL_REMEDIATION, SICK, well_known.SYSTEM_NAMESPACE)
    assert story.run(20.0).remediations == []
    assert story.report["verdict"] == "Suspect"


def test_a_checker_crash_can_lose_an_order_but_never_executes_it_twice(story: Story) -> None:
    story.order()
    story.run_until_taken_up()
    assert story.remediations == []
    story.checker.process.crash()
    story.run(20.0)
    assert (story.remediations, story.report["verdict"]) == ([], "Suspect")

    story.run(60.0)
    [remediation] = story.remediations
    assert well_known.ORDER not in remediation["metadata"]["annotations"]


def test_a_consumed_order_lapses_if_another_remediation_was_first() -> None:
    story = Story()
    story.order()
    story.run_until_taken_up()
    conflict = {"metadata": {"name": SICK}, "spec": {}}
    story.world.admin_api.create(MANUAL_REMEDIATION, conflict, well_known.SYSTEM_NAMESPACE)
    story.run(SOON)
    assert story.expired == [("anna", "it was consumed, but another remediation was there first")]
    story.world.close()


def test_a_guard_holds_an_order_like_any_other_request_until_it_opens(story: Story) -> None:
    story.set_policy(maxUnhealthy=1)
    story.order()
    story.run(SOON)
    assert story.remediations == []
    assert story.report["verdict"] == "Held"
    assert "Too many targets are unhealthy in the cluster" in story.report["message"]
    assert story.orders == [SICK]
    story.set_policy(maxUnhealthy="40%")
    assert len(story.run(SOON).remediations) == 1


def test_an_order_past_the_guard_passes_its_measures_and_that_is_recorded(story: Story) -> None:
    story.set_policy(maxUnhealthy=1)
    story.run(2)
    story.order(past_guard=True)
    story.run(SOON)
    [remediation] = story.remediations
    assert remediation["metadata"]["annotations"]["nodemend.io/past-guard"] == "TooManyUnhealthy"
    assert story.orders == []


def test_an_order_past_an_open_guard_passed_nothing(story: Story) -> None:
    story.order(past_guard=True)
    story.run(SOON)
    [remediation] = story.remediations
    assert remediation["metadata"]["annotations"]["nodemend.io/past-guard"] == "nothing"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [({"mode": "DryRun"}, "sets DryRun"), ({"pause": {"reason": "swap", "by": "admin"}}, "Paused by admin")],
)
def test_an_order_overrides_no_operator_setting(story: Story, spec: dict[str, Any], reason: str) -> None:
    story.set_policy(**spec)
    story.order(past_guard=True)
    story.run(SOON)
    assert story.remediations == []
    assert reason in story.report["message"]


def test_an_excluded_node_is_left_alone(story: Story) -> None:
    story.world.admin_api.patch(NODE, SICK, {"metadata": {"labels": {"nodemend.io/exclude": "true"}}})
    story.order(past_guard=True)
    story.run(SOON)
    assert story.remediations == []
    assert "excluded from remediation" in story.report["message"]


def test_the_quorum_of_the_control_plane_is_not_passed() -> None:
    story = Story(machines=3, silent=())
    label = {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}
    for name in story.world.machines:
        story.world.admin_api.patch(NODE, name, label)
    for name in (SICK, "node-2"):
        story.world.machines[name].connected = False
    story.run(60.0).order(past_guard=True)
    story.run(SOON)
    assert story.remediations == []
    assert "not a majority" in story.report["message"]
    story.world.close()


def test_a_withdrawn_order_starts_nothing(story: Story) -> None:
    story.set_policy(maxUnhealthy=1)
    story.order()
    story.run(SOON)
    story.anna.delete(REMEDIATION_ORDER, SICK)
    story.set_policy(maxUnhealthy="40%")
    story.run(SOON)
    assert story.remediations == []
    assert story.report["verdict"] == "Suspect"


@pytest.mark.slow
def test_an_order_ends_after_15_minutes_also_when_the_leader_is_new(story: Story) -> None:
    story.set_policy(mode="DryRun")
    story.order()
    story.run(800.0)
    assert story.orders == [SICK]
    story.checker.process.crash()
    story.run(120.0)
    # The new leader has not observed it for 15 minutes; the API server's clock shows its age as soon as it
    # may act.
    story.set_policy(mode="Act", maxUnhealthy="100%")
    story.run(60.0)
    assert story.orders == []
    # By now the node's own condition makes it unhealthy, and it is remediated for that.
    [remediation] = story.remediations
    assert "nodemend.io/order" not in remediation["metadata"]["annotations"]


def test_a_healthy_node_is_not_remediated_and_the_order_is_deleted() -> None:
    story = Story(silent=())
    story.order()
    story.run(SOON)
    assert (story.remediations, story.orders) == ([], [])
    story.world.close()


@pytest.mark.slow
def test_an_order_for_another_node_of_the_same_name_is_deleted(story: Story) -> None:
    story.order(uid="8c1b1c43-77a3-4a7e-a10b-2f4a0f1b2d90")
    story.run(SOON)
    assert (story.remediations, story.orders) == ([], [])


@pytest.mark.slow
def test_an_order_for_an_unchecked_node_waits_for_its_time_and_is_deleted(story: Story) -> None:
    story.order("no-such-node")
    assert story.run(SOON).orders == ["no-such-node"]
    assert story.run(920.0).orders == []


@pytest.mark.slow
def test_a_node_that_is_not_ready_by_no_threshold_is_remediated_and_that_is_not_withdrawn() -> None:
    story = Story(silent=())
    thresholds = [{"type": "DiskHealthy", "status": "False", "period": "5m"}]
    story.world.admin_api.patch(NODE_HEALTH_CHECK, "all-nodes", {"spec": {"thresholds": thresholds}})
    story.world.machines[SICK].connected = False
    story.run(120.0)
    assert story.remediations == []
    story.order()
    assert len(story.run(SOON).remediations) == 1
    assert len(story.run(300.0).remediations) == 1
    story.world.machines[SICK].connected = True
    assert story.run(120.0).remediations == []
    story.world.close()
