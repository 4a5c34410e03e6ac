"""One machine as Ironic keeps it: a record of its power, and the work of keeping the machine like it.

The record is what Ironic last ordered with success, or saw when it took the machine over. Between two looks
it says nothing about the machine; and at a look that finds a difference it is the machine that is changed.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from nodemend.kube.ports import Runtime
from nodemend.testing.metal3.bmc import Answer, Bmc, Order, Power


@dataclass(frozen=True, slots=True, kw_only=True)
class IronicSettings:
    """Seconds, and how often. Those of Ironic 39 as metal3 configures it, and what was measured of it."""

    verifying: float = 5.0
    adopting: float = 2.0
    sends_after: float = 2.5
    """From accepting an order to sending it to the BMC."""
    asks_every: float = 1.5
    """How often it asks whether the machine has followed."""
    hard_limit: float = 120.0
    soft_limit: float = 180.0
    """As the operator asks for; Ironic's own would be longer."""
    unreachable_limit: float = 160.0
    """For so long it tries to reach a BMC that does not answer. It does not notice when that comes back."""
    rebooting: float = 21.3
    """Busy for two looks of the operator, and no longer."""
    sync_every: float = 120.0
    sync_retries: int = 3
    """Failed looks after which the next one gives the BMC up."""
    recovery_every: float = 300.0
    servicing: float = 60.0
    """For so long firmware work runs the machine. Not measured."""


class Stage(Enum):
    """How far Ironic has taken a machine over."""

    VERIFYING = auto()
    MANAGEABLE = auto()
    ADOPTING = auto()
    ACTIVE = auto()


class Service(Enum):
    """How far firmware work on a machine is."""

    NONE = auto()
    UNDER_WAY = auto()
    DONE = auto()
    """And nobody has asked since."""


WANTED: Final = {
    Order.ON: Power.ON,
    Order.FORCE_OFF: Power.OFF,
    Order.GRACEFUL_SHUTDOWN: Power.OFF,
    Order.FORCE_RESTART: Power.ON,
}


@dataclass(slots=True)
class Node:
    """What Ironic's database has, but for `failed_looks`, which a restart forgets."""

    id: str
    bmc: Bmc
    stage: Stage = Stage.VERIFYING
    on: bool = False
    """The record."""
    order: Order | None = None
    """Under way."""
    last_error: str = ""
    power_failure: bool = False
    failed_looks: int = 0
    service: Service = Service.NONE

    @property
    def busy(self) -> bool:
        """An order, or firmware work, is under way."""
        return self.order is not None or self.service is Service.UNDER_WAY


class NodeWork:
    """What Ironic does for one node beside answering questions about it."""

    def __init__(self, node: Node, runtime: Runtime, settings: IronicSettings) -> None:
        self._node = node
        self._runtime = runtime
        self._settings = settings

    async def verify(self) -> None:
        """Take the power from the machine into the record: the one time that it goes this way."""
        await self._runtime.sleep(self._settings.verifying)
        while (power := await self._node.bmc.power()) is Power.UNREACHABLE:
            await self._runtime.sleep(self._settings.unreachable_limit)
        self._node.on = power is Power.ON
        self._node.stage = Stage.MANAGEABLE

    async def adopt(self) -> None:
        await self._runtime.sleep(self._settings.adopting)
        self._node.stage = Stage.ACTIVE

    async def carry_out(self, order: Order) -> None:
        """Send an accepted order, and wait until the machine has followed or the time for it is over."""
        await self._runtime.sleep(self._settings.sends_after)
        failure = await self._send(order)
        if not failure:
            self._node.on = WANTED[order] is Power.ON
        self._node.last_error = failure
        self._node.order = None

    async def service(self) -> None:
        """Firmware work runs the machine. The record follows only when it is done."""
        await self._runtime.sleep(self._settings.sends_after)
        while await self._node.bmc.reset(Order.ON) is not Answer.ACCEPTED:
            await self._runtime.sleep(self._settings.unreachable_limit)
        await self._runtime.sleep(self._settings.servicing)
        self._node.on, self._node.service = True, Service.DONE

    async def _send(self, order: Order) -> str:
        """Why it came to nothing; "" when the machine has followed."""
        match await self._node.bmc.reset(order):
            case Answer.UNREACHABLE:
                await self._runtime.sleep(self._settings.unreachable_limit - self._settings.sends_after)
                return "the BMC does not answer"
            case Answer.REFUSED:
                return "the BMC refused the order"
            case Answer.ACCEPTED if order is Order.FORCE_RESTART:
                await self._runtime.sleep(self._settings.rebooting - self._settings.sends_after)
                return ""
            case Answer.ACCEPTED:
                return await self._follow(order)

    async def _follow(self, order: Order) -> str:
        soft = order is Order.GRACEFUL_SHUTDOWN
        limit = self._settings.soft_limit if soft else self._settings.hard_limit
        since = self._runtime.monotonic()
        while self._runtime.monotonic() - since < limit:
            await self._runtime.sleep(self._settings.asks_every)
            if await self._node.bmc.power() is WANTED[order]:
                return ""
        return f"the machine did not follow within {limit:g} s"

    async def keep_alike(self) -> None:
        """Look at the machine from time to time, for ever."""
        due = self._runtime.monotonic()
        while True:
            # A look in vain can take longer than the time between two: then the next one follows at once.
            due = max(due + self._between_looks, self._runtime.monotonic())
            await self._runtime.sleep(due - self._runtime.monotonic())
            # Until it was verified there is no record, only the place for one.
            if self._node.stage is not Stage.VERIFYING and not self._node.busy:
                await self._look()

    @property
    def _between_looks(self) -> float:
        return self._settings.recovery_every if self._node.power_failure else self._settings.sync_every

    async def _look(self) -> None:
        node, power = self._node, await self._node.bmc.power()
        if power is Power.UNREACHABLE:
            await self._runtime.sleep(self._settings.unreachable_limit)
            self._count_failure()
        elif node.power_failure:
            # Its last error stays, and whoever orders something next is told of it.
            node.power_failure, node.failed_looks = False, 0
        else:
            node.failed_looks = 0
            if (power is Power.ON) != node.on:
                await node.bmc.reset(Order.ON if node.on else Order.FORCE_OFF)

    def _count_failure(self) -> None:
        node = self._node
        if node.busy:
            return  # Somebody ordered meanwhile, and will find out.
        node.failed_looks += 1
        if node.failed_looks > self._settings.sync_retries:
            node.power_failure, node.last_error = True, "the BMC does not answer"
