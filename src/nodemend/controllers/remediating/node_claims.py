"""What each Node states that no other Node may state: its provider ID, the host in it, its system UUID.

An index of the Nodes that the remediator watches, so that no decision goes through all of them. It can only
hold a remediation, never allow one: the Node itself, its Machine and its host are read fresh beside it.
"""

from typing import Protocol

from nodemend.controllers.checking.guarding import VIEW_GOOD_FOR
from nodemend.decide.facts import Present, Seen, Unreadable
from nodemend.decide.host_identity import node_claims
from nodemend.kube.node_record import NodeRecord, NodeWire
from nodemend.kube.object_cache import Change
from nodemend.kube.ports import Runtime
from nodemend.kube.reflector import Reflector


class Claims(Protocol):
    def others(self, claims: frozenset[str], node: str) -> Seen[tuple[str, ...]]:
        """Names of the Nodes, but for `node`, that state one of them."""


class NodeClaims:
    """Every replica keeps one, whether it leads or not. `note` must be told of every change of `nodes`."""

    def __init__(self, nodes: Reflector[NodeWire, NodeRecord], runtime: Runtime) -> None:
        self._nodes = nodes
        self._runtime = runtime
        self._names: dict[int, str | set[str]] = {}
        """Of the Nodes that state a claim, by its hash: nearly always one, and the text itself is long."""

    def others(self, claims: frozenset[str], node: str) -> Seen[tuple[str, ...]]:
        age = self._nodes.cache.age(self._runtime.monotonic())
        if age > VIEW_GOOD_FOR:
            since = f"for {age:.0f} s" if age < float("inf") else "yet"
            return Unreadable(f"the watch of Nodes has heard nothing {since}")
        if unreadable := self._nodes.unreadable:
            return Unreadable(f"the Node {min(unreadable)} cannot be decoded")
        found = {name for claim in claims for name in self._stated_by(hash(claim))} - {node}
        return Present(tuple(sorted(name for name in found if self._states(name, claims))))

    def note(self, change: Change[NodeRecord]) -> None:
        before, after = _hashes(change.old), _hashes(change.new)
        for claim in before - after:
            names = self._names[claim]
            if isinstance(names, set) and len(names) > 1:
                names.discard(change.key)
            else:
                del self._names[claim]
        for claim in after - before:
            names = self._names.setdefault(claim, change.key)
            if isinstance(names, set):
                names.add(change.key)
            elif names != change.key:
                self._names[claim] = {names, change.key}

    def _stated_by(self, claim: int) -> set[str]:
        names = self._names.get(claim, set())
        return names if isinstance(names, set) else {names}

    def _states(self, name: str, claims: frozenset[str]) -> bool:
        """Two claims may have one hash."""
        record = self._nodes.cache.get(name)
        return record is not None and not claims.isdisjoint(_claims_of(record))


def _claims_of(node: NodeRecord) -> frozenset[str]:
    return node_claims(node.provider_id, node.system_uuid)


def _hashes(node: NodeRecord | None) -> frozenset[int]:
    return frozenset(map(hash, _claims_of(node))) if node is not None else frozenset()
