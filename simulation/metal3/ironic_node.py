"""One machine in Ironic: a record of its power, and the periodic work that makes the machine match it.

The record is the last successful order, or the state at verification. Between two checks it proves nothing
about the machine; a check that finds a difference changes the machine, not the record.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from nodemend.kube.ports import Runtime
from simulation.metal3.bmc import Answer, Bmc, Order, Power


@dataclass(frozen=True, slots=True, kw_only=True)
class IronicSettings:
    """Durations in seconds, and counts: those of Ironic 39 as metal3 configures it, and measured values."""

    verifying: float = 5.0
    adopting: float = 2.0
    sends_after: float = 2.5
    """From the acceptance of an order until it is sent to the BMC."""
    asks_every: float = 1.5
    """Interval of the checks whether the machine has followed an order."""
    hard_limit: float = 120.0
    soft_limit: float = 180.0
    """As the operator requests; Ironic's own limit would be longer."""
    unreachable_limit: float = 160.0
    """Duration of the attempts to reach a BMC that does not answer.

    A BMC that recovers meanwhile is not noticed.
    """
    rebooting: float = 21.3
    """Busy for two passes of the operator and no longer."""
    sync_every: float = 120.0
    sync_retries: int = 3
    """Failed checks after which the next failure marks the BMC as lost."""
    recovery_every: float = 300.0
    servicing: float = 60.0
    """Time for which firmware work runs the machine. Not measured."""


class Stage(Enum):
    """Progress of Ironic's registration of a machine."""

    VERIFYING = auto()
    MANAGEABLE = auto()
    ADOPTING = auto()
    ACTIVE = auto()


class Service(Enum):
    """Progress of firmware work on a machine."""

    NONE = auto()
    UNDER_WAY = auto()
    DONE = auto()
    """Complete, but not yet reported to the operator."""


WANTED: Final = {
    Order.ON: Power.ON,
    Order.FORCE_OFF: Power.OFF,
    Order.GRACEFUL_SHUTDOWN: Power.OFF,
    Order.FORCE_RESTART: Power.ON,
}


@dataclass(slots=True)
class Node:
    """Ironic's database record of a node, except `failed_polls`, which a restart loses."""

    id: str
    bmc: Bmc
    stage: Stage = Stage.VERIFYING
    on: bool = False
    """The recorded power state."""
    order: Order | None = None
    """The order in progress."""
    last_error: str = ""
    power_failure: bool = False
    failed_polls: int = 0
    service: Service = Service.NONE

    @property
    def busy(self) -> bool:
        """True while an order or firmware work is in progress."""
        return self.order is not None or self.service is Service.UNDER_WAY


class NodeWork:
    """Background work of Ironic for one node."""

    def __init__(self, node: Node, runtime: Runtime, settings: IronicSettings) -> None:
        self._node = node
        self._runtime = runtime
        self._settings = settings

    async def verify(self) -> None:
        """Copy the power state from the machine into the record; later work never does this."""
        await self._runtime.sleep(self._settings.verifying)
        while (power := await self._node.bmc.power()) is Power.UNREACHABLE:
            await self._runtime.sleep(self._settings.unreachable_limit)
        self._node.on = power is Power.ON
        self._node.stage = Stage.MANAGEABLE

    async def adopt(self) -> None:
        await self._runtime.sleep(self._settings.adopting)
        self._node.stage = Stage.ACTIVE

    async def carry_out(self, order: Order) -> None:
        """Send an accepted order, and wait until the machine has followed or the time limit has passed."""
        await self._runtime.sleep(self._settings.sends_after)
        failure = await self._send(order)
        if not failure:
            self._node.on = WANTED[order] is Power.ON
        self._node.last_error = failure
        self._node.order = None

    async def service(self) -> None:
        """Run the machine for firmware work. The record changes only at the end."""
        await self._runtime.sleep(self._settings.sends_after)
        while await self._node.bmc.reset(Order.ON) is not Answer.ACCEPTED:
            await self._runtime.sleep(self._settings.unreachable_limit)
        await self._runtime.sleep(self._settings.servicing)
        self._node.on, self._node.service = True, Service.DONE

    async def _send(self, order: Order) -> str:
        """Return the reason of a failure, or "" if the machine has followed."""
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
        """Check the machine periodically, forever."""
        due = self._runtime.monotonic()
        while True:
            # A failed check can take longer than the interval. The next check then follows immediately.
            due = max(due + self._poll_interval, self._runtime.monotonic())
            await self._runtime.sleep(due - self._runtime.monotonic())
            # Before verification there is no record to compare with.
            if self._node.stage is not Stage.VERIFYING and not self._node.busy:
                await self._poll()

    @property
    def _poll_interval(self) -> float:
        return self._settings.recovery_every if self._node.power_failure else self._settings.sync_every

    async def _poll(self) -> None:
        node, power = self._node, await self._node.bmc.power()
        if power is Power.UNREACHABLE:
            await self._runtime.sleep(self._settings.unreachable_limit)
            self._count_failure()
        elif node.power_failure:
            # `last_error` stays, so the next order without `force` fails with it.
            node.power_failure, node.failed_polls = False, 0
        else:
            node.failed_polls = 0
            if (power is Power.ON) != node.on:
                await node.bmc.reset(Order.ON if node.on else Order.FORCE_OFF)

    def _count_failure(self) -> None:
        node = self._node
        if node.busy:
            return  # An order was accepted meanwhile, and will find out.
        node.failed_polls += 1
        if node.failed_polls > self._settings.sync_retries:
            node.power_failure, node.last_error = True, "the BMC does not answer"
