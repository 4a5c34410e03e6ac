"""What people have ordered for nodes: found in our caches, and looked at again before it is acted upon."""

from dataclasses import dataclass

from nodemend.api import keys
from nodemend.api.group_versions import REMEDIATION_ORDER
from nodemend.api.remediation_order import RemediationOrder
from nodemend.api.timestamps import parse_time
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.controllers.node_health_check.gather import Target, View
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.decide.guard_facts import GuardFacts
from nodemend.decide.guard_holds import OrderVoid
from nodemend.decide.holds import CannotRead, Hold, HoldReason
from nodemend.decide.node_health import NodeHealth
from nodemend.decide.remediation_order import (
    GOOD_FOR,
    MEASURES,
    Lapsed,
    Order,
    Stands,
    Used,
    expired,
    passes,
    weigh,
)
from nodemend.decide.remediation_request import Open
from nodemend.decide.storm_guard import reasons
from nodemend.kube.api_outcome import Ok


@dataclass(frozen=True, slots=True)
class Warrant:
    """An order that stands, and what of the guard it passes at this moment."""

    order: Order
    passed: tuple[HoldReason, ...] = ()

    @property
    def passing(self) -> tuple[type[HoldReason], ...]:
        return MEASURES if self.order.past_guard else ()

    @property
    def annotations(self) -> dict[str, str]:
        """Who ordered it, why, and past what: kept on the remediation, where nobody can change it."""
        order = self.order
        said = {keys.ORDER: order.uid, keys.ORDERED_BY: order.by, keys.ORDERED_BECAUSE: order.reason}
        return said | {keys.PAST_GUARD: self.passed_by_name} if order.past_guard else said

    @property
    def passed_by_name(self) -> str:
        return ", ".join(type(reason).__name__ for reason in self.passed) or "nothing"


@dataclass(frozen=True, slots=True)
class Weighed:
    """The order that is there for a target, if one is, and what has become of it."""

    order: Order | None = None
    verdict: Stands | Used | Lapsed | None = None

    @property
    def stands(self) -> bool:
        return isinstance(self.verdict, Stands)

    def warrant(self, facts: GuardFacts | None) -> Warrant | None:
        """To begin on; None where it does not stand. `facts` are what the guard is asked about, if it is."""
        if self.order is None or not self.stands:
            return None
        asked = reasons(facts) if facts is not None and self.order.past_guard else ()
        return Warrant(self.order, passes(asked)[0])


class Orders:
    """`first_seen` is when each was, by UID. An order is as old as that says, or as the API server says."""

    def __init__(self, view: View, first_seen: dict[str, float], reader: Reader) -> None:
        self._view = view
        self._first_seen = first_seen
        self._reader = reader

    def of(self, node: str, now: float) -> Order | None:
        """Whatever stands in the cache. One that is being deleted was taken back."""
        found = self._view.orders.get(node)
        if found is None or found.metadata.deleting:
            return None
        return as_order(found, now - self._first_seen.setdefault(found.metadata.uid, now))

    def weigh(self, target: Target, health: NodeHealth, existing: Open | None, now: float) -> Weighed:
        order = self.of(target.node.name, now)
        if order is None:
            return Weighed()
        return Weighed(order, weigh(order, target.node.uid, health, existing))

    async def doubt(self, node: str, order: Order) -> Hold | None:
        """A reason not to rest anything on it, by a fresh look: it may be gone, or older than we knew."""
        outcome = await self._reader.get(REMEDIATION_ORDER, node, RemediationOrder)
        server_time = outcome.server_time if isinstance(outcome, Ok) else None
        match seen(outcome):
            case Present(found) if found.metadata.uid == order.uid and not found.metadata.deleting:
                return self._doubt_age(order, age_by(found, server_time))
            case Present() | Absent():
                return Hold(OrderVoid(order.by, "it was taken back"))
            case Unreadable(why):
                return Hold(CannotRead("the order", why))

    def _doubt_age(self, order: Order, age: float | None) -> Hold | None:
        if age is None:
            return Hold(OrderVoid(order.by, "the API server does not tell when it was given"))
        # A new leader has not seen it for long. What the API server says of its age is kept.
        since = self._reader.runtime.monotonic() - age
        self._first_seen[order.uid] = min(self._first_seen.get(order.uid, since), since)
        return Hold(OrderVoid(order.by, expired(age))) if age > GOOD_FOR else None


def as_order(order: RemediationOrder, age: float) -> Order:
    spec = order.spec
    return Order(order.metadata.uid, spec.node_uid, spec.by, spec.reason, spec.past_guard, age)


def age_by(order: RemediationOrder, server_time: float | None) -> float | None:
    """Both times are the API server's: neither a person's clock nor ours counts. None when it tells none."""
    created = order.metadata.creation_timestamp
    if not created or server_time is None:
        return None
    return max(0.0, server_time - parse_time(created).timestamp())
