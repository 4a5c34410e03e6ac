"""Finds power-off requests whose remediation is gone, on all hosts, and clears them where that is safe.

Such a request remains if a write that timed out is applied late, or if a user removes the finalizer of a
remediation by force. It would keep the host off unnoticed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Protocol

from nodemend.api import well_known
from nodemend.api.meta import KubernetesObject, Wire
from nodemend.api.resources import BARE_METAL_HOST, METAL3_REMEDIATION, NODE, POD
from nodemend.api.upstream_types import BareMetalHost, NodeSpec
from nodemend.kube.client import ApiClient, list_all, take_all
from nodemend.kube.outcome import Acknowledged, Ok
from nodemend.kube.request import patch_as_read
from nodemend.records.live_reads import WRITE_WITHIN, LiveReader
from nodemend.remediation.metal3.host_lookup import power_off_request
from nodemend.remediation.writes import FIELD_MANAGER
from nodemend.safety.identity import HostByName, HostByUid, read_provider_id
from nodemend.safety.lifecycle import OUR_TAINT
from nodemend.telemetry.metrics import HeldFor, HostName

SWEEP_INTERVAL: Final = 60.0
LINGERS: Final = 600.0
"""Seconds after the last remediation during which one of its writes may still be applied."""
AT_LEAST_EVERY: Final = 1800.0
"""Seconds between sweeps while no power is switched: each lists all hosts, possibly thousands."""
READ_ALL_WITHIN: Final = 30.0
"""Seconds for one list: 100,000 Nodes take ten and more. Decisions never use an older list."""


class _Name(Wire):
    name: str = ""


class _PlacedNode(Wire):
    metadata: _Name = _Name()
    spec: NodeSpec = NodeSpec()


class _PodNamespace(Wire):
    node_name: str = ""


class _PlacedPod(Wire):
    spec: _PodNamespace = _PodNamespace()


@dataclass(frozen=True, slots=True)
class _NodeSeen:
    """A Node in relation to one host."""

    name: str
    out_of_service: bool
    """It has Nodemend's out-of-service taint."""
    may_be: bool
    """Its provider ID does not name another host."""
    is_named: bool
    """Its provider ID names this host."""


class SweepRecorder(Protocol):
    def looked(self, hosts: Sequence[BareMetalHost], held: Sequence[HeldFor]) -> None:
        """Report that all hosts were read; `held` are those with a power-off request now."""
        ...

    def report_orphaned(self, host: BareMetalHost, why_kept: str) -> None:
        """Report a power-off request without its remediation.

        It is cleared if `why_kept` is empty, else kept for that reason.
        """
        ...


class OrphanedPowerOffGC:
    """Serves one leader term. `client` must refuse writes after the term ends.

    `any_open` returns whether there are remediations, or were since its last call.
    """

    def __init__(
        self, reader: LiveReader, client: ApiClient, recorder: SweepRecorder, any_open: Callable[[], bool]
    ) -> None:
        self._reader = reader
        self._client = client
        self._recorder = recorder
        self._any_open = any_open

    async def run(self) -> None:
        """Sweep until cancelled: once at the start, then every minute while a request may be left behind.

        A failed read is retried in the next sweep.
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
            await runtime.sleep(SWEEP_INTERVAL)

    async def sweep(self) -> bool:
        """Return whether a power-off request without its remediation remains; False if a list fails."""
        # List hosts first: the creator of any request found here is then among the remediations listed next.
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
        return tuple(listed.value) if isinstance(listed, Ok) else None

    async def _living(self) -> dict[str, str] | None:
        """Return the names of all remediations, by UID."""
        client, deadline = self._reader.client, self._deadline
        listed = await list_all(client, METAL3_REMEDIATION, KubernetesObject, deadline=deadline)
        if not isinstance(listed, Ok):
            return None
        return {one.metadata.uid: one.metadata.name for one in listed.value}

    async def _handle(self, host: BareMetalHost, left: set[str]) -> bool:
        """Report the request and clear it if safe. Returns whether it was cleared."""
        why_kept = await self._why_kept(host)
        self._recorder.report_orphaned(host, why_kept)
        if why_kept:
            return False
        change = {"metadata": {"annotations": {power_off_request(uid): None for uid in left}}}
        request = patch_as_read(BARE_METAL_HOST, host.metadata, change, manager=FIELD_MANAGER)
        deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
        written = await self._client.write(request, Acknowledged, deadline=deadline)
        return isinstance(written, Ok)

    async def _why_kept(self, host: BareMetalHost) -> str:
        """Return why the host must stay off; empty if it may be powered on.

        A node with Nodemend's out-of-service taint may be losing its pods by force right now, and so may one
        whose Node was deleted.
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
        """Return why a host that no Node names must stay off: its Node may have been deleted."""

        def stray(pod: _PlacedPod) -> str | None:
            """Return the name of the pod's Node if that Node is gone."""
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
    """Return the UIDs of the remediations that request the host off."""
    prefix = well_known.POWER_OFF_REQUEST_PREFIX
    return {key.removeprefix(prefix) for key in host.metadata.annotations if key.startswith(prefix)}


def _held_for(host: BareMetalHost, remediation: str) -> HeldFor:
    return HeldFor(HostName(host.metadata.namespace, host.metadata.name), remediation)


def _seen_of(node: _PlacedNode, host: BareMetalHost) -> _NodeSeen:
    taints = {(taint.key, taint.effect, taint.value) for taint in node.spec.taints}
    ours = (OUR_TAINT.key, OUR_TAINT.effect, OUR_TAINT.value) in taints
    metadata = host.metadata
    match read_provider_id(node.spec.provider_id):
        case HostByName(namespace, name):
            named = (namespace, name) == (metadata.namespace, metadata.name)
            return _NodeSeen(node.metadata.name, ours, named, named)
        case HostByUid(uid):
            return _NodeSeen(node.metadata.name, ours, uid == metadata.uid, uid == metadata.uid)
        case None:
            return _NodeSeen(node.metadata.name, ours, may_be=True, is_named=False)
