"""Whom to ask: which peers a node has, and in which rounds it asks them. Chance is an argument."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, islice, zip_longest
from math import ceil
from operator import itemgetter
from typing import Final, Protocol, TypeVar

MOST_PEERS: Final = 15
FIRST_ROUND: Final = 3
"""At least so many in the first round, where there are so many."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A node whose agent answers. `domain` is what fails together: a zone, a rack; empty if unknown."""

    name: str
    uid: str
    address: str
    """HOST:PORT, with brackets around an IPv6 host."""
    domain: str = ""


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


class PeerRing:
    """All nodes whose agents answer, each at a place of its own on a ring, one ring for each failure domain.

    A node's peers are those who come next after its place: so who comes or goes changes one place of a few
    lists, everybody is asked about equally often, and 100,000 lists are made as fast as 100,000 places.
    """

    def __init__(self, candidates: Iterable[Peer]) -> None:
        by_domain: defaultdict[str, list[tuple[bytes, Peer]]] = defaultdict(list)
        for one in candidates:
            by_domain[one.domain].append((_place(one.name), one))
        self._rings = [
            _Ring(_place(domain), tuple(sorted(members, key=itemgetter(0))))
            for domain, members in by_domain.items()
        ]
        self._rings.sort(key=lambda ring: ring.place)

    def peers_of(self, node: str) -> tuple[Peer, ...]:
        """At most MOST_PEERS, in turns of failure domains; never the node itself."""
        if not self._rings:
            return ()
        # By number, not by place: domains seldom come or go, and places are not equally far apart.
        begin = int.from_bytes(_place(node)) % len(self._rings)
        rings = (*self._rings[begin:], *self._rings[:begin])[:MOST_PEERS]
        in_turns = zip_longest(*(ring.next_to(node) for ring in rings))
        return tuple(islice((one for one in chain.from_iterable(in_turns) if one is not None), MOST_PEERS))


@dataclass(frozen=True, slots=True)
class _Ring:
    place: bytes
    members: tuple[tuple[bytes, Peer], ...]

    def next_to(self, node: str) -> Iterator[Peer]:
        """Those who come next after its place, which is another one on every ring."""
        begin = bisect_left(self.members, _place(node, self.place), key=itemgetter(0))
        around = chain(islice(self.members, begin, None), islice(self.members, begin))
        return islice((one for _, one in around if one.name != node), MOST_PEERS)


def propose(node: str, candidates: Iterable[Peer]) -> tuple[Peer, ...]:
    """The peers for one node. For many nodes, make one ring."""
    return PeerRing(candidates).peers_of(node)


def first_round(peers: Sequence[N], chance: float) -> tuple[N, ...]:
    """A few, in a row of the list: a list is in turns of failure domains. `chance` is in [0, 1)."""
    count = min(len(peers), max(FIRST_ROUND, ceil(len(peers) / 10)))
    begin = int(chance * len(peers))
    return tuple((*peers[begin:], *peers[:begin])[:count])


def second_round(peers: Sequence[N], asked: Iterable[N]) -> tuple[N, ...]:
    """All others, at once."""
    names = {one.name for one in asked}
    return tuple(one for one in peers if one.name not in names)


def _place(name: str, ring: bytes = b"") -> bytes:
    return blake2b(name.encode(), digest_size=8, key=ring).digest()
