"""Finds holds of ours whose remediation is gone, on all hosts, and gives them back where that is safe.

Such a hold is left when a write that was given up is applied late, or when somebody takes the finalizer off a
remediation by force. A host must not stay off for it, unseen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Protocol

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.group_versions import BARE_METAL_HOST, METAL3_REMEDIATION, NODE, POD
from nodemend.api.node import NodeSpec
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader
from nodemend.controllers.power_cycle.host_reading import our_hold
from nodemend.controllers.remediating.writes import FIELD_MANAGER
from nodemend.decide.host_identity import ByName, ByUid, read_provider_id
from nodemend.decide.remediation_life import OUR_TAINT
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok
from nodemend.kube.api_request import Precondition, merge_patch
from nodemend.kube.paged_list import list_all, take_all
from nodemend.telemetry.host_book import HeldFor, HostName

LOOK_EVERY: Final = 60.0
LINGERS: Final = 600.0
"""Seconds after the last remediation for which one of its writes might still land."""
AT_LEAST_EVERY: Final = 1800.0
"""All hosts are read, and there may be thousands: where nothing was switched, seldom."""
READ_ALL_WITHIN: Final = 30.0
"""Seconds for one list: 100,000 Nodes take ten and more. What is decided on it is not older."""


class _Living(Wire):
    """That it is there is all that matters: one of a newer version lives, too, whatever it says."""

    metadata: ObjectMeta = ObjectMeta()


class _Name(Wire):
    name: str = ""


class _PlacedNode(Wire):
    metadata: _Name = _Name()
    spec: NodeSpec = NodeSpec()


class _Place(Wire):
    node_name: str = ""


class _PlacedPod(Wire):
    spec: _Place = _Place()


@dataclass(frozen=True, slots=True)
class _NodeSeen:
    """A Node beside one host."""

    name: str
    out_of_service: bool
    """By our taint."""
    may_be: bool
    """Its provider ID does not name another host."""
    is_named: bool
    """It names this one."""


class SweepRecorder(Protocol):
    def looked(self, hosts: Sequence[BareMetalHost], held: Sequence[HeldFor]) -> None:
        """All hosts were read; `held` are those that have a hold of ours now."""
        ...

    def left_behind(self, host: BareMetalHost, why_kept: str) -> None:
        """A hold without its remediation was found; given back unless there is a reason to keep it."""
        ...


class HoldSweep:
    """Serves one leadership. `client` must refuse writes once that is over.

    `any_open` tells whether there are remediations, or were since it was last asked.
    """

    def __init__(
        self, reader: Reader, client: ApiClient, recorder: SweepRecorder, any_open: Callable[[], bool]
    ) -> None:
        self._reader = reader
        self._client = client
        self._recorder = recorder
        self._any_open = any_open

    async def run(self) -> None:
        """Until cancelled: at once, then every minute while something is, or may have been, left behind.

        What cannot be read now is read the next time.
        """
        runtime = self._reader.runtime
        busy_until, due = 0.0, -inf
        while True:
            now = runtime.monotonic()
            if self._any_open():
                busy_until = now + LINGERS
            if now < busy_until or now >= due:
                if await self.sweep():
                    busy_until = now + LINGERS
                due = now + AT_LEAST_EVERY
            await runtime.sleep(LOOK_EVERY)

    async def sweep(self) -> bool:
        """Whether a hold is left for a remediation that is gone. What cannot be read tells nothing new."""
        # Hosts first: whatever placed a hold that is seen here is among the remediations listed after it.
        hosts = await self._hosts()
        held = [host for host in hosts or () if _uids(host)]
        living = await self._living() if held else {}
        if hosts is None or living is None:
            return False
        seen = [_held_for(host, living[uid]) for host in held for uid in sorted(_uids(host) & living.keys())]
        for host in held:
            left = _uids(host) - living.keys()
            if left and not await self._handle(host, left):
                seen.append(_held_for(host, ""))
        self._recorder.looked(hosts, seen)
        return any(not one.remediation for one in seen)

    async def _hosts(self) -> tuple[BareMetalHost, ...] | None:
        client, deadline = self._reader.client, self._deadline
        listed = await list_all(client, BARE_METAL_HOST, BareMetalHost, deadline=deadline)
        return tuple(listed.value.items) if isinstance(listed, Ok) else None

    async def _living(self) -> dict[str, str] | None:
        """The names of all remediations, by UID."""
        client, deadline = self._reader.client, self._deadline
        listed = await list_all(client, METAL3_REMEDIATION, _Living, deadline=deadline)
        if not isinstance(listed, Ok):
            return None
        return {one.metadata.uid: one.metadata.name for one in listed.value.items}

    async def _handle(self, host: BareMetalHost, left: set[str]) -> bool:
        """Whether it was given back."""
        why_kept = await self._why_kept(host)
        self._recorder.left_behind(host, why_kept)
        if why_kept:
            return False
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
        written = await self._client.write(request, Acknowledged, deadline=deadline)
        return isinstance(written, Ok)

    async def _why_kept(self, host: BareMetalHost) -> str:
        """Why its power must not come back; empty when it may.

        A node that is out of service by our taint may be losing its pods by force at this moment, and so may
        one whose Node was deleted.
        """
        listed = await take_all(
            self._reader.client, NODE, _PlacedNode, lambda node: _seen_of(node, host), deadline=self._deadline
        )
        if not isinstance(listed, Ok):
            return "the Nodes cannot be read"
        for node in listed.value:
            if node.may_be and node.out_of_service:
                return f"Node {node.name} still has our out-of-service taint"
        if any(node.is_named for node in listed.value):
            return ""
        return await self._why_without_node({node.name for node in listed.value})

    async def _why_without_node(self, nodes: set[str]) -> str:
        """No Node names this host: perhaps it is that of one that was deleted."""

        def stray(pod: _PlacedPod) -> str | None:
            """The Node that it is on, if that is gone."""
            name = pod.spec.node_name
            return name if name and name not in nodes else None

        left = await take_all(self._reader.client, POD, _PlacedPod, stray, deadline=self._deadline)
        if not isinstance(left, Ok):
            return "the Pods cannot be read"
        return f"there are pods on {min(left.value)}, whose Node is gone" if left.value else ""

    @property
    def _deadline(self) -> float:
        return self._reader.runtime.monotonic() + READ_ALL_WITHIN


def _uids(host: BareMetalHost) -> set[str]:
    """Of the remediations that hold it."""
    prefix = keys.OUR_HOLD_PREFIX
    return {key.removeprefix(prefix) for key in host.metadata.annotations if key.startswith(prefix)}


def _held_for(host: BareMetalHost, remediation: str) -> HeldFor:
    return HeldFor(HostName(host.metadata.namespace, host.metadata.name), remediation)


def _seen_of(node: _PlacedNode, host: BareMetalHost) -> _NodeSeen:
    taints = {(taint.key, taint.effect, taint.value) for taint in node.spec.taints}
    ours = (OUR_TAINT.key, OUR_TAINT.effect, OUR_TAINT.value) in taints
    metadata = host.metadata
    match read_provider_id(node.spec.provider_id):
        case ByName(namespace, name):
            named = (namespace, name) == (metadata.namespace, metadata.name)
            return _NodeSeen(node.metadata.name, ours, named, named)
        case ByUid(uid):
            return _NodeSeen(node.metadata.name, ours, uid == metadata.uid, uid == metadata.uid)
        case None:
            return _NodeSeen(node.metadata.name, ours, may_be=True, is_named=False)
