"""What a BareMetalHost says about power, and whether it may be believed.

`status.poweredOn` is what the host operator last took from its provisioner's record. It is not a probe: it
keeps its value while the host is paused or detached, while the operator or the provisioner is down, and while
the BMC does not answer. So what it says counts only while nothing speaks against it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MANAGED_STATES: Final = frozenset({"provisioned", "externally provisioned"})
"""In these the operator carries out a hold. In all others it waits, or ignores it."""


POWER_ERROR: Final = "power management error"
"""An order failed. That says nothing against a host's being on."""


class Power(StrEnum):
    ON = "on"
    OFF = "off"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PausedHost:
    """Its operator leaves it alone."""


@dataclass(frozen=True, slots=True)
class Detached:
    """Its operator has let go of it."""


@dataclass(frozen=True, slots=True)
class HostDeleting:
    """It is on its way out, and holds no longer count."""


@dataclass(frozen=True, slots=True)
class PowerOffDisabled:
    """A hold would reboot it again and again, and never switch it off."""


@dataclass(frozen=True, slots=True)
class HostInError:
    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Servicing:
    """Firmware work, for which the machine may run although it is held off."""


@dataclass(frozen=True, slots=True)
class Unmanageable:
    """The provisioner has lost its BMC."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotManaged:
    """In this state its operator does not manage power."""

    state: str


@dataclass(frozen=True, slots=True)
class PowerUntold:
    """Its operator has said nothing about its power yet."""


@dataclass(frozen=True, slots=True)
class StatusUnclear:
    """An operational status under which nobody knows whether power is managed."""

    said: str


Doubt = (
    HostDeleting
    | PausedHost
    | Detached
    | PowerOffDisabled
    | HostInError
    | Servicing
    | StatusUnclear
    | Unmanageable
    | NotManaged
    | PowerUntold
)
"""Why what a host says about power is not to be believed, or a hold is not to be placed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """One BareMetalHost in one version."""

    namespace: str
    name: str
    uid: str
    version: str
    powered_on: bool | None
    """As the status has it; None when there is none yet."""
    held_by_us: bool = False
    voided_by_us: bool = False
    """No hold of ours that is still under way can land any more."""
    held_by_others: tuple[str, ...] = ()
    """The keys of other clients' holds."""
    online: bool = True
    """What its owner wants."""
    paused: bool = False
    detached: bool = False
    deleting: bool = False
    power_off_disabled: bool = False
    operational_status: str = "OK"
    error_type: str = ""
    error_message: str = ""
    manageable: str = ""
    """The reason of its condition Manageable where that is False."""
    state: str = "provisioned"
    last_updated: str = ""
    marked_unhealthy: bool = False
    """It is not picked for another machine."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def doubt(host: HostFacts) -> Doubt | None:
    """The first reason not to believe what the host says; the gravest first."""
    if host.deleting:
        return HostDeleting()
    if host.paused:
        return PausedHost()
    if host.detached or host.operational_status == "detached":
        return Detached()
    if host.power_off_disabled:
        return PowerOffDisabled()
    if host.error_type or host.operational_status == "error":
        return HostInError(host.error_type or "error", host.error_message)
    if host.operational_status == "servicing":
        return Servicing()
    if host.operational_status != "OK":
        return StatusUnclear(host.operational_status)
    if host.manageable:
        return Unmanageable(host.manageable)
    if host.state not in MANAGED_STATES:
        return NotManaged(host.state)
    return PowerUntold() if host.powered_on is None else None


def power_of(host: HostFacts) -> Power:
    """What may be believed. Not knowing is an answer of its own, and never means off."""
    why = doubt(host)
    if host.powered_on and isinstance(why, HostInError) and why.type == POWER_ERROR:
        # It stays after nobody wishes any more for what failed, until somebody wishes anew.
        return Power.ON
    if why is not None:
        return Power.UNKNOWN
    return Power.ON if host.powered_on else Power.OFF
