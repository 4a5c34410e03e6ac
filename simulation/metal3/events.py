"""Events of the host operator, as events.k8s.io objects."""

from typing import Final

from nodemend.api.meta import ObjectMeta, print_micro_time
from nodemend.api.resources import BARE_METAL_HOST, EVENT
from nodemend.api.upstream_types import Event, EventType, ObjectReference
from nodemend.kube.ports import Runtime
from simulation.metal3.host import Host
from simulation.metal3.host_api import HostApi

NO_REASON: Final = "Unnamed"
"""Reason of the event for a reboot in place of a power-off.

metal3 leaves it empty, which its older events API allows; events.k8s.io requires a reason.
"""

WARNINGS: Final = frozenset({"BMCCredentialError", "InvalidAnnotationValue", "PowerManagementError"})
_CONTROLLER: Final = "metal3.io/baremetal-operator"


class Events:
    """Publishes one Event at a time."""

    def __init__(self, api: HostApi, runtime: Runtime) -> None:
        self._api = api
        self._runtime = runtime
        self._published = 0

    async def publish(self, host: Host, reason: str, note: str) -> None:
        self._published += 1
        name, namespace, now = host.metadata["name"], host.metadata["namespace"], self._runtime.wall()
        # The time makes names unique across restarts of the operator.
        unique = f"{name}.{int(now.timestamp() * 1e6):x}.{self._published}"
        event = Event(
            api_version=EVENT.api_version,
            kind=EVENT.kind,
            metadata=ObjectMeta(name=unique, namespace=namespace),
            event_time=print_micro_time(now),
            type=EventType.WARNING if reason in WARNINGS else EventType.NORMAL,
            reason=reason,
            action=reason,
            note=note,
            regarding=ObjectReference(
                api_version=BARE_METAL_HOST.api_version,
                kind=BARE_METAL_HOST.kind,
                name=name,
                namespace=namespace,
                uid=host.metadata["uid"],
            ),
            reporting_controller=_CONTROLLER,
            reporting_instance="baremetal-operator",
        )
        await self._api.publish(EVENT, event, namespace)
