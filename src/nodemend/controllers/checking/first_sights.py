"""Since when something has been wrong with a target: how long it takes us to begin is counted from there."""

from typing import assert_never

from nodemend.decide.findings import Match, NeverStarted
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged


class FirstSights:
    """One leadership's memory of the targets that are not well. It ends with the episode."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._begun: set[str] = set()

    def note(self, target: str, health: NodeHealth, now: float) -> None:
        match health:
            case Healthy():
                self.forget(target)
            case Suspect(match) | Unhealthy(match):
                age = match.age if isinstance(match, Match | NeverStarted) else 0.0
                # A condition that turns from Unknown to False is young again; what is wrong is not.
                self._since[target] = min(self._since.get(target, now), now - age)
            case Unjudged():
                pass
            case _:
                assert_never(health)

    def begin(self, target: str, now: float) -> float | None:
        """Seconds from the first sight; None when nothing was seen, or when another remedy came before."""
        first, known = target not in self._begun, self._since.get(target)
        self._begun.add(target)
        return now - known if first and known is not None else None

    def forget(self, target: str) -> None:
        self._since.pop(target, None)
        self._begun.discard(target)
