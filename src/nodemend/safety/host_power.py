"""Power state of a BareMetalHost, when it can be trusted, and the holds of the power-off proof.

`status.poweredOn` is what the host operator last read from its provisioner's record. It is not a probe: it
keeps its value while the host is paused or detached, while the operator or the provisioner is down, and while
the BMC does not answer. So it counts only while nothing contradicts it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from nodemend.safety.holds import Explanation, HoldReason

MANAGED_STATES: Final = frozenset({"provisioned", "externally provisioned"})
"""Provisioning states in which the operator carries out a power-off request. In others it waits or ignores
it."""


POWER_ERROR: Final = "power management error"
"""A power order failed. That does not contradict a host that reports on."""

_NOT_TRUSTED: Final = "so its reported power state is not trusted"


class Power(StrEnum):
    ON = "on"
    OFF = "off"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PausedHost:
    """The host operator ignores the host while it is paused."""

    reason: ClassVar[str] = "PausedHost"

    def explain(self, host: str) -> Explanation:
        return Explanation(
            f"{host} is paused, {_NOT_TRUSTED}.", "Nodemend continues when the host is unpaused."
        )


@dataclass(frozen=True, slots=True)
class Detached:
    """The host operator no longer manages the host."""

    reason: ClassVar[str] = "Detached"

    def explain(self, host: str) -> Explanation:
        return Explanation(
            f"{host} is detached, {_NOT_TRUSTED}.", "Nodemend continues when the host is attached again."
        )


@dataclass(frozen=True, slots=True)
class HostDeleting:
    """The host is being deleted, and power-off requests no longer count."""

    reason: ClassVar[str] = "HostDeleting"

    def explain(self, host: str) -> Explanation:
        return Explanation(f"{host} is being deleted, {_NOT_TRUSTED}.", "Nothing is released.")


@dataclass(frozen=True, slots=True)
class PowerOffDisabled:
    """A power-off request would reboot the host repeatedly, and never power it off."""

    reason: ClassVar[str] = "PowerOffDisabled"

    def explain(self, host: str) -> Explanation:
        return Explanation(
            f"{host} has spec.disablePowerOff: a power-off request would reboot it again and again.",
            "Choose another remedy for the node, or allow it to be powered off.",
        )


@dataclass(frozen=True, slots=True)
class HostInError:
    reason: ClassVar[str] = "HostInError"
    type: str
    message: str

    def explain(self, host: str) -> Explanation:
        because = f" ({self.message})" if self.message else ""
        return Explanation(
            f"{host} is in {self.type}{because}, {_NOT_TRUSTED}.",
            "Nodemend continues when metal3 reaches its BMC again.",
        )


@dataclass(frozen=True, slots=True)
class Servicing:
    """Firmware servicing, for which the machine may run despite a power-off request."""

    reason: ClassVar[str] = "Servicing"

    def explain(self, host: str) -> Explanation:
        return Explanation(
            f"metal3 services the firmware of {host}, and the machine may run for that.",
            "Nodemend continues when that is done.",
        )


@dataclass(frozen=True, slots=True)
class Unmanageable:
    """The provisioner cannot reach the host's BMC."""

    reason: ClassVar[str] = "Unmanageable"
    why: str

    def explain(self, host: str) -> Explanation:
        return Explanation(
            f"The provisioner has lost the BMC of {host} ({self.why}), {_NOT_TRUSTED}.",
            "Nodemend continues when the BMC answers again.",
        )


@dataclass(frozen=True, slots=True)
class NotManaged:
    """In this state the host operator does not manage power."""

    reason: ClassVar[str] = "NotManaged"
    state: str

    def explain(self, host: str) -> Explanation:
        return Explanation(
            f"{host} is in state {self.state or 'unknown'}, in which its power is not managed.",
            "Nodemend continues when the host is provisioned.",
        )


@dataclass(frozen=True, slots=True)
class PowerUnreported:
    """The host operator has not reported a power state yet."""

    reason: ClassVar[str] = "PowerUnreported"

    def explain(self, host: str) -> Explanation:
        return Explanation(
            f"{host} reports no power state yet.", "Nodemend continues when metal3 has reported one."
        )


@dataclass(frozen=True, slots=True)
class StatusUnclear:
    """An operational status that does not show whether power is managed."""

    reason: ClassVar[str] = "StatusUnclear"
    said: str

    def explain(self, host: str) -> Explanation:
        return Explanation(
            f"{host} has the operational status {self.said or '(none)'}, {_NOT_TRUSTED}.",
            "Nodemend continues when its operational status is OK.",
        )


PowerUncertainty = (
    HostDeleting
    | PausedHost
    | Detached
    | PowerOffDisabled
    | HostInError
    | Servicing
    | StatusUnclear
    | Unmanageable
    | NotManaged
    | PowerUnreported
)
"""Reasons not to trust the power state of a host, or not to place a power-off request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """One BareMetalHost in one version."""

    namespace: str
    name: str
    uid: str
    version: str
    powered_on: bool | None
    """From the status; None if it has no value yet."""
    held_by_us: bool = False
    revoked_by_us: bool = False
    """No power-off request of Nodemend's that is still in flight can succeed any longer."""
    held_by_others: tuple[str, ...] = ()
    """The annotation keys of other clients' power-off requests."""
    online: bool = True
    """The power state that the host's owner requests."""
    paused: bool = False
    detached: bool = False
    deleting: bool = False
    power_off_disabled: bool = False
    operational_status: str = "OK"
    error_type: str = ""
    error_message: str = ""
    manageable: str = ""
    """The reason of its condition Manageable if that is False."""
    state: str = "provisioned"
    last_updated: str = ""
    marked_unhealthy: bool = False
    """The host is not picked for another machine."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def power_uncertainty(host: HostFacts) -> PowerUncertainty | None:
    """Return the most severe reason not to trust the power state; None if it can be trusted."""
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
    return PowerUnreported() if host.powered_on is None else None


def power_of(host: HostFacts) -> Power:
    """Return the trusted power state. Unknown is a separate result, and never means off."""
    why = power_uncertainty(host)
    if host.powered_on and isinstance(why, HostInError) and why.type == POWER_ERROR:
        # The error stays after the failed request is withdrawn, until there is another request.
        return Power.ON
    if why is not None:
        return Power.UNKNOWN
    return Power.ON if host.powered_on else Power.OFF


@dataclass(frozen=True, slots=True)
class HostPowerUncertain(HoldReason):
    """The power state that the host reports cannot be trusted."""

    reason: ClassVar[str] = "HostPowerUncertain"
    host: str
    problem: PowerUncertainty

    def explain(self) -> Explanation:
        return self.problem.explain(self.host)


@dataclass(frozen=True, slots=True)
class HostOn(HoldReason):
    """The host reports on although it has Nodemend's power-off request."""

    reason: ClassVar[str] = "HostOn"
    host: str

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.host} is on although it has Nodemend's power-off request.",
            "Find out what powered it on. Nodemend tries again if an attempt is left.",
        )


@dataclass(frozen=True, slots=True)
class OffTooRecent(HoldReason):
    """The host has been observed off too briefly; it must be observed off a second time."""

    reason: ClassVar[str] = "OffTooRecent"
    host: str

    def explain(self) -> Explanation:
        return Explanation(
            f"metal3 has only just reported {self.host} as off.", "Nodemend reads the host once more."
        )


@dataclass(frozen=True, slots=True)
class PowerOffUnreported(HoldReason):
    """The host is off, but metal3 has published no PowerOff event since the power-off request.

    metal3 may report an older state: the machine may have been off before, and be on by now.
    """

    reason: ClassVar[str] = "PowerOffUnreported"
    host: str

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.host} is off, but metal3 has published no PowerOff event since Nodemend's request: it "
            "may have been off before, and be on by now.",
            "Nodemend continues when there is a new PowerOff event. Otherwise it clears its request, so that "
            "the host powers on, and tries again if an attempt is left.",
        )


@dataclass(frozen=True, slots=True)
class OffTimeUncertain(HoldReason):
    """The host is off, but its operator has written its status since the first observation of power off.

    It may have been on in between.
    """

    reason: ClassVar[str] = "OffTimeUncertain"
    host: str

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.host} is off, but it may have been on since Nodemend first observed it off.",
            "Nodemend clears its request, so that the host powers on, and tries again if an attempt is left.",
        )


@dataclass(frozen=True, slots=True)
class ActiveAfterPowerOff(HoldReason):
    """The kubelet renewed its Lease after the host was observed off, so it runs on another machine.

    `said` is the renew time.
    """

    reason: ClassVar[str] = "ActiveAfterPowerOff"
    host: str
    said: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The kubelet renewed its Lease at {self.said}, after {self.host} was observed off: it runs on "
            "another machine.",
            "Nothing is released. Find out which machine the node runs on.",
        )


@dataclass(frozen=True, slots=True)
class PowerOffRequestLost(HoldReason):
    """The power-off request is no longer on the host: another writer removed it."""

    reason: ClassVar[str] = "PowerOffRequestLost"
    host: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Nodemend's power-off request is no longer on {self.host}: another client removed it.",
            "Find out which client did. Nodemend tries again if an attempt is left.",
        )
