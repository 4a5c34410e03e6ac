"""Whom to ask: which peers a node has, and in which rounds it asks them. Chance is an argument."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, islice, zip_longest
from math import ceil
from operator import itemgetter
from typing import Final, Protocol, TypeVar

MOST_PEERS: Final = 15
WINDOW: Final = 2 * MOST_PEERS
"""Candidates of one node. Larger windows spread peers better over failure domains, and let a node that claims
a domain of its own into more lists."""
FIRST_ROUND: Final = 3
"""At least so many in the first round, where there are so many."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A node whose agent answers. `domain` is what fails together: a zone, a rack; empty if unknown.

    The node's own kubelet may have written it: it spreads peers, and decides nothing else.
    """

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
    """All nodes whose agents answer, each at a place of its own on one ring.

    A node's candidates are the WINDOW members that come next after its place; its peers are taken from them
    in turns of failure domains. So a member is a candidate of WINDOW others at most, and its in-degree never
    exceeds twice the average, whatever its labels say: a kubelet may write its own zone label
    (docs/decisions/0065). A node that joins or leaves changes WINDOW lists at most, and two peers of each.
    """

    def __init__(self, candidates: Iterable[Peer]) -> None:
        self._members = sorted(((_place(one.name), one) for one in candidates), key=itemgetter(0))

    def peers_of(self, node: str) -> tuple[Peer, ...]:
        """At most MOST_PEERS, in turns of failure domains; never the node itself."""
        by_domain: defaultdict[str, list[Peer]] = defaultdict(list)
        for one in self._next_to(node):
            by_domain[one.domain].append(one)
        # Domains take turns in the order in which they come on the ring: no order of their own to claim.
        in_turns = zip_longest(*by_domain.values())
        return tuple(islice((one for one in chain.from_iterable(in_turns) if one is not None), MOST_PEERS))

    def _next_to(self, node: str) -> list[Peer]:
        begin = bisect_left(self._members, _place(node), key=itemgetter(0))
        end = begin + WINDOW + 1
        around = (*self._members[begin:end], *self._members[: min(begin, max(0, end - len(self._members)))])
        return [one for _, one in around if one.name != node][:WINDOW]


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


def _place(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=8).digest()
