"""The controller that switches a machine, and which can be gone, refuse, or agree and do nothing."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from nodemend.kube.ports import Runtime, Task


class Power(StrEnum):
    """What a BMC says of its machine, if it says anything."""

    ON = "on"
    OFF = "off"
    UNREACHABLE = "unreachable"


class Order(StrEnum):
    """Redfish's reset types, of which these are used."""

    ON = "On"
    FORCE_OFF = "ForceOff"
    GRACEFUL_SHUTDOWN = "GracefulShutdown"
    FORCE_RESTART = "ForceRestart"


class Answer(StrEnum):
    """To an order. ACCEPTED is no promise."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


class Bmc(Protocol):
    """What a provisioner asks of it."""

    async def power(self) -> Power: ...

    async def reset(self, order: Order) -> Answer: ...


class Switched(Protocol):
    """A machine, as far as its power goes. Both changes are at once; repeating one does nothing."""

    @property
    def powered(self) -> bool: ...

    def power_off(self) -> None: ...

    def power_on(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BmcDelays:
    """Seconds from an accepted order to its effect."""

    off: float = 4.0
    on: float = 4.0
    soft: float = 8.0


@dataclass(slots=True)
class BmcFaults:
    """What is wrong with it, to be switched while it runs."""

    unreachable: bool = False
    soft_ignored: bool = False
    off_never_done: bool = False
    off_refused: bool = False


@dataclass(frozen=True, slots=True)
class Received:
    """An order that reached the BMC, whether or not it obeyed, and whoever gave it."""

    at: float
    order: Order


class SimulatedBmc:
    """Over one machine. It is a computer of its own: it works on when whoever gave an order has died."""

    def __init__(
        self,
        runtime: Runtime,
        machine: Switched,
        delays: BmcDelays = BmcDelays(),  # noqa: B008 - frozen
    ) -> None:
        self.faults = BmcFaults()
        self.received: list[Received] = []
        self._runtime = runtime
        self._machine = machine
        self._delays = delays
        self._obeying: list[Task] = []

    async def power(self) -> Power:
        if self.faults.unreachable:
            return Power.UNREACHABLE
        return Power.ON if self._machine.powered else Power.OFF

    async def reset(self, order: Order) -> Answer:
        return self.take(order)

    def take(self, order: Order) -> Answer:
        """An order from whomever: also from somebody who logged in to the BMC."""
        if self.faults.unreachable:
            return Answer.UNREACHABLE
        self.received.append(Received(self._runtime.monotonic(), order))
        if order is Order.FORCE_OFF and self.faults.off_refused:
            return Answer.REFUSED
        under_way = [task for task in self._obeying if not task.done]
        self._obeying = [*under_way, self._runtime.spawn(self._obey(order), f"obey {order}")]
        return Answer.ACCEPTED

    def press(self, *, on: bool) -> None:
        """Somebody's hand on the switch of the machine itself: the BMC is not asked."""
        if on:
            self._machine.power_on()
        elif self._machine.powered:
            self._machine.power_off()

    async def _obey(self, order: Order) -> None:
        match order:
            case Order.ON:
                await self._runtime.sleep(self._delays.on)
                self.press(on=True)
            case Order.GRACEFUL_SHUTDOWN:
                await self._runtime.sleep(self._delays.soft)
                if not self.faults.soft_ignored:
                    self.press(on=False)
            case Order.FORCE_OFF:
                await self._runtime.sleep(self._delays.off)
                if not self.faults.off_never_done:
                    self.press(on=False)
            case Order.FORCE_RESTART:
                await self._runtime.sleep(self._delays.off)
                self.press(on=False)
                await self._runtime.sleep(self._delays.on)
                self.press(on=True)
