"""The conditions of a check as metrics."""

import pytest
from prometheus_client import CollectorRegistry

from nodemend.api import condition_types
from nodemend.api.meta import Condition, ConditionStatus
from nodemend.api.node_health_check import NodeHealthCheckStatus
from nodemend.health.reporting import CheckMetrics
from nodemend.telemetry.metrics import Metrics

pytestmark = pytest.mark.attack("U7")

NOW = "2026-01-01T12:00:00Z"
OVERLAPPING = NodeHealthCheckStatus(
    conditions=(
        Condition(
            type=condition_types.OVERLAPPING,
            status=ConditionStatus.TRUE,
            reason="OthersComeFirst",
            last_transition_time=NOW,
        ),
    )
)


def test_a_check_shows_one_reason_why_it_cannot_act_until_it_can() -> None:
    registry = CollectorRegistry()
    checks = CheckMetrics(Metrics(registry, program="p", version="1", monotonic=lambda: 0.0))

    def stalled(reason: str) -> float | None:
        return registry.get_sample_value("nodemend_check_stalled", {"check": "workers", "reason": reason})

    checks.show("workers", "RemedyUnusable", NodeHealthCheckStatus())
    assert stalled("RemedyUnusable") == 1
    checks.show("workers", "LimitTooLow", NodeHealthCheckStatus())
    assert (stalled("RemedyUnusable"), stalled("LimitTooLow")) == (None, 1)
    checks.show("workers", "", NodeHealthCheckStatus())
    assert stalled("LimitTooLow") is None


def test_a_check_reports_an_overlap_until_it_ends() -> None:
    registry = CollectorRegistry()
    checks = CheckMetrics(Metrics(registry, program="p", version="1", monotonic=lambda: 0.0))

    def overlapping() -> float | None:
        return registry.get_sample_value("nodemend_check_overlapping", {"check": "workers"})

    checks.show("workers", "", OVERLAPPING)
    assert overlapping() == 1
    checks.show("workers", "", NodeHealthCheckStatus())
    assert overlapping() == 0
    checks.forget("workers")
    checks.forget("workers")
    assert overlapping() is None
