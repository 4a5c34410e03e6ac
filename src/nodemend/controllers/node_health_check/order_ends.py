"""Orders go: when they are taken up, and when they count no longer."""

from typing import Final, Protocol

from nodemend.controllers.checking.writer import Writer
from nodemend.controllers.node_health_check import act
from nodemend.controllers.node_health_check.gather import Target, View
from nodemend.controllers.node_health_check.orders import Orders, Warrant, Weighed
from nodemend.decide.guard_holds import OrderVoid
from nodemend.decide.holds import Hold
from nodemend.decide.remediation_order import GOOD_FOR, Lapsed, Order
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter, Retry

A_MOMENT: Final = 1.0


class Lapses(Protocol):
    def order_lapsed(self, target: Target, order: Order, why: str) -> None: ...


class OrderEnds:
    def __init__(self, view: View, orders: Orders, writer: Writer, lapses: Lapses) -> None:
        self._view = view
        self._orders = orders
        self._writer = writer
        self._lapses = lapses

    async def take_up(self, target: Target, warrant: Warrant | None) -> Hold | None:
        """Deletes the order, which only one can: who has done it may follow it, and nobody a second time.

        None when nothing stands in the way. A crash after this loses the order.
        """
        if warrant is None:
            return None
        found, by = self._view.orders.get(target.node.name), warrant.order.by
        if found is None or found.metadata.uid != warrant.order.uid:
            return Hold(OrderVoid(by, "it was taken back"))
        match await self._writer.write(act.end_order(found)):
            case Done():
                return None
            case RequeueAfter():
                return Hold(OrderVoid(by, "it was taken back"))
            case Retry(why):
                return Hold(OrderVoid(by, f"it could not be taken up: {why}"))

    def note(self, target: Target, warrant: Warrant | None, outcome: Outcome) -> None:
        """What came of an order that was taken up. It is gone; where nothing began, its giver should hear."""
        if warrant is None or outcome == Done():
            return
        why = outcome.why if isinstance(outcome, Retry) else "another remediation was there first"
        self._lapses.order_lapsed(target, warrant.order, f"it was taken up, but {why}")

    async def end(self, target: Target, weighed: Weighed) -> Outcome | None:
        """None when there was nothing to end, or when it has ended."""
        found, order = self._view.orders.get(target.node.name), weighed.order
        if found is None or order is None or weighed.stands:
            return None
        outcome = await self._writer.write(act.end_order(found))
        if outcome != Done():
            return outcome
        if isinstance(weighed.verdict, Lapsed):
            self._lapses.order_lapsed(target, order, weighed.verdict.why)
        return None

    async def end_stray(self, node: str, now: float) -> Outcome:
        """For what no check watches. It waits its time: node or check may only be on their way to us."""
        found, order = self._view.orders.get(node), self._orders.of(node, now)
        if found is None or order is None:
            return Done()
        if order.age <= GOOD_FOR:
            return RequeueAfter(GOOD_FOR - order.age + A_MOMENT)
        return await self._writer.write(act.end_order(found))
