"""The Bmc port of the fake host operator, by ipmitool."""

import asyncio
from typing import Final

from machine_room.bmc import PASSWORD, USER
from simulation.metal3.bmc import Answer, Order, Power

_WITHIN: Final = 6.0
_ARGUMENTS: Final = {
    Order.ON: "on",
    Order.FORCE_OFF: "off",
    Order.GRACEFUL_SHUTDOWN: "soft",
    Order.FORCE_RESTART: "reset",
}
# The simulator supports no newer cipher suite, and querying its suites takes ten seconds.
_POWER_QUERY: Final = ("-I", "lanplus", "-C", "3", "-N", "1", "-R", "2", "-U", USER, "-P", PASSWORD)


class IpmiBmc:
    """A BMC by its address, as in ipmi://HOST:PORT."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("ipmi://").partition(":")
        self._command = ("ipmitool", *_POWER_QUERY, "-H", host, "-p", port, "chassis", "power")

    async def power(self) -> Power:
        said = await self._ask("status")
        if said is None:
            return Power.UNREACHABLE
        return Power.ON if said.strip().endswith("on") else Power.OFF

    async def reset(self, order: Order) -> Answer:
        said = await self._ask(_ARGUMENTS[order])
        return Answer.UNREACHABLE if said is None else Answer.ACCEPTED

    async def _ask(self, what: str) -> str | None:
        """The output; None if there was no answer, or an error."""
        child = await asyncio.create_subprocess_exec(
            *self._command, what, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        try:
            async with asyncio.timeout(_WITHIN):
                said, _ = await child.communicate()
        except TimeoutError:
            said = b""
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        return said.decode() if child.returncode == 0 else None
