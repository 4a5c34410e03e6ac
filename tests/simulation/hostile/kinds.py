"""Kinds of hostile faults, and counts of those that took effect.

A fault takes effect when the shipped code reads what it changed. A fault that writes an object adds a token
that nothing else in the world contains, and each answer and each line of a watch to a replica is searched for
it. A fault counts once. The other faults (late watches, outages, clocks) define in their modules when they
count.
"""

from collections import Counter
from enum import StrEnum


class Kind(StrEnum):
    """The most dangerous first."""

    STALE = "stale caches"
    EXTERNAL_CONTROLLERS = "neighbours' controllers"
    TWO_KINDS = "two remediations of one node"
    BOTH = "self-fencing beside power cycles"
    NODES = "hostile nodes"
    CLUSTERS = "equal names in two clusters"
    RESTORES = "restores of etcd"
    POLICIES = "missing and narrowed policies"
    RIGHTS = "missing rights"
    OUTAGES = "outages and brown-outs"
    CLOCKS = "wall clocks apart"
    VERSIONS = "skewed versions"


class Counts:
    """Counts of one seed."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.effective: Counter[str] = Counter()
        self._awaited: dict[bytes, int] = {}
        self._kinds: dict[int, Kind] = {}

    def make(self, kind: Kind, *tokens: str) -> None:
        """Record a fault. It takes effect when one of its tokens is read."""
        self.made[kind] += 1
        fault = self.made.total()
        self._kinds[fault] = kind
        self._awaited |= {token.encode(): fault for token in tokens}

    def take_effect(self, kind: Kind) -> None:
        """Count a fault without a token."""
        self.effective[kind] += 1

    def read(self, data: bytes) -> None:
        """Search data that the shipped code received from the API server."""
        for token, fault in list(self._awaited.items()):
            if token in data and (kind := self._kinds.pop(fault, None)):
                self.effective[kind] += 1
                self._awaited = {one: of for one, of in self._awaited.items() if of != fault}
