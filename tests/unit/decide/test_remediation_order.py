"""When a person's order counts, and what it may pass."""

from dataclasses import replace
from typing import get_args

import pytest

from nodemend.api.conditions import ConditionStatus
from nodemend.decide import guard_holds, holds
from nodemend.decide.escalation import Trying
from nodemend.decide.findings import Match
from nodemend.decide.guard_holds import GuardHold
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.decide.remediation_order import (
    GOOD_FOR,
    MEASURES,
    Lapsed,
    Order,
    Stands,
    Used,
    is_well,
    passes,
    weigh,
)
from nodemend.decide.remediation_request import Open

ORDER = Order("order-1", "uid-1", "anna", "its disk is failing", past_guard=False, age=10.0)
SUSPECT = Suspect(Match("Ready", ConditionStatus.UNKNOWN, 10, 300))
SICK = Unhealthy(Match("Ready", ConditionStatus.UNKNOWN, 400, 300))
OURS = Open(
    "ManualRemediation n1",
    ours=True,
    ending=False,
    committed=False,
    finished=False,
    trying=Trying(0, 0.0, failed=False),
    order="order-1",
)
BUSY = Lapsed("the node is under remediation already")


@pytest.mark.parametrize(
    ("order", "health", "existing", "expected"),
    [
        (ORDER, SUSPECT, None, Stands()),
        (ORDER, SICK, None, Stands()),
        (ORDER, Unjudged("no conditions yet"), None, Stands()),
        # Not Ready, though no threshold says so: a person may know better.
        (ORDER, Healthy(None), None, Stands()),
        (
            ORDER,
            Healthy(0.0),
            None,
            Lapsed("the node is Ready and its check finds nothing wrong: a remediation would end at once"),
        ),
        (replace(ORDER, age=GOOD_FOR), SUSPECT, None, Stands()),
        (replace(ORDER, age=901.0), SUSPECT, None, Lapsed("it is 901 s old, and is good for 900 s")),
        (
            replace(ORDER, node_uid="uid-0"),
            SUSPECT,
            None,
            Lapsed("it is for another Node, which had this name before"),
        ),
        # Whatever else is so, it is used once.
        (ORDER, SUSPECT, OURS, Used()),
        (replace(ORDER, age=901.0), Healthy(5.0), OURS, Used()),
        (ORDER, SICK, replace(OURS, order="order-0"), BUSY),
        (ORDER, SICK, replace(OURS, order=""), BUSY),
        # What is ending, or another's, must be gone first.
        (ORDER, SICK, replace(OURS, ending=True), Stands()),
        (ORDER, SICK, replace(OURS, ours=False), Stands()),
    ],
)
def test_an_order(
    order: Order, health: NodeHealth, existing: Open | None, expected: Stands | Used | Lapsed
) -> None:
    assert weigh(order, "uid-1", health, existing) == expected


def test_a_node_is_well_when_it_is_ready_and_meets_no_threshold() -> None:
    assert [is_well(one) for one in (Healthy(0.0), Healthy(None), SUSPECT, SICK, Unjudged("x"))] == [
        True,
        False,
        False,
        False,
        False,
    ]


def test_an_override_passes_measures_and_nothing_else() -> None:
    """Read against the decision: what people said, what cannot be seen and the quorum always hold."""
    holds_all_the_same = {
        guard_holds.DryRun,
        guard_holds.CheckDryRun,
        guard_holds.Paused,
        guard_holds.Excluded,
        guard_holds.InMaintenance,
        guard_holds.ApiUnsettled,
        guard_holds.ControlPlaneBusy,
        guard_holds.QuorumAtRisk,
        guard_holds.OtherRemediation,
        guard_holds.RemediesExhausted,
        guard_holds.OrderVoid,
        guard_holds.Unserved,
        guard_holds.NobodyActs,
        guard_holds.NotUnderstood,
        guard_holds.AnnotationServed,
        guard_holds.NodeWell,
        guard_holds.NotReadyBriefly,
        guard_holds.PolicyNotInForce,
        guard_holds.PolicyNotProven,
    }
    assert set(get_args(GuardHold)) == holds_all_the_same | set(MEASURES)


def test_what_is_passed_and_what_holds_all_the_same_are_told_apart() -> None:
    settling, pacing = guard_holds.Settling(3.0), guard_holds.Pacing(1.0)
    stale, quorum = holds.ViewStale(99.0, 90.0), guard_holds.QuorumAtRisk(1, 3)
    assert passes([stale, settling, quorum, pacing]) == ((settling, pacing), (stale, quorum))
