"""The kinds, annotations and words of metal3 that its host operator and we have in common."""

from enum import StrEnum
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import Resource

GROUP: Final = "metal3.io"
HOST_UPDATE_POLICY: Final = Resource(GROUP, "v1alpha1", "HostUpdatePolicy", "hostupdatepolicies")
HOST_FIRMWARE_SETTINGS: Final = Resource(GROUP, "v1alpha1", "HostFirmwareSettings", "hostfirmwaresettings")

REBOOT: Final = "reboot.metal3.io"
"""Alone a reboot; with a slash and a client's name behind it, a hold."""
PAUSED: Final = keys.HOST_PAUSED
DETACHED: Final = keys.HOST_DETACHED
FINALIZER: Final = "baremetalhost.metal3.io"
SECRET_FINALIZER: Final = "baremetalhost.metal3.io/secret"  # noqa: S105 - a name, not a secret
SECRET_LABEL: Final = ("environment.metal3.io", "baremetal")
MANAGER: Final = "baremetal-operator"


class State(StrEnum):
    """Of status.provisioning.state, those that the recorded hosts went through."""

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
"""A workload may run on it: holds count, firmware work may be done."""

ON_ITS_WAY_OUT: Final = frozenset({State.DEPROVISIONING, State.POWERING_OFF_BEFORE_DELETE, State.DELETING})


class Operational(StrEnum):
    """status.operationalStatus"""

    NONE = ""
    OK = "OK"
    ERROR = "error"
    DETACHED = "detached"
    SERVICING = "servicing"


class ErrorType(StrEnum):
    """status.errorType"""

    REGISTRATION = "registration error"
    POWER_MANAGEMENT = "power management error"
