"""The time proof (E4): how long a node has certainly been marked, counted so that no clock, pause or change
of leaders can make it longer than it was.

Every manager counts on its own monotonic clock, from a read of what was counted so far, and adds by
compare-and-swap. Two additions never cover the same time, so the sum is at most what has passed.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from nodemend.decide.contact_evidence import Anchor, Contact, anchor_at


@dataclass(frozen=True, slots=True)
class PeerProof:
    """For how long one peer has been covered without a lapse."""

    anchor: Anchor
    seconds: float = 0.0


Proof = Mapping[str, PeerProof]
"""By the peer's name, as it stands in the remediation's status."""


@dataclass(frozen=True, slots=True)
class Look:
    """One peer at one pass. `covered_until` is by the manager's clock; None when nothing is known."""

    contact: Contact
    covered_until: float | None


def count(proof: Proof, looks: Mapping[str, Look], passed: float) -> dict[str, PeerProof]:
    """The proof after `passed` more seconds, and with what the looks show.

    A peer that lapsed, or is new, begins at nothing, from this look on. One that could not be read keeps what
    it has: its next words say whether it was steady.
    """
    if passed < 0:
        raise ValueError(f"time that passed backwards: {passed}")
    counted = {name: replace(one, seconds=one.seconds + passed) for name, one in proof.items()}
    for name, look in looks.items():
        if name not in counted or not counted[name].anchor.holds_for(look.contact):
            counted[name] = PeerProof(anchor_at(look.contact))
    return counted


def proven(proof: Proof, looks: Mapping[str, Look], now: float, wanted: float) -> frozenset[str]:
    """The peers for which `wanted` seconds are proven, up to this very moment."""
    return frozenset(name for name in proof if _is_proven(proof[name], looks.get(name), now, wanted))


def _is_proven(peer: PeerProof, look: Look | None, now: float, wanted: float) -> bool:
    if look is None or look.covered_until is None or now >= look.covered_until:
        return False
    return peer.seconds >= wanted and peer.anchor.holds_for(look.contact)


def enough(covered: AbstractSet[str], lists: Sequence[Sequence[str]], liars: int = 0) -> bool:
    """Whether every majority of any list that the node may go by has more than `liars` of those covered.

    While a node changes its peers it may go by the old list or the new one: both are published. A node
    without peers proves nothing by time.
    """
    return bool(lists) and all(
        names and 2 * (len(covered & set(names)) - liars) >= len(names) for names in lists
    )
