"""The Provisioner port: the host operator's requests to deploy and switch machines, and the answers.

Every call returns immediately or after one network request. Longer work is polled with further calls.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class HostRef:
    """A host, and the address of its BMC."""

    key: str
    bmc: str


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Working:
    """In progress; ask again after this many seconds. None: the operator's default delay."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """A change of power was just ordered; the record shows it when it is done. `seconds` as in Working."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """An order failed, perhaps an earlier one."""

    why: str


@dataclass(frozen=True, slots=True)
class Registration:
    """ID and progress of a registration, and True if the provisioner did not know the host before."""

    id: str
    anew: bool
    progress: Finished | Working


@dataclass(frozen=True, slots=True)
class PowerRecord:
    """The provisioner's record of the power, which may be wrong. `lost`: it has given up on the BMC."""

    on: bool
    lost: bool = False


Progress = Finished | Working
PowerAnswer = Accepted | Working | Failed | Finished


class Provisioner(Protocol):
    """Deploys and switches machines.

    `force` orders a change of power even if the last error was not cleared. A change of power is Finished if
    the record already has the requested state because it changed after the call of `power`.
    """

    async def ready(self) -> bool: ...

    async def register(self, host: HostRef) -> Registration: ...

    async def adopt(self, host: HostRef) -> Progress:
        """Adopt a host on which a workload may run."""
        ...

    async def inspect(self, host: HostRef) -> Progress: ...

    async def provision(self, host: HostRef) -> Progress: ...

    async def deprovision(self, host: HostRef) -> Progress: ...

    async def service(self, host: HostRef) -> Progress:
        """Do firmware work."""
        ...

    async def detach(self, host: HostRef) -> None:
        """Stop managing the host. Its power stays as it is."""
        ...

    async def delete(self, host: HostRef) -> None:
        """Detach the host permanently."""
        ...

    async def power(self, host: HostRef) -> PowerRecord: ...

    async def power_on(self, host: HostRef, *, force: bool) -> PowerAnswer: ...

    async def power_off(self, host: HostRef, *, hard: bool, force: bool) -> PowerAnswer: ...

    async def reboot(self, host: HostRef, *, force: bool) -> PowerAnswer: ...
