"""Kinds, annotations and constants of metal3 that its host operator and Nodemend share."""

from enum import StrEnum
from typing import Final

from nodemend.api import well_known
from nodemend.api.resources import Resource

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
