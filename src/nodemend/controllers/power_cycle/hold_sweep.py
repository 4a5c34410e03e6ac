"""Finds holds of ours whose remediation is gone, on all hosts, and gives them back where that is safe.

Such a hold is left when a write that was given up is applied late, or when somebody takes the finalizer off a
remediation by force. A host must not stay off for it, unseen.
"""

from collections.abc import Callable
from math import inf
from typing import Final, Protocol

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.group_versions import BARE_METAL_HOST, METAL3_REMEDIATION, NODE
from nodemend.api.node import Node
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader, node_facts
from nodemend.controllers.power_cycle.host_reading import our_hold
from nodemend.controllers.remediating.writes import FIELD_MANAGER
from nodemend.decide.host_identity import ByName, ByUid, read_provider_id
from nodemend.decide.remediation_life import OUR_TAINT
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok
from nodemend.kube.api_request import Precondition, merge_patch
from nodemend.kube.paged_list import list_all

LOOK_EVERY: Final = 60.0
LINGERS: Final = 600.0
"""Seconds after the last remediation for which one of its writes might still land."""
AT_LEAST_EVERY: Final = 1800.0
"""All hosts are read, and there may be thousands: where nothing was switched, seldom."""


class SweepRecorder(Protocol):
    def left_behind(self, host: BareMetalHost, why_kept: str) -> None:
        """A hold without its remediation was found; given back unless there is a reason to keep it."""
        ...


class HoldSweep:
    """Serves one leadership. `client` must refuse writes once that is over.

    `any_open` tells whether there are remediations now.
    """

    def __init__(
        self, reader: Reader, client: ApiClient, recorder: SweepRecorder, any_open: Callable[[], bool]
    ) -> None:
        self._reader = reader
        self._client = client
        self._recorder = recorder
        self._any_open = any_open

    async def run(self) -> None:
        """Until cancelled: at once, then every minute for as long as something may have been left behind.

        What cannot be read now is read the next time.
        """
        runtime = self._reader.runtime
        busy_until, due = 0.0, -inf
        while True:
            now = runtime.monotonic()
            if self._any_open():
                busy_until = now + LINGERS
            if now < busy_until or now >= due:
                await self.sweep()
                due = now + AT_LEAST_EVERY
            await runtime.sleep(LOOK_EVERY)

    async def sweep(self) -> None:
        # Hosts first: whatever placed a hold that is seen here is among the remediations listed after it.
        held = [host for host in await self._hosts() if _uids(host)]
        living = await self._living() if held else None
        for host in held:
            left = _uids(host) - living if living is not None else set()
            if left:
                await self._handle(host, left)

    async def _hosts(self) -> tuple[BareMetalHost, ...]:
        client, deadline = self._reader.client, self._reader.deadline
        listed = await list_all(client, BARE_METAL_HOST, BareMetalHost, deadline=deadline)
        return tuple(listed.value.items) if isinstance(listed, Ok) else ()

    async def _living(self) -> set[str] | None:
        client, deadline = self._reader.client, self._reader.deadline
        listed = await list_all(client, METAL3_REMEDIATION, Metal3Remediation, deadline=deadline)
        return {one.metadata.uid for one in listed.value.items} if isinstance(listed, Ok) else None

    async def _handle(self, host: BareMetalHost, left: set[str]) -> None:
        why_kept = await self._why_kept(host)
        self._recorder.left_behind(host, why_kept)
        if why_kept:
            return
        metadata = host.metadata
        request = merge_patch(
            BARE_METAL_HOST,
            metadata.name,
            metadata.namespace,
            change={"metadata": {"annotations": {our_hold(uid): None for uid in left}}},
            only_if=Precondition(metadata.uid, metadata.resource_version),
            manager=FIELD_MANAGER,
        )
        deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
        await self._client.write(request, Acknowledged, deadline=deadline)

    async def _why_kept(self, host: BareMetalHost) -> str:
        """Why its power must not come back; empty when it may.

        A node that is out of service by our taint may be losing its pods by force at this moment.
        """
        client, deadline = self._reader.client, self._reader.deadline
        listed = await list_all(client, NODE, Node, deadline=deadline)
        if not isinstance(listed, Ok):
            return "the Nodes cannot be read"
        for node in listed.value.items:
            if OUR_TAINT in node_facts(node).taints and _may_be(node, host):
                return f"Node {node.metadata.name} still has our out-of-service taint"
        return ""


def _uids(host: BareMetalHost) -> set[str]:
    """Of the remediations that hold it."""
    prefix = keys.OUR_HOLD_PREFIX
    return {key.removeprefix(prefix) for key in host.metadata.annotations if key.startswith(prefix)}


def _may_be(node: Node, host: BareMetalHost) -> bool:
    """Unless its provider ID names another host."""
    match read_provider_id(node.spec.provider_id):
        case ByName(namespace, name):
            return (namespace, name) == (host.metadata.namespace, host.metadata.name)
        case ByUid(uid):
            return uid == host.metadata.uid
        case None:
            return True
