"""A provisioner without BMCs: power changes immediately and never fails.

metal3's own fixture has one power state for all hosts and loses it at every start. This one has one per host.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulation.metal3.bmc import Switched
from simulation.metal3.provisioner import (
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
    """Requeue delays in seconds. The work is complete at the second call, even if that comes earlier."""

    inspecting: float = 2.0
    deploying: float = 10.0


@dataclass(slots=True)
class _Host:
    on: bool = False
    under_way: set[str] = field(default_factory=set)
    to_adopt: bool = False


class Fixture:
    """`machines`, by BMC address, are switched together with their hosts; a host may have no machine."""

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
        """Adopt a host. After a deployment, the first call reports Working and the next one Finished."""
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
        """Report Working forever, without a fixed delay for the next call."""
        return Working(0.0)

    async def detach(self, host: HostRef) -> None:
        """Keep the record: a host that is attached again is not registered again."""

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
