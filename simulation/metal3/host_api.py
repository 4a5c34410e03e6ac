"""The host operator's API client: plain objects, one error for every failed call, and Events."""

from collections.abc import Mapping
from typing import Any, Final, assert_never

import msgspec

from nodemend.api.meta import ObjectMeta, print_micro_time
from nodemend.api.resources import BARE_METAL_HOST, EVENT, Resource
from nodemend.api.upstream_types import Event, EventType, ObjectReference
from nodemend.kube.client import ApiClient
from nodemend.kube.flowcontrol import Rate
from nodemend.kube.outcome import (
    Acknowledged,
    Ok,
    Reason,
    Refused,
    ServerFault,
    Undecodable,
    Unknown,
    Unreachable,
    Unsent,
)
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.request import Precondition, create, get, merge_patch
from simulation.metal3.host import MANAGER, Host

Object = dict[str, Any]

WITHIN: Final = 10.0
_RATE: Final = Rate(per_second=500.0, at_once=1000)


class TroubleError(Exception):
    """A call failed, or another writer was faster. The pass ends and is repeated."""


class HostApi:
    """Reads and writes single objects, addressed by resource, name and namespace."""

    def __init__(self, transport: Transport, runtime: Runtime) -> None:
        self._client = ApiClient(transport, runtime, _RATE)
        self._runtime = runtime

    async def find(self, resource: Resource, name: str, namespace: str) -> Object | None:
        """Return the object, or None if it does not exist. Raises TroubleError."""
        found = await self._client.read(get(resource, name, namespace), Object, deadline=self._deadline())
        match found:
            case Ok(value):
                return value
            case Refused(Reason.NOT_FOUND):
                return None
            case Refused() | Unreachable() | ServerFault() | Undecodable():
                raise TroubleError(str(found))
            case _:
                assert_never(found)

    async def change(
        self, resource: Resource, old: Object, change: Mapping[str, Any], *, subresource: str = ""
    ) -> Object:
        """Merge-patch exactly the version that was read; return the new object. Raises TroubleError."""
        metadata = old["metadata"]
        request = merge_patch(
            resource,
            metadata["name"],
            metadata["namespace"],
            change=change,
            only_if=Precondition(metadata["uid"], metadata["resourceVersion"]),
            manager=MANAGER,
            subresource=subresource,
        )
        changed = await self._client.write(request, Object, deadline=self._deadline())
        match changed:
            case Ok(value):
                return value
            case Refused() | Unsent() | Unknown() | Undecodable():
                raise TroubleError(str(changed))
            case _:
                assert_never(changed)

    async def publish(self, resource: Resource, fields: Mapping[str, object], namespace: str) -> None:
        """Create an object that no decision depends on; the outcome is ignored."""
        request = create(resource, fields, namespace, manager=MANAGER)
        await self._client.write(request, Acknowledged, deadline=self._deadline())

    def _deadline(self) -> float:
        return self._runtime.monotonic() + WITHIN


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
        await self._api.publish(EVENT, msgspec.to_builtins(event), namespace)
