"""Manual orders to remediate nodes: found in the cache, verified by a live read before acting."""

from dataclasses import dataclass

from nodemend.api import well_known
from nodemend.api.meta import parse_time
from nodemend.api.remediation_policy import RemediationOrder
from nodemend.api.resources import REMEDIATION_ORDER
from nodemend.health.node.targets import NodeTarget, NodeView
from nodemend.kube.outcome import Ok
from nodemend.records.live_reads import LiveReader, read_result
from nodemend.rules.node import NodeHealth
from nodemend.rules.request import (
    GOOD_FOR,
    ExistingRemediation,
    Order,
    OrderConsumed,
    OrderExpired,
    OrderValid,
    evaluate_order,
    expired,
    passes,
)
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.guard import GuardFacts, reasons
from nodemend.safety.guard_holds import OVERRIDABLE, OrderInvalid
from nodemend.safety.holds import CannotRead, Hold, HoldReason


@dataclass(frozen=True, slots=True)
class ApprovedOrder:
    """A valid order, and the guard's holds that it overrides now."""

    order: Order
    passed: tuple[HoldReason, ...] = ()

    @property
    def passing(self) -> tuple[type[HoldReason], ...]:
        return OVERRIDABLE if self.order.past_guard else ()

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations that keep the order's author, its reason and the overridden holds on the remediation.

        They cannot be changed there.
        """
        order = self.order
        said = {
            well_known.ORDER: order.uid,
            well_known.ORDERED_BY: order.by,
            well_known.ORDERED_BECAUSE: order.reason,
        }
        return said | {well_known.PAST_GUARD: self.passed_by_name} if order.past_guard else said

    @property
    def passed_by_name(self) -> str:
        return ", ".join(reason.reason for reason in self.passed) or "nothing"


@dataclass(frozen=True, slots=True)
class OrderEvaluation:
    """The order of a target, if there is one, and its verdict."""

    order: Order | None = None
    verdict: OrderValid | OrderConsumed | OrderExpired | None = None

    @property
    def stands(self) -> bool:
        return isinstance(self.verdict, OrderValid)

    def approved_order(self, facts: GuardFacts | None) -> ApprovedOrder | None:
        """Return the approved order; None if there is no valid one.

        `facts` are the guard's input; None if the guard is not asked.
        """
        if self.order is None or not self.stands:
            return None
        asked = reasons(facts) if facts is not None and self.order.past_guard else ()
        return ApprovedOrder(self.order, passes(asked)[0])


class Orders:
    """RemediationOrders of one leader term.

    `first_seen` is the time of the first observation of each, by UID. An order's age is the larger of the age
    since then and the age by the API server's clock.
    """

    def __init__(self, view: NodeView, first_seen: dict[str, float], reader: LiveReader) -> None:
        self._view = view
        self._first_seen = first_seen
        self._reader = reader

    def of(self, node: str, now: float) -> Order | None:
        """Return the cached order, valid or not; None if absent or being deleted."""
        found = self._view.orders.get(node)
        if found is None or found.metadata.deleting:
            return None
        return as_order(found, now - self._first_seen.setdefault(found.metadata.uid, now))

    def evaluate(
        self, target: NodeTarget, health: NodeHealth, existing: ExistingRemediation | None, now: float
    ) -> OrderEvaluation:
        order = self.of(target.node.name, now)
        if order is None:
            return OrderEvaluation()
        return OrderEvaluation(order, evaluate_order(order, target.node.uid, health, existing))

    async def verify(self, node: str, order: Order) -> Hold | None:
        """Return a hold unless a live read confirms that the order exists and has not expired."""
        outcome = await self._reader.get(REMEDIATION_ORDER, node, RemediationOrder)
        server_time = outcome.server_time if isinstance(outcome, Ok) else None
        match read_result(outcome):
            case Present(found) if found.metadata.uid == order.uid and not found.metadata.deleting:
                return self._verify_age(order, age_by(found, server_time))
            case Present() | Absent():
                return Hold(OrderInvalid(order.by, "it was taken back"))
            case Unreadable(why):
                return Hold(CannotRead("the order", why))

    def _verify_age(self, order: Order, age: float | None) -> Hold | None:
        if age is None:
            return Hold(OrderInvalid(order.by, "the API server does not tell when it was given"))
        # A new leader first observed the order late. Keep the API server's age.
        since = self._reader.runtime.monotonic() - age
        self._first_seen[order.uid] = min(self._first_seen.get(order.uid, since), since)
        return Hold(OrderInvalid(order.by, expired(age))) if age > GOOD_FOR else None


def as_order(order: RemediationOrder, age: float) -> Order:
    spec = order.spec
    return Order(order.metadata.uid, spec.node_uid, spec.by, spec.reason, spec.past_guard, age)


def age_by(order: RemediationOrder, server_time: float | None) -> float | None:
    """Return the order's age in seconds; None if either time is missing.

    Both times are the API server's, so neither a user's clock nor Nodemend's matters.
    """
    created = order.metadata.creation_timestamp
    if not created or server_time is None:
        return None
    return max(0.0, server_time - parse_time(created).timestamp())
