"""What the host operator asks of the part that deploys and switches machines, and what it can answer.

Every call ends at once, or as soon as a request over the network does: what takes longer is asked for again.
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
    """There is nothing left to do."""


@dataclass(frozen=True, slots=True)
class Working:
    """It is under way; ask again in so many seconds. None: whenever the operator usually asks."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """A change of power was ordered just now; it shows in the record when it is done. As for Working."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """An order came to nothing, perhaps an earlier one."""

    why: str


@dataclass(frozen=True, slots=True)
class Registration:
    """`anew`: the provisioner had not known the host before this call."""

    id: str
    anew: bool
    progress: Finished | Working


@dataclass(frozen=True, slots=True)
class PowerRecord:
    """What the provisioner believes, which need not be so. `lost`: it has given up on the BMC."""

    on: bool
    lost: bool = False


Progress = Finished | Working
PowerAnswer = Accepted | Working | Failed | Finished


class Provisioner(Protocol):
    """`force` orders although the last error has not been looked at.

    A change of power is Finished when the record already says so: it was done since `power` was asked.
    """

    async def ready(self) -> bool: ...

    async def register(self, host: HostRef) -> Registration: ...

    async def adopt(self, host: HostRef) -> Progress:
        """Take over a host that a workload may run on."""
        ...

    async def inspect(self, host: HostRef) -> Progress: ...

    async def provision(self, host: HostRef) -> Progress: ...

    async def deprovision(self, host: HostRef) -> Progress: ...

    async def service(self, host: HostRef) -> Progress:
        """Firmware work."""
        ...

    async def detach(self, host: HostRef) -> None:
        """Take the hands off it. Its power is left as it is."""
        ...

    async def delete(self, host: HostRef) -> None:
        """As detach, and for good."""
        ...

    async def power(self, host: HostRef) -> PowerRecord: ...

    async def power_on(self, host: HostRef, *, force: bool) -> PowerAnswer: ...

    async def power_off(self, host: HostRef, *, hard: bool, force: bool) -> PowerAnswer: ...

    async def reboot(self, host: HostRef, *, force: bool) -> PowerAnswer: ...
