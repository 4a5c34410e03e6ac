"""The provisioner without a BMC: power changes at once and never fails.

metal3's own has one power state for all hosts and forgets it at every start. This one has one for each.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nodemend.testing.metal3.bmc import Switched
from nodemend.testing.metal3.provisioner import (
    Accepted,
    Finished,
    HostRef,
    PowerAnswer,
    PowerRecord,
    Progress,
    Registration,
    Working,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixtureSettings:
    """Seconds that work takes when nobody asks earlier: at the second question all of it is done."""

    inspecting: float = 2.0
    deploying: float = 10.0


@dataclass(slots=True)
class _Host:
    on: bool = False
    under_way: set[str] = field(default_factory=set)
    to_adopt: bool = False


class Fixture:
    """`machines`, by the address of a BMC, are switched with their hosts; a host can do without one."""

    def __init__(
        self,
        machines: Mapping[str, Switched] | None = None,
        settings: FixtureSettings = FixtureSettings(),  # noqa: B008 - frozen
    ) -> None:
        self._machines = machines or {}
        self._settings = settings
        self._hosts: dict[str, _Host] = {}

    async def ready(self) -> bool:
        return True

    async def register(self, host: HostRef) -> Registration:
        anew = host.key not in self._hosts
        if anew:
            self._hosts[host.key] = _Host()
        return Registration(f"fixture-{host.key}", anew, Finished())

    async def adopt(self, host: HostRef) -> Progress:
        """A host that it has just deployed it adopts once more, which is over when the operator asks next."""
        known = self._hosts[host.key]
        was_to_adopt, known.to_adopt = known.to_adopt, False
        return Working() if was_to_adopt else Finished()

    async def inspect(self, host: HostRef) -> Progress:
        return self._work(host, "inspect", self._settings.inspecting)

    async def provision(self, host: HostRef) -> Progress:
        progress = self._work(host, "provision", self._settings.deploying)
        self._hosts[host.key].to_adopt = isinstance(progress, Finished)
        return progress

    async def deprovision(self, host: HostRef) -> Progress:
        return self._work(host, "deprovision", self._settings.deploying)

    async def service(self, host: HostRef) -> Progress:
        """Never ends, and does not say when to ask again."""
        return Working(0.0)

    async def detach(self, host: HostRef) -> None:
        """It remembers: a host that is attached again is not registered anew."""

    async def delete(self, host: HostRef) -> None:
        self._hosts.pop(host.key, None)

    async def power(self, host: HostRef) -> PowerRecord:
        return PowerRecord(self._hosts[host.key].on)

    async def power_on(self, host: HostRef, *, force: bool) -> PowerAnswer:
        return self._switch(host, on=True)

    async def power_off(self, host: HostRef, *, hard: bool, force: bool) -> PowerAnswer:
        return self._switch(host, on=False)

    async def reboot(self, host: HostRef, *, force: bool) -> PowerAnswer:
        self._switch(host, on=False)
        return self._switch(host, on=True)

    def _work(self, host: HostRef, what: str, seconds: float) -> Progress:
        under_way = self._hosts[host.key].under_way
        if what in under_way:
            under_way.remove(what)
            return Finished()
        under_way.add(what)
        return Working(seconds)

    def _switch(self, host: HostRef, *, on: bool) -> PowerAnswer:
        self._hosts[host.key].on = on
        machine = self._machines.get(host.bmc)
        if machine is not None and machine.powered != on:
            (machine.power_on if on else machine.power_off)()
        return Accepted(0.0)
