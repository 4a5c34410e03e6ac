"""The kinds of hostile faults, and how many of each took effect.

A fault takes effect when the shipped code reads what it changed. Where the fault writes something, that
carries a token which nothing else in the world contains, and each answer and each line of a watch that
reaches a replica is searched for it. A fault counts once, however often it is read. The others (late
watches, outages, clocks) say at their place what counts.
"""

from collections import Counter
from enum import StrEnum


class Kind(StrEnum):
    """Most dangerous first."""

    STALE = "stale caches"
    NEIGHBOURS = "neighbours' controllers"
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


class Tally:
    """Of one seed."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.effective: Counter[str] = Counter()
        self._awaited: dict[bytes, int] = {}
        self._kinds: dict[int, Kind] = {}

    def make(self, kind: Kind, *tokens: str) -> None:
        """A fault was made; it takes effect when one of its tokens is read."""
        self.made[kind] += 1
        fault = self.made.total()
        self._kinds[fault] = kind
        self._awaited |= {token.encode(): fault for token in tokens}

    def take_effect(self, kind: Kind) -> None:
        """Of a fault without a token."""
        self.effective[kind] += 1

    def read(self, data: bytes) -> None:
        """The shipped code got this from the API server."""
        for token, fault in list(self._awaited.items()):
            if token in data and (kind := self._kinds.pop(fault, None)):
                self.effective[kind] += 1
                self._awaited = {one: of for one, of in self._awaited.items() if of != fault}
