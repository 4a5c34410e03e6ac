"""Simulated BMC of a machine. It can be unreachable, refuse an order, or accept one and do nothing."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from nodemend.kube.ports import Runtime, Task


class Power(StrEnum):
    """Power state in a BMC's answer, or UNREACHABLE."""

    ON = "on"
    OFF = "off"
    UNREACHABLE = "unreachable"


class Order(StrEnum):
    """The subset of Redfish's reset types that is used here."""

    ON = "On"
    FORCE_OFF = "ForceOff"
    GRACEFUL_SHUTDOWN = "GracefulShutdown"
    FORCE_RESTART = "ForceRestart"


class Answer(StrEnum):
    """Answer to an order. ACCEPTED does not guarantee an effect."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


class Bmc(Protocol):
    """The calls of a provisioner to a BMC."""

    async def power(self) -> Power: ...

    async def reset(self, order: Order) -> Answer: ...


class Switched(Protocol):
    """The power switch of a machine. Both changes are immediate; repeating one has no effect."""

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
    """Faults of a BMC; they can be changed while it runs."""

    unreachable: bool = False
    soft_ignored: bool = False
    off_never_done: bool = False
    off_refused: bool = False


@dataclass(frozen=True, slots=True)
class Received:
    """An order from any client that reached the BMC, whether obeyed or not."""

    at: float
    order: Order


class SimulatedBmc:
    """BMC of one machine. It is a separate computer: it finishes an order even if the sender has died."""

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
        """Receive an order from any client, also from a person who logged in to the BMC."""
        if self.faults.unreachable:
            return Answer.UNREACHABLE
        self.received.append(Received(self._runtime.monotonic(), order))
        if order is Order.FORCE_OFF and self.faults.off_refused:
            return Answer.REFUSED
        under_way = [task for task in self._obeying if not task.done]
        self._obeying = [*under_way, self._runtime.spawn(self._obey(order), f"obey {order}")]
        return Answer.ACCEPTED

    def press(self, *, on: bool) -> None:
        """Press the power switch of the machine itself. The BMC takes no part."""
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
