"""Conditions and periods determine a verdict."""

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.api.node_health_check import Threshold
from nodemend.rules.node import (
    ConditionSeen,
    Healthy,
    Match,
    NodeHealth,
    Suspect,
    Unhealthy,
    Unjudged,
    evaluate_health,
)

TRUE, FALSE, UNKNOWN = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN
CUT_OFF = Threshold(type="Ready", status=UNKNOWN, period="5m")
BROKEN = Threshold(type="Ready", status=FALSE, period="10m")
DEADLOCK = Threshold(type="KernelDeadlock", status=TRUE, period="1m")
ALL = (CUT_OFF, BROKEN, DEADLOCK)


def seen(type_: str, status: ConditionStatus, seconds: float) -> ConditionSeen:
    return ConditionSeen(type_, status, seconds)


@pytest.mark.conforms("N17", "N18")
@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], Unjudged("the node reports no conditions yet")),
        ([seen("Ready", TRUE, 90)], Healthy(90)),
        ([seen("DiskPressure", TRUE, 90)], Healthy(None)),
        ([seen("Ready", FALSE, 90)], Suspect(Match("Ready", FALSE, 90, 600))),
        ([seen("Ready", UNKNOWN, 299.9)], Suspect(Match("Ready", UNKNOWN, 299.9, 300))),
        ([seen("Ready", UNKNOWN, 300)], Unhealthy(Match("Ready", UNKNOWN, 300, 300))),
        ([seen("Ready", UNKNOWN, 301)], Unhealthy(Match("Ready", UNKNOWN, 301, 300))),
        # Of several deadlines, the earliest counts.
        (
            [seen("Ready", UNKNOWN, 10), seen("KernelDeadlock", TRUE, 10)],
            Suspect(Match("KernelDeadlock", TRUE, 10, 60)),
        ),
        (
            [seen("Ready", UNKNOWN, 300), seen("KernelDeadlock", TRUE, 10)],
            Unhealthy(Match("Ready", UNKNOWN, 300, 300)),
        ),
        ([seen("Ready", TRUE, 5), seen("KernelDeadlock", FALSE, 500)], Healthy(5)),
        # It has been healthy since the last condition recovered, not since it became Ready.
        ([seen("Ready", TRUE, 500), seen("KernelDeadlock", FALSE, 5)], Healthy(5)),
        ([seen("Ready", TRUE, 500), seen("DiskPressure", FALSE, 5)], Healthy(500)),
    ],
)
def test_verdict(conditions: list[ConditionSeen], expected: NodeHealth) -> None:
    assert evaluate_health(ALL, conditions) == expected


@pytest.mark.conforms("N18")
def test_a_suspect_has_a_deadline() -> None:
    assert Match("Ready", UNKNOWN, 100, 300).remaining == 200
    assert Match("Ready", UNKNOWN, 400, 300).remaining == 0
