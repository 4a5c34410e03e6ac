"""The storms of this leadership: in the cluster, in each check and in each failure domain."""

from dataclasses import dataclass
from enum import Enum

from nodemend.decide.storm import CALM, Storm, settling, step


class Region(Enum):
    CLUSTER = "cluster"
    CHECK = "check"
    DOMAIN = "domain"


@dataclass(frozen=True, slots=True)
class Scope:
    region: Region
    name: str = ""
    cluster: str = ""


class Weather:
    """Remembers only scopes that have seen a storm."""

    def __init__(self, *, stormy_before: bool, now: float) -> None:
        """`stormy_before`: the last leadership ended in a storm, or while one settled: it settles anew."""
        self._inherited = Storm(ended_at=now) if stormy_before else CALM
        self._storms: dict[Scope, Storm] = {}

    def look(self, scope: Scope, *, raging: bool, now: float) -> None:
        after = step(self._storms.get(scope, CALM), raging=raging, now=now)
        if after != CALM:
            self._storms[scope] = after

    def settling(self, scopes: tuple[Scope, ...], settle_time: float, now: float) -> float:
        """Seconds until all of these have settled."""
        storms = (self._inherited, *(self._storms.get(scope, CALM) for scope in scopes))
        return max(settling(storm, settle_time, now) for storm in storms)

    def told(self, settle_time: float, now: float) -> str:
        """Raging, Settling, or nothing: the worst of all scopes. What has settled is forgotten."""
        self._storms = {
            scope: storm
            for scope, storm in self._storms.items()
            if storm.raging or settling(storm, settle_time, now) > 0
        }
        if any(storm.raging for storm in self._storms.values()):
            return "Raging"
        return "Settling" if self._storms or settling(self._inherited, settle_time, now) > 0 else ""
