"""A BareMetalHost and the requests in its annotations, and the names that metal3 and Nodemend share."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from nodemend.api import well_known
from nodemend.api.resources import Resource
from simulation.metal3.provisioner import HostRef

GROUP: Final = "metal3.io"
HOST_UPDATE_POLICY: Final = Resource(GROUP, "v1alpha1", "HostUpdatePolicy", "hostupdatepolicies")
HOST_FIRMWARE_SETTINGS: Final = Resource(GROUP, "v1alpha1", "HostFirmwareSettings", "hostfirmwaresettings")

REBOOT: Final = "reboot.metal3.io"
"""Requests one reboot. With the suffix `/CLIENT` it requests power off while the annotation exists."""
PAUSED: Final = well_known.HOST_PAUSED
DETACHED: Final = well_known.HOST_DETACHED
FINALIZER: Final = "baremetalhost.metal3.io"
SECRET_FINALIZER: Final = "baremetalhost.metal3.io/secret"  # noqa: S105 - a name, not a secret
SECRET_LABEL: Final = ("environment.metal3.io", "baremetal")
MANAGER: Final = "baremetal-operator"


class State(StrEnum):
    """The values of status.provisioning.state that the recorded hosts passed through."""

    NONE = ""
    REGISTERING = "registering"
    INSPECTING = "inspecting"
    PREPARING = "preparing"
    AVAILABLE = "available"
    PROVISIONING = "provisioning"
    PROVISIONED = "provisioned"
    EXTERNALLY_PROVISIONED = "externally provisioned"
    DEPROVISIONING = "deprovisioning"
    POWERING_OFF_BEFORE_DELETE = "powering off before delete"
    DELETING = "deleting"


IN_USE: Final = frozenset({State.PROVISIONED, State.EXTERNALLY_PROVISIONED})
"""States in which a workload may run: power-off requests count, and firmware work is allowed."""

ON_ITS_WAY_OUT: Final = frozenset({State.DEPROVISIONING, State.POWERING_OFF_BEFORE_DELETE, State.DELETING})


class Operational(StrEnum):
    """Values of status.operationalStatus."""

    NONE = ""
    OK = "OK"
    ERROR = "error"
    DETACHED = "detached"
    SERVICING = "servicing"


class ErrorType(StrEnum):
    """Values of status.errorType."""

    REGISTRATION = "registration error"
    POWER_MANAGEMENT = "power management error"


Object = dict[str, Any]


class _Value(msgspec.Struct):
    """Value of a reboot annotation, and of `detached`."""

    mode: str = "soft"
    force: bool = False
    delete_action: str = msgspec.field(name="deleteAction", default="delete")


@dataclass(frozen=True, slots=True)
class Hold:
    """Combined power-off request of the reboot annotations that count."""

    hard: bool
    """True if at least one annotation requests a hard power-off."""
    unreadable: tuple[str, ...] = ()
    """Annotations with an invalid value. They count as soft requests."""


class Host:
    """The object as it was read. `status` is a copy to change and save."""

    def __init__(self, document: Object) -> None:
        self.document = document
        self.metadata: Object = document["metadata"]
        self.spec: Object = document.get("spec", {})
        self.status: Object = msgspec.json.decode(msgspec.json.encode(document.get("status", {})))

    def moved_on(self, document: Object) -> None:
        """Use the object's newer version after a write by the operator. Unsaved changes of `status` stay."""
        self.document = document
        self.metadata = document["metadata"]

    @property
    def key(self) -> str:
        return f"{self.metadata['namespace']}/{self.metadata['name']}"

    @property
    def ref(self) -> HostRef:
        return HostRef(self.key, self.spec.get("bmc", {}).get("address", ""))

    @property
    def annotations(self) -> dict[str, str]:
        found: dict[str, str] = self.metadata.get("annotations", {})
        return found

    @property
    def finalizers(self) -> list[str]:
        found: list[str] = self.metadata.get("finalizers", [])
        return found

    @property
    def has_finalizer(self) -> bool:
        return FINALIZER in self.finalizers

    @property
    def deleting(self) -> bool:
        return "deletionTimestamp" in self.metadata

    @property
    def paused(self) -> bool:
        return PAUSED in self.annotations

    @property
    def asks_to_detach(self) -> bool:
        return DETACHED in self.annotations

    @property
    def waits_detached_for_deletion(self) -> bool:
        """True if `detached` delays a deletion until the annotation is removed."""
        value = _read(self.annotations.get(DETACHED, ""))
        return value is not None and value.delete_action == "delay"

    @property
    def wants_reboot_once(self) -> bool:
        return REBOOT in self.annotations

    @property
    def online(self) -> bool:
        return bool(self.spec.get("online"))

    @property
    def disables_power_off(self) -> bool:
        return bool(self.spec.get("disablePowerOff"))

    @property
    def state(self) -> State:
        return State(self.status.get("provisioning", {}).get("state", ""))

    @state.setter
    def state(self, state: State) -> None:
        self.status.setdefault("provisioning", {"ID": ""})["state"] = str(state)

    @property
    def operational(self) -> Operational:
        return Operational(self.status.get("operationalStatus", ""))

    @operational.setter
    def operational(self, status: Operational) -> None:
        self.status["operationalStatus"] = str(status)

    @property
    def powered_on(self) -> bool:
        return bool(self.status.get("poweredOn"))

    def hold(self, *, forced_only: bool) -> Hold | None:
        """Return the power-off request, or None. With `forced_only`, only annotations with `force` count."""
        values = {
            name: _read(value)
            for name, value in self.annotations.items()
            if name == REBOOT or name.startswith(f"{REBOOT}/")
        }
        counting = {
            name: value
            for name, value in values.items()
            if not forced_only or (value is not None and value.force)
        }
        if not counting:
            return None
        return Hold(
            hard=any(value is not None and value.mode == "hard" for value in counting.values()),
            unreadable=tuple(name for name, value in counting.items() if value is None),
        )


def _read(value: str) -> _Value | None:
    """Decode an annotation's value; None if it is invalid. An empty value means all defaults."""
    try:
        return msgspec.json.decode(value, type=_Value) if value else _Value()
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
