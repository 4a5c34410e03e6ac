"""Metrics of the guard, for checks of any kind.

Metrics of a check's own conditions.
"""

from collections.abc import Iterable

from nodemend.api.meta import find_true
from nodemend.api.node_health_check import NodeHealthCheckStatus
from nodemend.guard import state
from nodemend.guard.state import LimitUsage, StormScopeKind
from nodemend.safety.guard import Allowed
from nodemend.safety.holds import Hold
from nodemend.telemetry.metrics import Metrics


class CheckMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._stalled = metrics.check_stalled
        self._overlapping = metrics.check_overlapping
        self._shown: dict[str, str] = {}
        """The exported reason per stalled check."""

    def show(self, check: str, stalled: str, status: NodeHealthCheckStatus) -> None:
        """Export a check's conditions. `stalled` is the reason why the check cannot act; empty if it can."""
        if self._shown.get(check, "") != stalled:
            self._remove(check)
        if stalled:
            self._shown[check] = stalled
            self._stalled.labels(check, stalled).set(1)
        overlapping = find_true(status.conditions, state.CONDITION) is not None
        self._overlapping.labels(check).set(overlapping)

    def forget(self, check: str) -> None:
        self._remove(check)
        self._overlapping.remove(check)

    def _remove(self, check: str) -> None:
        if reason := self._shown.pop(check, ""):
            self._stalled.remove(check, reason)


class GuardMetrics:
    def __init__(self, metrics: Metrics, controller: str) -> None:
        self._metrics = metrics
        self._controller = controller
        self._shown: dict[str, frozenset[tuple[StormScopeKind, str]]] = {}
        self._reasons: dict[str, str] = {}
        """The exported hold reason per check; empty if the guard is open."""

    def show_check(self, check: str, guarded: Allowed | Hold, usage: LimitUsage | None) -> None:
        """Export whether the guard is closed for a check, and the check's own limit if it has one."""
        held = guarded.reason if isinstance(guarded, Hold) else None
        reason = held.reason if held is not None else ""
        if self._reasons.get(check) != reason:
            self._strike_reason(check)
            self._reasons[check] = reason
        self._metrics.guard_closed.labels(check, reason).set(held is not None)
        if usage is None:
            self._remove(StormScopeKind.CHECK, check)
        else:
            self._set(usage)

    def show_cluster(self, cluster: str, usages: Iterable[LimitUsage]) -> None:
        """Export all limits of a cluster, and remove the series of limits that no longer exist."""
        shown = set()
        for usage in usages:
            self._set(usage)
            shown.add((usage.scope_kind, usage.name))
        for scope_kind, name in self._shown.get(cluster, frozenset()) - shown:
            self._remove(scope_kind, name)
        self._shown[cluster] = frozenset(shown)

    def begin(self, check: str, kind: str, waited: float | None) -> None:
        self._metrics.started.labels(check, kind).inc()
        if waited is not None:
            self._metrics.seconds_to_start.labels(check).observe(waited)

    def forget_check(self, check: str) -> None:
        self._strike_reason(check)
        self._remove(StormScopeKind.CHECK, check)

    def _set(self, usage: LimitUsage) -> None:
        labels = (self._controller, usage.scope_kind.value, usage.name)
        self._metrics.guard_used.labels(*labels).set(usage.unhealthy)
        self._metrics.guard_limit.labels(*labels).set(usage.limit)

    # Remove series by all labels: removal by some labels would scan the series of a thousand other checks.

    def _strike_reason(self, check: str) -> None:
        if check in self._reasons:
            self._metrics.guard_closed.remove(check, self._reasons.pop(check))

    def _remove(self, scope_kind: StormScopeKind, name: str) -> None:
        for gauge in (self._metrics.guard_used, self._metrics.guard_limit):
            gauge.remove(self._controller, scope_kind.value, name)
