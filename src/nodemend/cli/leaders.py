"""Whether our controllers live: who leads, and when they last said so."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from nodemend.api.group_versions import LEASE
from nodemend.api.lease import Lease
from nodemend.api.timestamps import parse_time
from nodemend.cli.cluster import Cluster
from nodemend.cli.words import spell_seconds
from nodemend.decide.facts import Absent, Present, Seen, Unreadable

COMPONENTS: Final = ("checker", "remediator")
_LOOK_AGAIN_AFTER: Final = 3.0
"""Seconds: longer than a leader waits from one renewal to the next."""
_TOKEN: Final = re.compile(r"_[0-9a-f]{24}$")
_DEFAULT_DURATION: Final = 15


class LeaderState(StrEnum):
    ALIVE = "Alive"
    SILENT = "Silent"
    NOBODY = "Nobody"
    NEVER = "Never"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderView:
    """One component. `renewed_ago` compares two clocks, the leader's and the API server's."""

    component: str
    state: LeaderState
    holder: str = ""
    renewed_ago: float | None = None
    clock_differs: bool = False
    why: str = ""

    @property
    def sentence(self) -> str:
        match self.state:
            case LeaderState.ALIVE if self.clock_differs:
                return f"{self.component}: {self.holder} leads; its clock differs from the API server's"
            case LeaderState.ALIVE:
                ago = spell_seconds(self.renewed_ago or 0.0)
                return f"{self.component}: {self.holder} leads, renewed {ago} ago"
            case LeaderState.SILENT:
                ago = spell_seconds(self.renewed_ago or 0.0)
                return f"{self.component}: {self.holder} led, but has been silent for {ago}"
            case LeaderState.NOBODY:
                return f"{self.component}: nobody leads"
            case LeaderState.NEVER:
                return f"{self.component}: nobody has ever led; is it installed?"
            case LeaderState.UNKNOWN:
                return f"{self.component}: cannot be told: {self.why}"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A Lease as it was at one moment of the API server's clock."""

    lease: Seen[Lease]
    at: datetime


async def look_at_leaders(cluster: Cluster) -> tuple[LeaderView, ...]:
    """Looks once, and a second time after a pause where the first look leaves a doubt."""
    first = [await _see(cluster, component) for component in COMPONENTS]
    views = tuple(judge_leader(component, seen) for component, seen in zip(COMPONENTS, first, strict=True))
    if all(view.state is not LeaderState.SILENT for view in views):
        return views
    await cluster.runtime.sleep(_LOOK_AGAIN_AFTER)
    second = [await _see(cluster, component) for component in COMPONENTS]
    return tuple(
        judge_leader(component, later, earlier)
        for component, earlier, later in zip(COMPONENTS, first, second, strict=True)
    )


def judge_leader(component: str, seen: Sighting, earlier: Sighting | None = None) -> LeaderView:
    """Whoever renewed between two looks is alive, whatever its clock says."""
    match seen.lease:
        case Absent():
            return LeaderView(component=component, state=LeaderState.NEVER)
        case Unreadable(why):
            return LeaderView(component=component, state=LeaderState.UNKNOWN, why=why)
        case Present(lease):
            holder = _TOKEN.sub("", lease.spec.holder_identity or "")
            if not holder or not lease.spec.renew_time:
                return LeaderView(component=component, state=LeaderState.NOBODY)
            ago = (seen.at - parse_time(lease.spec.renew_time)).total_seconds()
            lasts = lease.spec.lease_duration_seconds or _DEFAULT_DURATION
            plausible = abs(ago) <= lasts
            renewed = earlier is not None and _renewal(earlier.lease) not in ("", lease.spec.renew_time)
            return LeaderView(
                component=component,
                state=LeaderState.ALIVE if plausible or renewed else LeaderState.SILENT,
                holder=holder,
                renewed_ago=ago,
                clock_differs=not plausible and renewed,
            )


def unread_leaders(leaders: Iterable[LeaderView]) -> Iterator[str]:
    """A sentence for each of whom it cannot be told whether it lives."""
    for leader in leaders:
        if leader.state is LeaderState.UNKNOWN:
            yield f"Whether the {leader.component} lives cannot be read: {leader.why}."


async def _see(cluster: Cluster, component: str) -> Sighting:
    lease = await cluster.find(LEASE, f"nodemend-{component}", Lease, cluster.system_namespace)
    return Sighting(lease, cluster.now)


def _renewal(lease: Seen[Lease]) -> str:
    return (lease.value.spec.renew_time or "") if isinstance(lease, Present) else ""
