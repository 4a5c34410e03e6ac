"""The validity of a user's order, and the holds that it may override."""

from dataclasses import replace

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.rules.node import Healthy, Match, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.rules.request import (
    GOOD_FOR,
    ExistingRemediation,
    Order,
    OrderConsumed,
    OrderExpired,
    OrderValid,
    RemedyAttempt,
    evaluate_order,
    is_well,
    passes,
)
from nodemend.safety import guard_holds, holds
from nodemend.safety.guard_holds import OVERRIDABLE
from tests.unit.safety.hold_reasons import all_hold_reasons

ORDER = Order("order-1", "uid-1", "anna", "its disk is failing", past_guard=False, age=10.0)
SUSPECT = Suspect(Match("Ready", ConditionStatus.UNKNOWN, 10, 300))
SICK = Unhealthy(Match("Ready", ConditionStatus.UNKNOWN, 400, 300))
OURS = ExistingRemediation(
    "ManualRemediation n1",
    ours=True,
    ending=False,
    committed=False,
    finished=False,
    trying=RemedyAttempt(0, 0.0, failed=False),
    order="order-1",
)
BUSY = OrderExpired("the node is under remediation already")


@pytest.mark.parametrize(
    ("order", "health", "existing", "expected"),
    [
        (ORDER, SUSPECT, None, OrderValid()),
        (ORDER, SICK, None, OrderValid()),
        (ORDER, Unjudged("no conditions yet"), None, OrderValid()),
        # Not Ready, without a matching threshold: the user may have other information.
        (ORDER, Healthy(None), None, OrderValid()),
        (
            ORDER,
            Healthy(0.0),
            None,
            OrderExpired(
                "the node is Ready and its check finds nothing wrong: a remediation would end at once"
            ),
        ),
        (replace(ORDER, age=GOOD_FOR), SUSPECT, None, OrderValid()),
        (replace(ORDER, age=901.0), SUSPECT, None, OrderExpired("it is 901 s old, and is valid for 900 s")),
        (
            replace(ORDER, node_uid="uid-0"),
            SUSPECT,
            None,
            OrderExpired("it is for another Node, which had this name before"),
        ),
        # It is consumed, in every case.
        (ORDER, SUSPECT, OURS, OrderConsumed()),
        (replace(ORDER, age=901.0), Healthy(5.0), OURS, OrderConsumed()),
        (ORDER, SICK, replace(OURS, order="order-0"), BUSY),
        (ORDER, SICK, replace(OURS, order=""), BUSY),
        # A remediation that is ending or belongs to another controller must be gone first.
        (ORDER, SICK, replace(OURS, ending=True), OrderValid()),
        (ORDER, SICK, replace(OURS, ours=False), OrderValid()),
    ],
)
def test_an_order(
    order: Order,
    health: NodeHealth,
    existing: ExistingRemediation | None,
    expected: OrderValid | OrderConsumed | OrderExpired,
) -> None:
    assert evaluate_order(order, "uid-1", health, existing) == expected


def test_a_node_is_healthy_if_it_is_ready_and_meets_no_threshold() -> None:
    assert [is_well(one) for one in (Healthy(0.0), Healthy(None), SUSPECT, SICK, Unjudged("x"))] == [
        True,
        False,
        False,
        False,
        False,
    ]


def test_an_override_passes_measures_and_nothing_else() -> None:
    """Checked against the decision: pauses, unreadable objects and the quorum always hold."""
    holds_all_the_same = {
        guard_holds.DryRun,
        guard_holds.CheckDryRun,
        guard_holds.Paused,
        guard_holds.Excluded,
        guard_holds.InMaintenance,
        guard_holds.RecentApiErrors,
        guard_holds.ControlPlaneBusy,
        guard_holds.QuorumAtRisk,
        guard_holds.OtherRemediation,
        guard_holds.UnsupportedSetting,
        guard_holds.NodeHealthy,
        guard_holds.NotReadyBriefly,
        guard_holds.PolicyNotInForce,
        guard_holds.PolicyNotProven,
    }
    assert {
        kind for kind in all_hold_reasons() if kind.__module__ == guard_holds.__name__
    } == holds_all_the_same | set(OVERRIDABLE)


def test_overridden_reasons_are_distinguished_from_those_that_still_hold() -> None:
    cooldown, start_interval = guard_holds.CoolingDown(3.0), guard_holds.StartInterval(1.0)
    stale, quorum = holds.CacheStale(99.0, 90.0), guard_holds.QuorumAtRisk(1, 3)
    assert passes([stale, cooldown, quorum, start_interval]) == ((cooldown, start_interval), (stale, quorum))
