"""What the host operator tells people, as Events of events.k8s.io."""

from typing import Final

from nodemend.api.event import Event, EventType, ObjectReference
from nodemend.api.group_versions import BARE_METAL_HOST, EVENT
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.timestamps import print_micro_time
from nodemend.kube.ports import Runtime
from nodemend.testing.metal3.host import Host
from nodemend.testing.metal3.host_api import HostApi

NO_REASON: Final = "Unnamed"
"""metal3 tells of a reboot in place of a power-off without any reason. It can, since it uses the older API;
this one takes none without."""

WARNINGS: Final = frozenset({"BMCCredentialError", "InvalidAnnotationValue", "PowerManagementError"})
_CONTROLLER: Final = "metal3.io/baremetal-operator"


class Events:
    """Publishes one after the other."""

    def __init__(self, api: HostApi, runtime: Runtime) -> None:
        self._api = api
        self._runtime = runtime
        self._published = 0

    async def publish(self, host: Host, reason: str, note: str) -> None:
        self._published += 1
        name, namespace, now = host.metadata["name"], host.metadata["namespace"], self._runtime.wall()
        # The time, so that names of two starts do not meet.
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
