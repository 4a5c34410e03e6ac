"""Since when each node condition has stood, by our own clock."""

from collections.abc import Iterable
from dataclasses import dataclass

from nodemend.api.conditions import ConditionStatus
from nodemend.decide.node_health import ConditionSeen


@dataclass(frozen=True, slots=True)
class Reported:
    """A condition as the node's record has it. `changed_at` is the time written in it, seconds since 1970."""

    type: str
    status: str
    changed_at: float


class ConditionAges:
    """Remembers when we first saw each status. A node that is told to be forgotten starts anew."""

    def __init__(self) -> None:
        self._since: dict[str, dict[str, tuple[str, float]]] = {}

    def observe(self, uid: str, conditions: Iterable[Reported], now: float) -> None:
        """Must be told of every change of a record, so that a status that came back starts anew."""
        known = self._since.get(uid, {})
        self._since[uid] = {
            condition.type: (
                known[condition.type]
                if known.get(condition.type, ("", 0.0))[0] == condition.status
                else (condition.status, now)
            )
            for condition in conditions
        }

    def forget(self, uid: str) -> None:
        self._since.pop(uid, None)

    def ages(
        self, uid: str, conditions: Iterable[Reported], *, now: float, wall: float
    ) -> tuple[ConditionSeen, ...]:
        """`now` on the clock of `observe`, `wall` in seconds since 1970."""
        known = self._since.get(uid, {})
        return tuple(
            ConditionSeen(
                type=condition.type,
                status=_status(condition.status),
                seen_for=now - known.get(condition.type, ("", now))[1],
                written_for=wall - condition.changed_at,
            )
            for condition in conditions
        )


def _status(said: str) -> ConditionStatus:
    """A status that nobody has heard of says nothing."""
    return ConditionStatus(said) if said in ("True", "False") else ConditionStatus.UNKNOWN
