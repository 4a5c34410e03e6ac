"""What each Node states that no other Node may state: its provider ID, the host in it, its system UUID.

A watch keeps this, so that no decision lists all Nodes. It can only hold a remediation, never allow one: the
Node itself, its Machine and its host are read fresh beside it.
"""

from collections.abc import Sequence
from typing import Final, Never, Protocol

import msgspec

from nodemend.api.group_versions import NODE
from nodemend.decide.facts import Present, Seen, Unreadable
from nodemend.decide.host_identity import node_claims
from nodemend.kube.object_cache import Change
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.projection import Projection
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_loop import run_reflector
from nodemend.kube.reflector_steps import ReflectorTimings

GOOD_FOR: Final = 90.0
"""Seconds. A watch on which nothing happens hears a bookmark about once a minute."""


class Claims(Protocol):
    def others(self, claims: frozenset[str], node: str) -> Seen[tuple[str, ...]]:
        """Names of the Nodes, but for `node`, that state one of them."""


class NodeStates(msgspec.Struct, frozen=True, gc=False):
    """One Node as far as it is kept."""

    name: str
    uid: str
    claims: frozenset[str]


class _Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    namespace: str = ""


class _Spec(msgspec.Struct, frozen=True, gc=False):
    provider_id: str = msgspec.field(name="providerID", default="")


class _NodeInfo(msgspec.Struct, frozen=True, gc=False):
    system_uuid: str = msgspec.field(name="systemUUID", default="")


class _Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    node_info: _NodeInfo = _NodeInfo()


class _Wire(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


def _project(wire: _Wire, old: NodeStates | None) -> NodeStates:
    claims = node_claims(wire.spec.provider_id, wire.status.node_info.system_uuid)
    if old is not None and (old.uid, old.claims) == (wire.metadata.uid, claims):
        return old
    return NodeStates(wire.metadata.name, wire.metadata.uid, claims)


_STATES: Final = Projection(NODE, _Wire, _project, lambda states: states.uid, streamed=False)


class NodeClaims:
    """Every replica keeps one, whether it leads or not."""

    def __init__(self, runtime: Runtime, timings: ReflectorTimings) -> None:
        self._runtime = runtime
        self._reflector = Reflector(_STATES, chance=runtime.random, timings=timings)
        self._names: dict[str, set[str]] = {}
        """Of Nodes, by claim."""

    async def follow(self, transport: Transport) -> Never:
        """Until cancelled."""
        await run_reflector(self._reflector, transport, self._runtime, self._changed)

    def others(self, claims: frozenset[str], node: str) -> Seen[tuple[str, ...]]:
        age = self._reflector.cache.age(self._runtime.monotonic())
        if age > GOOD_FOR:
            since = f"for {age:.0f} s" if age < float("inf") else "yet"
            return Unreadable(f"the watch of Nodes has heard nothing {since}")
        if unreadable := self._reflector.unreadable:
            return Unreadable(f"the Node {min(unreadable)} cannot be decoded")
        found = {name for claim in claims for name in self._names.get(claim, ())}
        return Present(tuple(sorted(found - {node})))

    def _changed(self, changes: Sequence[Change[NodeStates]]) -> None:
        for change in changes:
            for claim in change.old.claims if change.old else ():
                self._names[claim].discard(change.key)
                if not self._names[claim]:
                    del self._names[claim]
            for claim in change.new.claims if change.new else ():
                self._names.setdefault(claim, set()).add(change.key)
