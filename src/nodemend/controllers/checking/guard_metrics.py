"""The guard in figures, for checks of whatever kind."""

from collections.abc import Iterable

from nodemend.controllers.checking.rooms import Room
from nodemend.controllers.checking.weather import Region
from nodemend.decide.holds import Hold
from nodemend.decide.storm_guard import Go
from nodemend.telemetry.metrics import Metrics


class GuardMetrics:
    def __init__(self, metrics: Metrics, controller: str) -> None:
        self._metrics = metrics
        self._controller = controller
        self._shown: dict[str, frozenset[tuple[Region, str]]] = {}
        self._reasons: dict[str, str] = {}
        """Why each check is closed, as it was shown last."""

    def show_check(self, check: str, guarded: Go | Hold, room: Room | None) -> None:
        """Whether anything may begin under a check; and its limit, where it has one."""
        held = guarded.reason if isinstance(guarded, Hold) else None
        reason = type(held).__name__ if held is not None else ""
        if self._reasons.get(check) != reason:
            self._strike_reason(check)
            self._reasons[check] = reason
        self._metrics.guard_closed.labels(check, reason).set(held is not None)
        if room is None:
            self._strike(Region.CHECK, check)
        else:
            self._set(room)

    def show_cluster(self, cluster: str, rooms: Iterable[Room]) -> None:
        """All the rooms that there are in a cluster: one that is no more goes."""
        shown = set()
        for room in rooms:
            self._set(room)
            shown.add((room.region, room.name))
        for region, name in self._shown.get(cluster, frozenset()) - shown:
            self._strike(region, name)
        self._shown[cluster] = frozenset(shown)

    def begin(self, check: str, kind: str, waited: float | None) -> None:
        self._metrics.started.labels(check, kind).inc()
        if waited is not None:
            self._metrics.seconds_to_start.labels(check).observe(waited)

    def forget_check(self, check: str) -> None:
        self._strike_reason(check)
        self._strike(Region.CHECK, check)

    def _set(self, room: Room) -> None:
        labels = (self._controller, room.region.value, room.name)
        self._metrics.guard_used.labels(*labels).set(room.unhealthy)
        self._metrics.guard_limit.labels(*labels).set(room.limit)

    # By all labels, never by some of them: that would walk through the series of a thousand other checks.

    def _strike_reason(self, check: str) -> None:
        if check in self._reasons:
            self._metrics.guard_closed.remove(check, self._reasons.pop(check))

    def _strike(self, region: Region, name: str) -> None:
        for gauge in (self._metrics.guard_used, self._metrics.guard_limit):
            gauge.remove(self._controller, region.value, name)
