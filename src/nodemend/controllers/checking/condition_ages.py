"""Since when each node condition has stood, by our own clock and nobody else's."""

from collections.abc import Iterable
from dataclasses import dataclass

from nodemend.api.conditions import ConditionStatus
from nodemend.decide.node_health import ConditionSeen


@dataclass(frozen=True, slots=True)
class Reported:
    """A condition as the node's record has it. `transition` names its last change, and is no clock to us."""

    type: str
    status: str
    transition: object


class ConditionAges:
    """Remembers when we first saw each transition. A node that is forgotten starts anew.

    A condition that left its status and came back while we were not looking shows another transition time,
    and so starts anew too.
    """

    def __init__(self) -> None:
        self._since: dict[str, dict[str, tuple[Reported, float]]] = {}

    def observe(self, uid: str, conditions: Iterable[Reported], now: float) -> None:
        """Must be told of every change of a record."""
        known = self._since.get(uid, {})
        self._since[uid] = {
            condition.type: (condition, _since(known.get(condition.type), condition, now))
            for condition in conditions
        }

    def forget(self, uid: str) -> None:
        self._since.pop(uid, None)

    def ages(self, uid: str, conditions: Iterable[Reported], now: float) -> tuple[ConditionSeen, ...]:
        known = self._since.get(uid, {})
        return tuple(
            ConditionSeen(
                type=condition.type,
                status=_status(condition.status),
                seen_for=now - _since(known.get(condition.type), condition, now),
            )
            for condition in conditions
        )


def _since(known: tuple[Reported, float] | None, condition: Reported, now: float) -> float:
    return known[1] if known is not None and known[0] == condition else now


def _status(said: str) -> ConditionStatus:
    """A status that nobody has heard of says nothing."""
    return ConditionStatus(said) if said in ("True", "False") else ConditionStatus.UNKNOWN
