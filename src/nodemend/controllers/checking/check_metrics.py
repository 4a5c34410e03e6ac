"""What a check says of itself in its conditions, as metrics."""

from nodemend.api.conditions import find_true
from nodemend.api.node_health_check import NodeHealthCheckStatus
from nodemend.controllers.checking import overlaps
from nodemend.telemetry.metrics import Metrics


class CheckMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._stalled = metrics.check_stalled
        self._overlapping = metrics.check_overlapping
        self._shown: dict[str, str] = {}
        """Why each of them is stalled."""

    def show(self, check: str, stalled: str, status: NodeHealthCheckStatus) -> None:
        """`stalled` is the reason why it cannot act; empty when it can."""
        if self._shown.get(check, "") != stalled:
            self._strike(check)
        if stalled:
            self._shown[check] = stalled
            self._stalled.labels(check, stalled).set(1)
        overlapping = find_true(status.conditions, overlaps.CONDITION) is not None
        self._overlapping.labels(check).set(overlapping)

    def forget(self, check: str) -> None:
        self._strike(check)
        self._overlapping.remove(check)

    def _strike(self, check: str) -> None:
        if reason := self._shown.pop(check, ""):
            self._stalled.remove(check, reason)
