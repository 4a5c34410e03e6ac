"""The API as the host operator uses it: plain objects, and one error for whatever does not go through."""

from collections.abc import Mapping
from typing import Any, Final, assert_never

from nodemend.api.group_versions import Resource
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import (
    Acknowledged,
    Ok,
    Reason,
    Refused,
    ServerFault,
    Undecodable,
    Unknown,
    Unreachable,
)
from nodemend.kube.api_reply import Unsent
from nodemend.kube.api_request import Precondition, create, get, merge_patch
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.rate_limit import Rate
from nodemend.testing.metal3.names import MANAGER

Object = dict[str, Any]

WITHIN: Final = 10.0
_RATE: Final = Rate(per_second=500.0, at_once=1000)


class TroubleError(Exception):
    """A call did not go through, or somebody was faster. The pass ends, and is made again."""


class HostApi:
    """Objects are named by where they are: (resource, name, namespace)."""

    def __init__(self, transport: Transport, runtime: Runtime) -> None:
        self._client = ApiClient(transport, runtime, _RATE)
        self._runtime = runtime

    async def find(self, resource: Resource, name: str, namespace: str) -> Object | None:
        """Raises TroubleError."""
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
        """A merge patch of exactly what was read; returns what it became. Raises TroubleError."""
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

    async def publish(self, resource: Resource, body: object, namespace: str) -> None:
        """Create something that nobody depends on: what becomes of it is not asked."""
        request = create(resource, body, namespace, manager=MANAGER)
        await self._client.write(request, Acknowledged, deadline=self._deadline())

    def _deadline(self) -> float:
        return self._runtime.monotonic() + WITHIN
